"""Standard output and standard error: one JSON document, lines, and talk beside them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from refold.cli.visible import visible
from refold.providers.wire import dumps


def print_json(document: Mapping[str, Any]) -> None:
    """The one document of a command, on one line."""
    print_bytes(dumps(document) + b"\n")


def print_bytes(data: bytes) -> None:
    """Bytes as they are, behind whatever was printed before."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def note(text: str) -> None:
    """A line of talk on standard error."""
    sys.stderr.write(f"refold: {visible(text)}\n")


def notes(texts: Iterable[str]) -> None:
    """Lines of talk on standard error."""
    for text in texts:
        note(text)
