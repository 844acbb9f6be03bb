"""Standard output and standard error: one JSON document, lines, and talk beside them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from refold.cli.program import runnable
from refold.cli.visible import visible
from refold.values.json_text import json_bytes

# JSON itself escapes controls below U+0020 alone; a terminal obeys these, too.
_TERMINAL = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def print_json(document: Mapping[str, Any]) -> None:
    """The one document of a command, on one line; what could act on a terminal is escaped inside its strings."""
    _write([_escaped(json_bytes(document)), b"\n"])


def print_json_bytes(parts: Iterable[bytes]) -> None:
    """JSON as it is: whoever reads a pipe or a file gets these very bytes. On a terminal what could act on it is
    escaped inside the strings, which changes no value. A part ends where a character does."""
    _write(map(_escaped, parts) if sys.stdout.isatty() else parts)


def _write(parts: Iterable[bytes]) -> None:
    """Behind whatever was printed before; nothing is held back longer than a buffer is large."""
    sys.stdout.flush()
    sys.stdout.buffer.writelines(parts)
    sys.stdout.buffer.flush()


def _escaped(json: bytes) -> bytes:
    return _TERMINAL.sub(lambda found: f"\\u{ord(found[0]):04x}", json.decode()).encode()


def note(text: str) -> None:
    """A line of talk on standard error."""
    sys.stderr.write(f"refold: {visible(runnable(text))}\n")


def notes(texts: Iterable[str]) -> None:
    """Lines of talk on standard error."""
    for text in texts:
        note(text)
