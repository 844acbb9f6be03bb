"""What is stored beside the rows of a session: choices, revisions, snapshot, head, origin."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from refold.transcript.database import Reader, Writer


@frozen
class Origin:
    """The foreign session that a session was imported from, and how many of its rows are here already."""

    session: str
    source: str
    rows: int


def choices(reader: Reader, session: str) -> Mapping[str, bool]:
    """The session's own choices, by extension id."""
    found = reader.all("SELECT extension, enabled FROM refold_choice WHERE session=? ORDER BY extension", session)
    return {extension: bool(enabled) for extension, enabled in found}


def set_choice(writer: Writer, session: str, extension: str, enabled: bool | None) -> None:
    """Switches an extension on or off for the session; None: the session has no choice of its own any more."""
    if enabled is None:
        writer.execute("DELETE FROM refold_choice WHERE session=? AND extension=?", session, extension)
        return
    writer.execute(
        "INSERT INTO refold_choice(session, extension, enabled) VALUES(?, ?, ?)"
        " ON CONFLICT DO UPDATE SET enabled=excluded.enabled",
        session,
        extension,
        enabled,
    )


def current(reader: Reader, session: str, store: str) -> int:
    """How often the store was committed in this session."""
    found = reader.one("SELECT n FROM refold_revision WHERE session=? AND store=?", session, store)
    return int(found[0]) if found else 0


def bump(writer: Writer, session: str, store: str) -> int:
    """Counts one more commit of the store; returns the new revision."""
    writer.execute(
        "INSERT INTO refold_revision(session, store, n) VALUES(?, ?, 1) ON CONFLICT DO UPDATE SET n=n+1", session, store
    )
    return current(writer, session, store)


def snapshot(reader: Reader, session: str) -> str | None:
    """The JSON of the last prepared request, as `/context` shows it."""
    return _body(reader, "refold_snapshot", session)


def set_snapshot(writer: Writer, session: str, body: str) -> None:
    """Replaces the snapshot."""
    _set_body(writer, "refold_snapshot", session, body)


def head(reader: Reader, session: str) -> str | None:
    """The JSON of the pinned system prompt and tools, as they were sent."""
    return _body(reader, "refold_head", session)


def set_head(writer: Writer, session: str, body: str | None) -> None:
    """Pins a head; None: the next request pins a new one."""
    if body is None:
        writer.execute("DELETE FROM refold_head WHERE session=?", session)
    else:
        _set_body(writer, "refold_head", session, body)


def user_lines(reader: Reader, session: str) -> str | None:
    """The JSON of what users said in folded rows, as it was last sent. A fork starts without it."""
    return _body(reader, "refold_user_lines", session)


def set_user_lines(writer: Writer, session: str, body: str) -> None:
    """Replaces it."""
    _set_body(writer, "refold_user_lines", session, body)


def origin(reader: Reader, session: str) -> Origin | None:
    """Where the session was imported from; None when it was not."""
    found = reader.one("SELECT session, source, rows FROM refold_origin WHERE session=?", session)
    return Origin(*found) if found else None


def imported_from(reader: Reader, source: str) -> Origin | None:
    """The newest session that was imported from `source`."""
    found = reader.one(
        "SELECT o.session, o.source, o.rows FROM refold_origin o JOIN sessions s ON s.id=o.session"
        " WHERE o.source=? AND NOT s.hidden ORDER BY s.key DESC",
        source,
    )
    return Origin(*found) if found else None


def set_origin(writer: Writer, session: str, source: str, rows: int) -> None:
    """Notes that the first `rows` rows of `source` are in the session."""
    writer.execute(
        "INSERT INTO refold_origin(session, source, rows) VALUES(?, ?, ?)"
        " ON CONFLICT DO UPDATE SET source=excluded.source, rows=excluded.rows",
        session,
        source,
        rows,
    )


def _body(reader: Reader, table: str, session: str) -> str | None:
    found = reader.one(f"SELECT body FROM {table} WHERE session=?", session)
    return str(found[0]) if found else None


def _set_body(writer: Writer, table: str, session: str, body: str) -> None:
    writer.execute(
        f"INSERT INTO {table}(session, body) VALUES(?, ?) ON CONFLICT DO UPDATE SET body=excluded.body", session, body
    )
