"""How long it takes from `send` to the first byte on the wire, and what of it is ours."""

from __future__ import annotations

import json
import random
import sysconfig
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from refold import Call, Host, Session

STEPS = 160


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *words: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(b'{"data": []}', "application/json")

    def do_POST(self) -> None:
        self.server.first_byte = time.perf_counter()
        length = int(self.headers["content-length"])
        self.server.sizes.append(length)
        self.rfile.read(length)
        delta = {"choices": [{"index": 0, "delta": {"content": "ok"}, "finish_reason": "stop"}]}
        self._answer(f"data: {json.dumps(delta)}\n\ndata: [DONE]\n\n".encode(), "text/event-stream")

    def _answer(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    made = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    made.sizes = []
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def filled(host: Host) -> Session:
    """About 200,000 tokens in one view."""
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:60]
    source = "".join(path.read_text("utf-8") for path in files)
    choose = random.Random(1)

    def piece(length: int) -> str:
        start = choose.randrange(len(source) - length)
        return source[start : start + length]

    session = host.new("s")
    for n in range(STEPS):
        session.user(piece(300))
        session.assistant(piece(200), [Call(f"call_{n}", "read", {"path": "src/module.py", "offset": n})])
        session.results({f"call_{n}": piece(3_900)})
        session.assistant(piece(300))
    return session


def test_from_send_to_the_first_byte_of_a_200k_token_request(benchmark: Any, server: Any, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    provider = {"protocol": "openai-chat", "baseUrl": f"http://127.0.0.1:{server.server_port}"}
    entry = {"window": 1_000_000, "maxOutput": 1_000}
    file = {"providers": {"local": provider}, "models": {"local/m": entry}, "default": "local/m"}
    (home / "models.json").write_text(json.dumps(file))
    waits: list[float] = []
    with Host(home) as host:
        session = filled(host)
        session.send("warm up")

        def send() -> None:
            begun = time.perf_counter()
            session.send("one more row")
            waits.append(server.first_byte - begun)

        benchmark.pedantic(send, rounds=15, warmup_rounds=2)
        size = session.check().size
    waits.sort()
    benchmark.extra_info |= {
        "first_byte_ms_median": round(waits[len(waits) // 2] * 1000, 1),
        "first_byte_ms_best": round(waits[0] * 1000, 1),
        "request_bytes": server.sizes[-1],
        "tokens": size,
    }
