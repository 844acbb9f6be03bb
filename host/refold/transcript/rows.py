"""Reads rows: decoded for the host, raw for the export."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import frozen

from refold.transcript.database import BEYOND, Reader, clipped
from refold.transcript.encoding import decode
from refold.transcript.sessions import find
from refold.values.errors import NotFound
from refold.values.rows import Call, Row, SourceRef

PAGE = 256
"""Rows that are fetched at once, so that an open iterator holds little."""

_DECODABLE = "SELECT r.seq, r.kind, r.opens, r.turn, b.text, b.rest FROM refold_row r JOIN refold_body b ON b.id=r.body"


@frozen
class RawRow:
    """A row as it is stored: `rest` is a JSON object (encoding.py) and can be spliced into another without reading it.

    `tokens` is the local estimate of this row alone.
    """

    seq: int
    kind: str
    opens: bool
    turn: int
    tokens: int
    text: str
    rest: str


def last_seq(reader: Reader, session: str) -> int:
    """The seq of the newest row; 0 for an empty session. Raises NotFound."""
    return newest_seq(reader, find(reader, session).key)


def newest_seq(reader: Reader, key: int) -> int:
    """The same by the session's key."""
    found = reader.one("SELECT max(seq) FROM refold_row WHERE session=?", key)
    return int(found[0] or 0) if found else 0


def newest_turn(reader: Reader, session: str) -> int:
    """The number of the session's newest turn; 0 before the first. Raises NotFound."""
    found = reader.one(
        "SELECT turn FROM refold_row WHERE session=? ORDER BY seq DESC LIMIT 1", find(reader, session).key
    )
    return int(found[0]) if found else 0


def newest_message(reader: Reader, session: str) -> Row | None:
    """The newest row of those that every model is sent; None in an empty session. Raises NotFound."""
    key = find(reader, session).key
    found = reader.all(
        f"{_DECODABLE} WHERE r.session=? AND r.kind IN ('user', 'assistant', 'result') ORDER BY r.seq DESC LIMIT 1", key
    )
    return next(iter(_decoded(reader, session, found)), None)


def open_calls(reader: Reader, session: str) -> list[Call]:
    """The calls of the newest step that have no result, in order; of all rows only those of this step are decoded.

    A step that a later user row passed over waits for nothing. Raises NotFound.
    """
    key = find(reader, session).key
    last = newest_seq(reader, key)
    asked = fetch_newest(reader, key, "assistant", 0, last, 1)
    step = fetch(reader, key, session, asked[0] - 1, last) if asked else []
    return [] if any(row.opens for row in step) else unanswered(step)


def unanswered(step: Sequence[Row]) -> list[Call]:
    """The calls of these rows that none of their results answers, in order: of equal ids the later ones."""
    answered = Counter(row.call_id for row in step if row.kind == "result")
    waiting = []
    for call in (call for row in step for call in row.calls):
        if answered[call.id] > 0:
            answered[call.id] -= 1
        else:
            waiting.append(call)
    return waiting


def load_sources(reader: Reader, session: str, after: int, upto: int) -> list[Row]:
    """The rows with `after < seq <= upto`, oldest first. Raises NotFound for an unknown session."""
    return fetch(reader, find(reader, session).key, session, after, upto)


def source(reader: Reader, ref: SourceRef) -> Row:
    """The row of that ref. Raises NotFound."""
    rows = load_sources(reader, ref.session, ref.seq - 1, ref.seq) if 0 < ref.seq < 2**63 else []
    if not rows:
        raise NotFound(f"session {ref.session} has no row {ref.seq}; `refold show` lists its rows")
    return rows[0]


def fetch(reader: Reader, key: int, session: str, after: int, upto: int) -> list[Row]:
    """The decoded rows of a range, counted in `reader.decoded`."""
    found = reader.all(
        f"{_DECODABLE} WHERE r.session=? AND r.seq>? AND r.seq<=? ORDER BY r.seq", key, clipped(after), clipped(upto)
    )
    return _decoded(reader, session, found)


def fetch_newest(reader: Reader, key: int, kind: str, after: int, upto: int, count: int) -> list[int]:
    """The seqs of the newest `count` rows of one kind in a range, oldest first; nothing is decoded."""
    found = reader.all(
        "SELECT seq FROM refold_row WHERE session=? AND seq>? AND seq<=? AND kind=? ORDER BY seq DESC LIMIT ?",
        key,
        after,
        upto,
        kind,
        clipped(count),
    )
    return [seq for (seq,) in reversed(found)]


def raw_rows(reader: Reader, session: str, after: int = 0, upto: int | None = None) -> Iterator[RawRow]:
    """The rows of a range as they are stored, oldest first, one at a time and without decoding. Raises NotFound."""
    key = find(reader, session).key
    after = clipped(after)
    before = reader.one("SELECT tokens FROM refold_row WHERE session=? AND seq=?", key, after) if after > 0 else None
    total = before[0] if before else 0
    found = reader.each(
        "SELECT r.seq, r.kind, r.opens, r.turn, r.tokens, b.text, b.rest FROM refold_row r"
        " JOIN refold_body b ON b.id=r.body WHERE r.session=? AND r.seq>? AND r.seq<=? ORDER BY r.seq",
        key,
        after,
        BEYOND if upto is None else clipped(upto),
    )
    for seq, kind, opens, turn, tokens, text, rest in found:
        yield RawRow(seq, kind, bool(opens), turn, tokens - total, text, rest)
        total = tokens


def _decoded(reader: Reader, session: str, found: list[tuple[Any, ...]]) -> list[Row]:
    reader.decoded += len(found)
    return [
        decode(SourceRef(session, seq), kind, bool(opens), turn, text, rest)
        for seq, kind, opens, turn, text, rest in found
    ]
