"""What was asked of models: for measuring the next request, and for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import orjson
from attrs import frozen

from refold.transcript.database import Reader, Writer, clipped
from refold.values.sizes import Measured

RequestKind = Literal["answer", "summary", "native"]
"""The session's model was asked; a summarizer was; a provider's own compaction was."""


@frozen
class Counted:
    """A request that the provider counted, and its tokens as they were estimated here."""

    measured: Measured
    estimated: int


@frozen
class Asked:
    """One request.

    `estimated` is its input in tokens as estimated here, without what was learnt from earlier reports; `tokens` as the
    provider counted it (cached tokens included), `usage` all that it reported; None and empty: it did not say.
    `outcome` is a word: `ok`, or what went wrong. `replaced`: it was asked again in another form, so its figures no
    longer stand for the session's size.
    """

    id: int
    session: str
    kind: RequestKind
    model: str
    upto: int
    compaction: int
    estimated: int
    tokens: int | None
    usage: Mapping[str, Any]
    outcome: str
    replaced: bool


def record(
    writer: Writer,
    session: str,
    kind: RequestKind,
    model: str,
    upto: int,
    compaction: int,
    estimated: int,
    *,
    tokens: int | None = None,
    usage: Mapping[str, Any] | None = None,
    outcome: str = "sent",
) -> int:
    """Notes a request that held rows up to seq `upto`; returns its id."""
    return writer.execute(
        "INSERT INTO refold_request(session, kind, model, upto, compaction, estimated, tokens, usage, outcome)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
        session,
        kind,
        model,
        upto,
        compaction,
        estimated,
        tokens,
        _json(usage),
        outcome,
    )


def settle(writer: Writer, id: int, outcome: str, tokens: int | None, usage: Mapping[str, Any] | None = None) -> None:
    """Notes what came of a request."""
    writer.execute(
        "UPDATE refold_request SET outcome=?, tokens=?, usage=? WHERE id=?", outcome, tokens, _json(usage), id
    )


def forget(writer: Writer, id: int) -> None:
    """Takes back a request that was noted and then never sent."""
    writer.execute("DELETE FROM refold_request WHERE id=?", id)


def replace(writer: Writer, id: int) -> None:
    """Notes that the request was asked again in another form."""
    writer.execute("UPDATE refold_request SET replaced=1 WHERE id=?", id)


def measured(reader: Reader, session: str, after: int = 0) -> list[Measured]:
    """The requests to the session's model that held rows beyond seq `after`, oldest first, replaced ones left out."""
    found = reader.all(
        "SELECT upto, tokens, model, compaction FROM refold_request"
        " WHERE session=? AND upto>? AND kind='answer' AND NOT replaced ORDER BY id",
        session,
        clipped(after),
    )
    return [Measured(*values) for values in found]


def newest(reader: Reader, session: str) -> Counted | None:
    """The newest request to the session's model whose tokens the provider counted; one look-up."""
    found = reader.one(
        "SELECT upto, tokens, model, compaction, estimated FROM refold_request WHERE session=? AND kind='answer'"
        " AND NOT replaced AND tokens IS NOT NULL ORDER BY upto DESC, id DESC LIMIT 1",
        session,
    )
    return Counted(Measured(*found[:4]), found[4]) if found else None


REPORTS = 20
"""Requests that the learnt factor of a model is taken from."""


def reports(reader: Reader, model: str) -> list[tuple[int, int]]:
    """The newest `REPORTS` requests to a model that the provider counted, of every session, oldest first: what was
    estimated here, and what was counted. A refusal that names a count teaches as much as an answer."""
    found = reader.all(
        "SELECT estimated, tokens FROM refold_request WHERE model=? AND kind='answer' AND tokens IS NOT NULL"
        " AND (NOT replaced OR outcome='too_large') ORDER BY id DESC LIMIT ?",
        model,
        REPORTS,
    )
    return [(estimated, tokens) for estimated, tokens in reversed(found)]


def largest(reader: Reader, session: str, model: str, before: int) -> int:
    """The largest request that a model answered in the session before request `before`, in tokens as estimated here
    without what was learnt; 0: it answered none."""
    found = reader.one(
        "SELECT max(estimated) FROM refold_request"
        " WHERE session=? AND model=? AND kind='answer' AND outcome='ok' AND id<?",
        session,
        model,
        before,
    )
    return int(found[0] or 0) if found else 0


def asked(reader: Reader, session: str, after: int = 0) -> list[Asked]:
    """Every request of the session with an id beyond `after`, oldest first."""
    found = reader.all(
        "SELECT id, session, kind, model, upto, compaction, estimated, tokens, usage, outcome, replaced"
        " FROM refold_request WHERE session=? AND id>? ORDER BY id",
        session,
        clipped(after),
    )
    return [_asked(*values) for values in found]


def _asked(id: int, session: str, kind: RequestKind, model: str, upto: int, compaction: int, *rest: Any) -> Asked:
    estimated, tokens, usage, outcome, replaced = rest
    read = orjson.loads(usage or "{}")
    return Asked(id, session, kind, model, upto, compaction, estimated, tokens, read, outcome, bool(replaced))


def _json(usage: Mapping[str, Any] | None) -> str | None:
    return orjson.dumps(dict(usage)).decode() if usage else None
