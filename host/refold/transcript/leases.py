"""A session has one holder at a time. Who dies, loses it: the next one looks whether the holder still lives."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager

from refold.transcript.database import Database, Reader
from refold.transcript.processes import birth, host_name
from refold.transcript.sessions import find, now
from refold.values.errors import Busy

LIFETIME = 900.0
"""Seconds after which a lease that nobody renewed is up, however alive its holder is."""


class Lease:
    """The right to work on one session. `renew` it while the work goes on: before every model call is often enough."""

    def __init__(self, database: Database, session: str, token: str) -> None:
        self.session = session
        self._database, self._token = database, token

    def renew(self) -> None:
        """Starts the lifetime anew. Raises Busy when the lease was up and somebody else took the session."""
        with self._database.write() as writer:
            mine = writer.all(
                "UPDATE refold_lease SET expires=? WHERE session=? AND token=? RETURNING 1",
                time.time() + LIFETIME,
                self.session,
                self._token,
            )
            if not mine:
                raise Busy(f"session {self.session} was taken over; committed rows are kept; start the turn again")

    def release(self) -> None:
        """Gives the session back; somebody else's lease is left alone."""
        with self._database.write() as writer:
            writer.execute("DELETE FROM refold_lease WHERE session=? AND token=?", self.session, self._token)


@contextmanager
def lease(database: Database, session: str, what: str) -> Iterator[Lease]:
    """Holds the session while the block runs. `what` is a word for people: `send`, `compact`, `delete`.

    A lease whose holder is gone, or that is up, is taken over. Raises Busy, naming the holder, when another process
    or another thread of this one has the session; NotFound for an unknown session.
    """
    token, pid = secrets.token_hex(8), os.getpid()
    with database.write() as writer:
        find(writer, session)
        _refuse_if_held(writer, session)
        writer.execute(
            "INSERT OR REPLACE INTO refold_lease(session, token, what, host, pid, born, since, expires)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            session,
            token,
            what,
            host_name(),
            pid,
            birth(pid) or "",
            now(),
            time.time() + LIFETIME,
        )
    held = Lease(database, session, token)
    try:
        yield held
    finally:
        with contextlib.suppress(Busy):  # it dies with this process, or is up in time
            held.release()


def held(reader: Reader, session: str) -> str | None:
    """Who holds the session, in words for people; None: nobody that lives."""
    found = reader.one("SELECT what, host, pid, born, since, expires FROM refold_lease WHERE session=?", session)
    if found is None:
        return None
    what, host, pid, born, since, expires = found
    if expires < time.time() or (host == host_name() and not _lives(pid, born)):
        return None
    place = "" if host == host_name() else f" on {host}"
    return f"process {pid}{place} ({what}, since {since})"


def _refuse_if_held(reader: Reader, session: str) -> None:
    holder = held(reader, session)
    if holder:
        raise Busy(f"session {session} is held by {holder}; nothing was changed; try again when it has ended")


def _lives(pid: int, born: str) -> bool:
    present = birth(pid)
    return present is not None and (not present or not born or present == born)
