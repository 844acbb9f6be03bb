"""`transcript_grep` and `transcript_read`: the rows of a session as they are, whatever the model is shown of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from refold import Context, Row, RowRange, Tool, ToolTraits

LONGEST_PATTERN = 200
MOST_ROWS = 20
MOST_CHARACTERS = 8_000


def grep(context: Context, arguments: Mapping[str, Any]) -> str:
    """Rows that hold a text, oldest first, each with a preview; `next_after` continues behind the last one."""
    pattern = arguments.get("pattern")
    if not isinstance(pattern, str) or not 0 < len(pattern.strip()) <= LONGEST_PATTERN:
        return (
            f"usage: transcript_grep(pattern: 1 to {LONGEST_PATTERN} characters, limit: 1 to {MOST_ROWS}, after: seq)"
        )
    pattern = pattern.strip()
    limit, after = _whole(arguments, "limit", 10, 1, MOST_ROWS), _whole(arguments, "after", 0, 0)
    hits = context.search(pattern, after, limit + 1)
    rows = [{"seq": ref.seq, "preview": preview} for ref, preview in hits[:limit]]
    more = rows[-1]["seq"] if len(hits) > limit else None
    return _json({"pattern": pattern, "rows": rows, "next_after": more})


def read(context: Context, arguments: Mapping[str, Any]) -> str:
    """Rows from `seq` on, word for word, up to `limit` characters; `next` says where to go on."""
    if not isinstance(arguments.get("seq"), int):
        return f"usage: transcript_read(seq: row number, offset: characters into it, limit: 1 to {MOST_CHARACTERS})"
    span = context.history.range
    first = max(_whole(arguments, "seq", 1, 0), span.after + 1)
    offset, limit = _whole(arguments, "offset", 0, 0), _whole(arguments, "limit", 4_000, 1, MOST_CHARACTERS)
    pieces: list[str] = []
    room = limit
    for row in context.history.rows(RowRange(span.session, first - 1, span.upto)):
        seq = row.ref.seq
        skipped, offset = offset, 0
        text = row_text(row)
        piece = text[skipped : skipped + room]
        pieces.append(piece)
        room -= len(piece)
        if skipped + len(piece) < len(text):
            return _page(first, pieces, seq, skipped + len(piece))
        if room <= 2 and seq < span.upto:
            return _page(first, pieces, seq + 1, 0)
        room -= 2
    if not pieces:
        return _json({"seq": first, "content": "", "next": None, "note": f"the transcript ends with row {span.upto}"})
    return _page(first, pieces, None, 0)


def row_text(row: Row) -> str:
    """A row word for word, under a line that names it. Pictures and opaque items are named only."""
    lines = [f"[row #{row.ref.seq}]"]
    match row.kind:
        case "user":
            lines += ["[user]", row.text]
        case "assistant":
            lines += ["[assistant]", row.text] if row.text else ["[assistant]"]
            lines += [f"[call {call.name} {call.id}] {_json(dict(call.arguments))}" for call in row.calls]
        case "result":
            lines += [f"[{'result' if row.ok else 'error'} {row.call_id}]", row.text]
        case "event":
            lines += [f"[event {row.event}; never sent]", row.text]
        case "replay":
            lines += ["[opaque item of a provider]"]
    lines += [f"[picture {image.media_type} {image.width}x{image.height}]" for image in row.images]
    return "\n".join(lines)


def _page(first: int, pieces: Sequence[str], seq: int | None, offset: int) -> str:
    following = None if seq is None else {"seq": seq, "offset": offset}
    return _json({"seq": first, "content": "\n\n".join(pieces), "next": following})


def _whole(arguments: Mapping[str, Any], name: str, default: int, least: int, most: int | None = None) -> int:
    """A whole number, moved into its bounds; anything else is the default."""
    value = arguments.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        return default
    return max(least, value if most is None else min(most, value))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _schema(required: Sequence[str], **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


TOOLS = (
    Tool(
        name="transcript_grep",
        description=(
            "Find a text in this conversation's whole transcript, also in what is archived or summarized. Literal, "
            "without regard to case. Answers with row numbers and previews, oldest first."
        ),
        parameters=_schema(
            ["pattern"],
            pattern={"type": "string", "description": "the text to find"},
            limit={"type": "integer", "description": f"rows, 1 to {MOST_ROWS}; 10 unless told"},
            after={"type": "integer", "description": "search behind this row; next_after of the page before"},
        ),
        call=grep,
        traits=ToolTraits(searches="pattern"),
    ),
    Tool(
        name="transcript_read",
        description=(
            "Read rows of this conversation's transcript word for word, from a row number on. Use it for exact ids, "
            "paths, numbers and quotes of older rows."
        ),
        parameters=_schema(
            ["seq"],
            seq={"type": "integer", "description": "the first row to read"},
            offset={"type": "integer", "description": "characters of that row to skip; next.offset of the page before"},
            limit={"type": "integer", "description": f"characters, 1 to {MOST_CHARACTERS}; 4,000 unless told"},
        ),
        call=read,
        traits=ToolTraits(reads="seq"),
    ),
)
