"""Adds rows to a session: the only place where a row is born. It is never changed afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import get_args

from refold.sizing.estimate import row_tokens
from refold.transcript.database import Writer
from refold.transcript.encoding import STEP, encode, legible_row
from refold.transcript.images import store_image
from refold.values.errors import NotFound, Refused
from refold.values.rows import EVENTS, Kind, Row, SourceRef

EDGE_LIMIT = 2**32 - 1
"""Pixels; no header of a picture can say more."""

_KINDS = frozenset(get_args(Kind))
_NEWEST = (
    "SELECT s.key, coalesce(r.seq, 0), coalesce(r.turn, 0), coalesce(r.images, 0), coalesce(r.tokens, 0),"
    f" coalesce({STEP}, 0) FROM sessions s"
    " LEFT JOIN refold_row r ON r.session=s.key AND r.seq=(SELECT max(seq) FROM refold_row WHERE session=s.key)"
    " LEFT JOIN refold_body b ON b.id=r.body WHERE s.id=? AND NOT s.hidden"
)


def append(writer: Writer, session: str, rows: Iterable[Row]) -> list[SourceRef]:
    """Appends the rows in order, in the writer's transaction; returns their new refs.

    `ref`, `turn` and `step` of the given rows are ignored and given here. The bytes of a picture travel in its key as
    a `data:` URL (`images.data_url`) and are stored once by digest. An event row opens no turn and counts for nothing.
    Raises NotFound for a session that does not exist, Refused for a row that cannot be stored.
    """
    place = writer.one(_NEWEST, session)
    if place is None:
        raise NotFound(f"there is no session {session!r} to append to; `refold sessions` lists them")
    key, seq, turn, images, tokens, step = place
    refs = []
    for given in rows:
        if fault := _fault(given):
            raise Refused(f"a row of session {session} {fault}; nothing was appended")
        counts = given.kind != "event"
        opens = counts and given.opens
        seq += 1
        if opens:
            turn, step = turn + 1, 0
        elif given.kind == "assistant":
            step += 1
        pictures = tuple([store_image(writer, image) for image in given.images])
        row = legible_row(given, SourceRef(session, seq), turn, step, opens, pictures)
        if counts:
            images, tokens = images + len(pictures), tokens + row_tokens(row)
        stored = encode(row)
        body = writer.execute(
            "INSERT INTO refold_body(folding, text, calls, rest) VALUES(?, ?, ?, ?)",
            stored.folding,
            stored.text,
            stored.calls,
            stored.rest,
        )
        writer.execute(
            "INSERT INTO refold_row(session, seq, body, kind, opens, turn, images, tokens)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            key,
            seq,
            body,
            row.kind,
            row.opens,
            turn,
            images,
            tokens,
        )
        if row.images:
            _list_pictures(writer, key, row)
        if row.event in ("spawned", "joined"):
            _track_child(writer, key, row)
        refs.append(row.ref)
    return refs


def _fault(row: Row) -> str | None:
    """Why a row cannot be stored: host apps hand over what tools and models gave them."""
    if row.kind not in _KINDS:
        return f"has the unknown kind {row.kind!r}"
    if (row.kind == "event") != bool(row.event) or (row.event and row.event not in EVENTS):
        return f"of kind {row.kind} has the event {row.event!r:.40}; events are {', '.join(sorted(EVENTS))}"
    if (row.kind == "replay") != (row.replay is not None):
        return f"of kind {row.kind} has {'an' if row.replay else 'no'} opaque item; replay rows have one, others none"
    if not isinstance(row.text, str):
        return f"has a {type(row.text).__name__} for its text, not a str"
    for call in row.calls:
        if not isinstance(call.arguments, Mapping):
            return f"has a call of {call.name} whose arguments are no mapping"
    for image in row.images:
        for size in (image.width, image.height):
            if type(size) is not int or not 0 <= size <= EDGE_LIMIT:
                return f"has a picture of {size!r:.40} pixels, not of a whole number from 0 (unknown) to {EDGE_LIMIT:,}"
    return None


def _list_pictures(writer: Writer, key: int, row: Row) -> None:
    for n, image in enumerate(row.images):
        writer.execute(
            "INSERT INTO refold_picture(session, seq, n, key, type, width, height, owner)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            key,
            row.ref.seq,
            n,
            image.key,
            image.media_type,
            image.width,
            image.height,
            image.owner,
        )


def _track_child(writer: Writer, key: int, row: Row) -> None:
    """`joined` ends the oldest open `spawned` with the same text: the child's name."""
    if row.event == "spawned":
        writer.execute("INSERT INTO refold_spawn(session, seq, child) VALUES(?, ?, ?)", key, row.ref.seq, row.text)
    else:
        writer.execute(
            "UPDATE refold_spawn SET joined=? WHERE session=? AND seq=(SELECT min(seq) FROM refold_spawn"
            " WHERE session=? AND child=? AND joined IS NULL)",
            row.ref.seq,
            key,
            key,
            row.text,
        )
