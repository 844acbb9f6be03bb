"""Rows as entries of the archive. An entry begins a line with its mark; nothing in a row can begin one.

¶user #12: what does it do?
¶ai #13: Let me look.
¶call #13: read(path = src/app.py)
¶out #14: def total(): ...
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from refold import Image, Row

from refold_snapcompact.clean import clean

MARK = "¶"

PART_CHARACTERS = 6_000
"""Rows are put together to parts of about this length."""

_LONGEST = {"user": 8_000, "ai": 8_000, "call": 2_000, "out": 2_000, "error": 2_000}
"""Characters of an entry that pages show of each kind; the archive holds all of it."""

_ENTRY = re.compile(rf"^{MARK}(\w+) #(\d+): ", re.MULTILINE)
_FORGED = re.compile(rf"^{MARK}", re.MULTILINE)


def entry(row: Row) -> str:
    """A row as text; "" for what is never sent, for opaque items of a provider, and for nothing at all."""
    seq = row.ref.seq
    pictures = "".join(f" {_picture(image)}" for image in row.images)
    if row.kind == "result":
        return f"{MARK}{'out' if row.ok else 'error'} #{seq}: {_inert(row.text) or '(no output)'}{pictures}"
    if row.kind == "user":
        words = _inert(row.text) + pictures
        return f"{MARK}user #{seq}: {words.lstrip()}" if words else ""
    if row.kind == "assistant":
        words = _inert(row.text)
        lines = [f"{MARK}ai #{seq}: {words.lstrip()}"] if words else []
        lines += [f"{MARK}call #{seq}: {_inert(call.name)}({_arguments(call.arguments)})" for call in row.calls]
        return "\n".join(lines)
    return ""


def shown(text: str) -> str:
    """A part as pages show it: long entries without their middle, and in its place how much that is and how to read it.

    It depends on each entry alone, so what is shown of older rows never changes.
    """
    if len(text) <= min(_LONGEST.values()):
        return text
    starts = [found.start() for found in _ENTRY.finditer(text)]
    if not starts:
        return text
    pieces = [] if starts[0] == 0 else [text[: starts[0] - 1]]
    for start, end in zip(starts, [*(start - 1 for start in starts[1:]), len(text)], strict=True):
        pieces.append(_shortened(text[start:end]))
    return "\n".join(pieces)


def packed(rows: Iterable[Row]) -> Iterator[tuple[int, str]]:
    """The last seq and the text of each part, oldest first. Every row is in a part; one without words may be in it
    silently, so the last part's text may be empty."""
    lines: list[str] = []
    length, last = 0, 0
    for row in rows:
        words, last = entry(row), row.ref.seq
        if words:
            lines.append(words)
            length += len(words) + 1
        if length >= PART_CHARACTERS:
            yield last, "\n".join(lines)
            lines, length = [], 0
            last = 0
    if last:
        yield last, "\n".join(lines)


def _shortened(text: str) -> str:
    found = _ENTRY.match(text)
    most = _LONGEST.get(found[1], len(text)) if found else len(text)
    if found is None or len(text) <= most:
        return text
    head, tail = most * 6 // 10, most * 4 // 10
    left = len(text) - head - tail
    return f"{text[:head]} […{left:,} characters are left out; transcript_read {found[2]}…] {text[-tail:]}"


def _arguments(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{_inert(str(name))} = {_inert(_value(arguments[name]))}" for name in sorted(arguments, key=str))


def _value(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _inert(text: str) -> str:
    """Cleaned text whose lines cannot begin an entry: a mark at the start of one moves to its second cell."""
    return _FORGED.sub(f" {MARK}", clean(text))


def _picture(image: Image) -> str:
    return f"[picture {image.media_type} {image.width}x{image.height}]"
