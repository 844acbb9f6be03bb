"""Deletes a session: hidden at once, then removed in slices that let other writers through."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import apsw

from refold.transcript import sessions
from refold.transcript.database import Database, Reader, Writer, quoted
from refold.transcript.images import drop_unused
from refold.transcript.leases import held, lease
from refold.transcript.ownership import owner_of, recorded
from refold.transcript.rows import newest_seq
from refold.values.errors import RefoldError, Refused

SLICE = 0.025
"""Seconds that one slice works before it commits and lets other writers through."""
BATCH = 64
"""Rows between two looks at the clock."""

Step = Callable[[Writer], bool]
"""Removes a little; whether more is left."""


def delete(database: Database, session: str) -> int:
    """Deletes the session and returns how many rows it had. Forks and children live on, without a parent.

    Bodies and pictures that another session shows are kept. When the process dies on the way, `finish_deletions`
    goes on. Raises NotFound, Busy when somebody holds the session.
    """
    with lease(database, session, "delete"):
        key, rows = _hide(database, session)
        _remove(database, key, session)
    return rows


def _hide(database: Database, session: str) -> tuple[int, int]:
    """The session's key, and how many rows it has."""
    with database.write() as writer:
        key = sessions.find(writer, session).key
        writer.execute("UPDATE sessions SET hidden=1 WHERE key=?", key)
        return key, newest_seq(writer, key)


def finish_deletions(database: Database) -> list[str]:
    """Ends the deletions that died on the way. Call it when a home is opened.

    Returns why some could not be ended, one line each: a session that nobody sees any more is no reason to keep
    people from the others.
    """
    with database.read() as reader:
        hidden = reader.all("SELECT key, id FROM sessions WHERE hidden ORDER BY key")
        abandoned = [(key, session) for key, session in hidden if held(reader, session) is None]
    left = []
    for key, session in abandoned:
        try:
            _remove(database, key, session)
        except RefoldError as error:
            left.append(f"the deletion of session {session} goes on when the home is opened next: {error}")
    return left


def _remove(database: Database, key: int, session: str) -> None:
    """Every step can be done again from the start, so a crash between two slices costs nothing.

    Raises Refused when tables of an extension hold on to the session.
    """
    try:
        _remove_state(database, session)
        _in_slices(database, lambda writer: _remove_rows(writer, key))
        with database.write() as writer:
            writer.execute("DELETE FROM refold_spawn WHERE session=?", key)
            writer.execute("DELETE FROM sessions WHERE key=?", key)
    except (apsw.ConstraintError, apsw.SQLError) as error:  # of a foreign key or a trigger
        raise Refused(f"session {session} is hidden, but an extension's tables hold on to it ({error})") from error


def _in_slices(database: Database, step: Step) -> None:
    more = True
    while more:
        with database.write() as writer:
            until = time.monotonic() + SLICE
            more = step(writer)
            while more and time.monotonic() < until:
                more = step(writer)
        if more:
            time.sleep(SLICE / 4)  # a waiting writer asks every few milliseconds


def _remove_rows(writer: Writer, key: int) -> bool:
    """One batch of rows from the end, with the bodies and pictures that nobody else shows.

    A body is shared only with the same seq of a session of the same family (schema.py), so a few look-ups by key
    tell whether it is.
    """
    batch = writer.all("SELECT seq, body FROM refold_row WHERE session=? ORDER BY seq DESC LIMIT ?", key, BATCH)
    if not batch:
        return False
    lowest = batch[-1][0]
    family = writer.all(
        "SELECT key FROM sessions WHERE key<>?1 AND family=(SELECT family FROM sessions WHERE key=?1)", key
    )
    shared = {
        body
        for (relative,) in family
        for (body,) in writer.all(
            "SELECT body FROM refold_row WHERE session=? AND seq>=? AND seq<=?", relative, lowest, batch[0][0]
        )
    }
    pictures = writer.all("DELETE FROM refold_picture WHERE session=? AND seq>=? RETURNING key", key, lowest)
    writer.execute("DELETE FROM refold_row WHERE session=? AND seq>=?", key, lowest)
    for _, body in batch:
        if body not in shared:
            writer.execute("DELETE FROM refold_body WHERE id=?", body)
    drop_unused(writer, {picture for (picture,) in pictures})
    return True


def _remove_state(database: Database, session: str) -> None:
    """Rows of every table that refers to the session, the extensions' included: left to the cascade of the last step,
    a long session's state would go in one long transaction. A table that others still refer to waits for them."""
    with database.read() as reader:
        waiting, owners = list(_referring(reader)), recorded(reader)
    while waiting:
        blocked = []
        for table, column in waiting:
            with database.read() as reader:
                rows = _rows_of(reader, table, column, session)
            try:
                _in_slices(database, _removal(table, column, session, rows, owner_of(owners, table)))
            except (apsw.ConstraintError, Refused) as error:
                blocked.append((table, column))
                reason = error
        if len(blocked) == len(waiting):
            tables = ", ".join(table for table, _ in blocked)
            raise Refused(f"session {session} is hidden, but {tables} cannot let its rows go ({reason})") from reason
        waiting = blocked


def _referring(reader: Reader) -> Iterator[tuple[str, str]]:
    """Tables with a column that refers to sessions(id); the lease stays until the session goes."""
    found = reader.all(
        'SELECT t.name, f."from" FROM sqlite_schema t JOIN pragma_foreign_key_list(t.name) f'
        " WHERE t.type='table' AND lower(f.\"table\")='sessions' AND lower(f.\"to\")='id' ORDER BY t.name"
    )
    return ((table, column) for table, column in found if table != "refold_lease")


def _rows_of(reader: Reader, table: str, column: str, session: str) -> tuple[str, Iterator[Sequence[object]]]:
    """The key of the session's rows: an SQL expression, and its values. Looked up outside of any transaction, since a
    table without an index on the column is read as a whole."""
    keys = [
        quoted(name) for (name,) in reader.all("SELECT name FROM pragma_table_info(?) WHERE pk>0 ORDER BY pk", table)
    ]
    rowid = not reader.one("SELECT 1 FROM pragma_table_list WHERE schema='main' AND name=? AND wr", table)
    parts = ["rowid"] if rowid or not keys else keys
    found = reader.all(f"SELECT {', '.join(parts)} FROM {quoted(table)} WHERE {quoted(column)}=?", session)
    return " AND ".join(f"{part}=?" for part in parts), iter(found)


def _removal(
    table: str, column: str, session: str, rows: tuple[str, Iterator[Sequence[object]]], store: str | None
) -> Step:
    """With the rights of the table's store: its triggers do no more here than when the extension itself deletes."""
    where, values = rows
    statement = f"DELETE FROM {quoted(table)} WHERE {where} AND {quoted(column)}=?"

    def step(writer: Writer) -> bool:
        batch = list(islice(values, BATCH))
        own = writer if store is None else writer.store(store)
        for value in batch:
            own.execute(statement, *value, session)
        return bool(batch)

    return step
