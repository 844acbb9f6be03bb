"""Servers that others wrote, as processes: llama.cpp with a tiny random model, and a mock of vendors."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

_LLAMA = Path(__file__).with_name("llama_server.py")
_MOCK = "import sys; from llmock.cli import app; sys.argv[0] = 'llmock'; app()"


@contextlib.contextmanager
def llama_server(window: int) -> Iterator[str]:
    """The address of a llama.cpp server with so many tokens, one a byte. Skips the test where it is not installed."""
    pytest.importorskip("xllamacpp")
    pytest.importorskip("gguf")
    with _program(str(_LLAMA), str(window), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()


@contextlib.contextmanager
def mock_server(window: int) -> Iterator[str]:
    """The address of a mock of all four protocols. Skips the test where it is not installed."""
    pytest.importorskip("llmock")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    words = ("serve", "--port", port, "--log-level", "error", "--context-window", str(window))
    with _program("-c", _MOCK, *words) as process:
        address = f"http://127.0.0.1:{port}"
        _wait_for(f"{address}/health", process)
        yield address


@contextlib.contextmanager
def _program(*words: str, stdout: int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, *words], stdin=subprocess.PIPE, stdout=stdout, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=20)


def _wait_for(address: str, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=1) as answer:
            if answer.status == 200:
                return
        time.sleep(0.05)
    raise AssertionError("the mock did not start")
