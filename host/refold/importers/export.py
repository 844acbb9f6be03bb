"""A session's durable rows as JSON lines, which the `refold` importer reads back row for row.

The first line is a header. Every row is one line, spliced from what is stored without decoding it; before the first
row that shows a picture stands a line with the picture's bytes.

    {"refold": 1, "session": "...", "title": ..., "model": ..., "created": ..., "parent": ..., "children": [...]}
    {"image": "sha256:...", "type": "image/png", "width": 8, "height": 8, "data": "<base64>"}
    {"seq": 1, "kind": "user", "opens": true, "turn": 1, "text": "...", "row": {"step": 0, "images": [...]}}

A caller may put further lines between these; the importer passes over those with the key `fold`. A family of sessions
is their headers, and behind them the export of each.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator

import orjson

from refold.transcript.database import Reader
from refold.transcript.images import load_image
from refold.transcript.rows import raw_rows
from refold.transcript.sessions import find, tree
from refold.values.errors import NotFound

VERSION = 1


def export_lines(reader: Reader, session: str) -> Iterator[bytes]:
    """The lines of a session's export, oldest row first, each with its newline. Raises NotFound."""
    yield _header(reader, session)
    shown: set[str] = set()
    for row in raw_rows(reader, session):
        if '"images":' in row.rest:  # perhaps only in a call's arguments; then there is no such key at the top
            for image in orjson.loads(row.rest).get("images", ()):
                if image["key"] not in shown and "owner" not in image:
                    shown.add(image["key"])
                    yield from _picture(reader, image["key"])
        opens = b"true" if row.opens else b"false"
        yield b'{"seq":%d,"kind":"%s","opens":%s,"turn":%d,"text":%s,"row":%s}\n' % (
            row.seq,
            row.kind.encode(),
            opens,
            row.turn,
            orjson.dumps(row.text),
            row.rest.encode(),
        )


def headers(reader: Reader, sessions: Iterable[str]) -> Iterator[bytes]:
    """The headers of several sessions' exports. In front of all their lines they say who belongs to whom, before a row
    names a session that comes later. Raises NotFound."""
    for session in sessions:
        yield _header(reader, session)


def _header(reader: Reader, session: str) -> bytes:
    facts = find(reader, session)
    (branch,) = tree(reader, session)
    header = {
        "refold": VERSION,
        "session": facts.id,
        "title": facts.title,
        "model": facts.model,
        "created": facts.created,
        "parent": facts.parent,
        "forked_at": facts.forked_at,
        "children": [child.session.id for child in branch.children],
    }
    return orjson.dumps(header) + b"\n"


def _picture(reader: Reader, key: str) -> Iterator[bytes]:
    try:
        stored = load_image(reader, key)
    except NotFound:
        return  # the transcript never had its bytes; the row still says which picture it was
    line = {
        "image": key,
        "type": stored.media_type,
        "width": stored.width,
        "height": stored.height,
        "data": base64.b64encode(stored.data).decode(),
    }
    yield orjson.dumps(line) + b"\n"
