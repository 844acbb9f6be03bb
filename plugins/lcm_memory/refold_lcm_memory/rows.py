"""Durable rows as text for a model: everything that was said, and about pictures what they are."""

from __future__ import annotations

import json
from collections.abc import Iterator

from refold import Call, History, Row, RowRange

from refold_lcm_memory.passages import cut


def row_text(row: Row) -> str:
    """A row under a line that names it; pictures as type and size in pixels, opaque items by their owner alone."""
    parts = [_head(row), row.text] if row.text else [_head(row)]
    parts += [f"[call {call.name}] {_arguments(call)}" for call in row.calls]
    parts += [f"[image {image.media_type} {image.width}x{image.height}]" for image in row.images]
    return "\n".join(parts)


def page(history: History, rows: RowRange, seq: int, offset: int, most: int) -> tuple[str, tuple[int, int] | None]:
    """Rows as text from row `seq` on, `offset` characters into it: at most `most` characters, and where to go on
    (None: that was all). Every page holds at least one character of what is left, however small `most` is."""
    shown: list[str] = []
    room = max(1, most)
    for row in _from(history, rows, seq):
        text = row_text(row)
        start = offset if row.ref.seq == seq else 0
        if start >= len(text):
            continue
        if shown:
            room -= 2
        if len(text) - start > room and shown:
            return "\n\n".join(shown), (row.ref.seq, 0)
        end = cut(text, start, room)
        shown.append(text[start:end])
        room -= end - start
        if end < len(text):
            return "".join(shown), (row.ref.seq, end)
    return "\n\n".join(shown), None


def _from(history: History, rows: RowRange, seq: int) -> Iterator[Row]:
    return history.rows(RowRange(rows.session, max(rows.after, seq - 1), rows.upto))


def _head(row: Row) -> str:
    match row.kind:
        case "result":
            what = f"{'result' if row.ok else 'error'} of {row.call_id}"
        case "event":
            what = f"event {row.event}"
        case "replay":
            what = f"opaque item of {row.replay.owner}" if row.replay else "opaque item"
        case _:
            what = row.kind
    return f"[row {row.ref.seq} · {what}]"


def _arguments(call: Call) -> str:
    return json.dumps(dict(call.arguments), ensure_ascii=False, separators=(",", ":"), default=str)
