"""Sessions: made, found, listed. A session whose deletion has begun is as good as gone."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from attrs import frozen

from refold.transcript.database import Reader, Writer
from refold.values.errors import NotFound, Refused

_COLUMNS = (
    "s.key, s.id, s.title, s.model, s.created, p.id, s.forked_at, s.compactions"
    " FROM sessions s LEFT JOIN sessions p ON p.key=s.parent"
)


@frozen
class Session:
    """One conversation. `key` is the integer that `row.session` holds.

    `parent` with `forked_at`: a fork of `parent` after that seq; `parent` alone: a sub-agent's session. `compactions`
    counts those that were applied; `created` is UTC in ISO 8601.
    """

    key: int
    id: str
    title: str | None
    model: str | None
    created: str
    parent: str | None
    forked_at: int | None
    compactions: int


@frozen
class Listed:
    """A session with the totals of its rows; `tokens` by the local estimate."""

    session: Session
    rows: int
    turns: int
    tokens: int


@frozen
class Branch:
    """A session and those that were forked or spawned from it, oldest first."""

    session: Session
    children: Sequence[Branch]


def now() -> str:
    """The present as it is stored: UTC, ISO 8601, whole seconds. Nothing that is sent holds it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def create(
    writer: Writer,
    id: str | None = None,
    *,
    title: str | None = None,
    model: str | None = None,
    parent: str | None = None,
    created: str | None = None,
) -> Session:
    """Makes an empty session; without an id it gets one that sorts by time. `parent` makes it a sub-agent's.

    Raises Refused for an id that is taken, empty, longer than 200 bytes or holds control characters; NotFound for an
    unknown parent.
    """
    above = find(writer, parent).key if parent is not None else None
    return insert(writer, id, title=title, model=model, parent=above, created=created)


def insert(
    writer: Writer,
    id: str | None,
    *,
    title: str | None,
    model: str | None,
    parent: int | None = None,
    forked_at: int | None = None,
    family: int | None = None,
    created: str | None = None,
) -> Session:
    """The one place that makes a row of `sessions`; a session without `family` begins its own."""
    name = _checked(id) if id is not None else _made_up()
    while id is None and _exists(writer, name):  # an import makes hundreds within a second
        name = _made_up()
    if _exists(writer, name):
        raise Refused(f"session {name} exists already; nothing was made; choose another id")
    key = writer.execute(
        "INSERT INTO sessions(id, title, model, created, parent, forked_at, family) VALUES(?, ?, ?, ?, ?, ?, ?)",
        name,
        title,
        model,
        created or now(),
        parent,
        forked_at,
        family or 0,
    )
    if family is None:
        writer.execute("UPDATE sessions SET family=key WHERE key=?", key)
    return find(writer, name)


def find(reader: Reader, id: str) -> Session:
    """The session of that id. Raises NotFound."""
    found = None
    if _storable(id):
        found = reader.one(f"SELECT {_COLUMNS} WHERE s.id=? AND NOT s.hidden", id)
    if found is None:
        raise NotFound(f"there is no session {id!r}; `refold sessions` lists them")
    return Session(*found)


def newest(reader: Reader) -> Session:
    """The session made last, sub-agents' left out. Raises NotFound when there is none."""
    found = reader.one(
        f"SELECT {_COLUMNS} WHERE NOT s.hidden AND (s.parent IS NULL OR s.forked_at IS NOT NULL) ORDER BY s.key DESC"
    )
    if found is None:
        raise NotFound("there is no session yet; make one with `refold import FILE` or `refold new`")
    return Session(*found)


def listing(reader: Reader) -> list[Listed]:
    """Every session, oldest first; one look-up each, whatever its length."""
    found = reader.all(
        f"SELECT coalesce(r.seq, 0), coalesce(r.turn, 0), coalesce(r.tokens, 0), {_COLUMNS}"
        " LEFT JOIN refold_row r ON r.session=s.key AND r.seq=(SELECT max(seq) FROM refold_row WHERE session=s.key)"
        " WHERE NOT s.hidden ORDER BY s.key"
    )
    return [Listed(Session(*values[3:]), *values[:3]) for values in found]


def tree(reader: Reader, root: str | None = None) -> list[Branch]:
    """All sessions as trees, or the one tree that begins with `root`. Raises NotFound."""
    everything = [Session(*values) for values in reader.all(f"SELECT {_COLUMNS} WHERE NOT s.hidden ORDER BY s.key")]
    known = {session.id for session in everything}
    below: dict[str | None, list[Session]] = {}
    for session in everything:
        below.setdefault(session.parent if session.parent in known else None, []).append(session)
    grown: dict[str, Branch] = {}
    for session in reversed(everything):  # a child is always younger than its parent
        grown[session.id] = Branch(session, [grown[child.id] for child in below.get(session.id, ())])
    if root is not None:
        return [grown[find(reader, root).id]]
    return [grown[session.id] for session in below.get(None, ())]


def set_model(writer: Writer, id: str, model: str | None) -> None:
    """Names the session's model. Raises NotFound."""
    _change(writer, id, "model", model)


def set_title(writer: Writer, id: str, title: str | None) -> None:
    """Names the session. Raises NotFound."""
    _change(writer, id, "title", title)


def count_compaction(writer: Writer, id: str) -> int:
    """Counts one more applied compaction; returns how many there are now. Raises NotFound."""
    session = find(writer, id)
    writer.execute("UPDATE sessions SET compactions=compactions+1 WHERE key=?", session.key)
    return session.compactions + 1


def _change(writer: Writer, id: str, column: str, value: Any) -> None:
    writer.execute(f"UPDATE sessions SET {column}=? WHERE key=?", value, find(writer, id).key)


def _exists(reader: Reader, id: str) -> bool:
    return reader.one("SELECT 1 FROM sessions WHERE id=?", id) is not None


def _made_up() -> str:
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def _checked(id: str) -> str:
    if not _storable(id) or not id or len(id.encode()) > 200 or any(not char.isprintable() for char in id):
        raise Refused(f"{id[:60]!r} cannot name a session: 1 to 200 bytes, no control characters")
    return id


def _storable(id: str) -> bool:
    try:
        id.encode()
    except UnicodeEncodeError:
        return False
    return True
