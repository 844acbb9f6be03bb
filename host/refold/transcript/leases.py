"""A session has one holder at a time: a turn, a compaction, a deletion.

A lease whose process has exited, or that was not renewed for LIFETIME, is taken over. Whether a process lives can be
seen on its own machine alone, and a clock that jumped makes a lease last as long as it jumped: `break_lease` is for a
person who knows better.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import frozen

from refold.transcript.database import Database, Reader
from refold.transcript.processes import birth, host_name
from refold.transcript.sessions import find, now
from refold.values.errors import Busy

LIFETIME = 900.0
"""Seconds after which a lease that nobody renewed is up, however alive its holder is."""


_LIVE: set[str] = set()
"""Tokens of the leases that this process holds. One of its own that is not among them was left by a Ctrl-C."""


@frozen
class Holder:
    """Who holds a session. `what` is a word for people; `since` is UTC in ISO 8601, `expires` seconds since 1970;
    `here`: on this machine."""

    process: int
    host: str
    what: str
    since: str
    expires: float
    here: bool

    def __str__(self) -> str:
        return f"process {self.process}{'' if self.here else f' on {self.host}'} ({self.what}, since {self.since})"


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
    token, taken = secrets.token_hex(8), False
    try:
        try:
            _LIVE.add(token)
            _take(database, session, token, what)
            taken = True
            yield Lease(database, session, token)
        finally:
            _LIVE.discard(token)  # should a Ctrl-C keep the rest from happening, the lease is nobody's all the same
    finally:
        _LIVE.discard(token)
        if taken:
            with contextlib.suppress(Busy):  # it dies with this process, or is up in time
                Lease(database, session, token).release()


def held(reader: Reader, session: str) -> Holder | None:
    """Who holds the session; None: nobody that lives."""
    found = reader.one("SELECT pid, host, what, since, expires, born, token FROM refold_lease WHERE session=?", session)
    if found is None:
        return None
    pid, host, what, since, expires, born, token = found
    here = host == host_name()
    if expires < time.time() or (here and not _lives(pid, born, token)):
        return None
    return Holder(pid, host, what, since, expires, here)


def holders(reader: Reader) -> dict[str, Holder]:
    """Who holds what, by session; those whose deletion was begun are listed, too."""
    found = reader.all("SELECT session FROM refold_lease ORDER BY session")
    return {session: holder for (session,) in found if (holder := held(reader, session))}


def break_lease(database: Database, session: str) -> Holder | None:
    """Takes the session from whoever holds it, and returns who did; None: nobody.

    The holder hears of it when it renews its lease next, and then stops; what it committed is kept.
    """
    with database.write() as writer:
        holder = held(writer, session)
        writer.execute("DELETE FROM refold_lease WHERE session=?", session)
    return holder


def _take(database: Database, session: str, token: str, what: str) -> None:
    pid = os.getpid()
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


def _refuse_if_held(reader: Reader, session: str) -> None:
    holder = held(reader, session)
    if holder is None:
        return
    advice = "try again when it has ended"
    if not holder.here or holder.expires > time.time() + LIFETIME:  # whether it has cannot be seen from here
        advice += f", or take it over with 'refold unlock {session}'"
    raise Busy(f"session {session} is held by {holder}; nothing was changed; {advice}")


def _lives(pid: int, born: str, token: str) -> bool:
    if pid == os.getpid() and token not in _LIVE:
        return False
    present = birth(pid)
    return present is not None and (not present or not born or present == born)
