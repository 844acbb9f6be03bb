"""What was sent last, from the stored snapshot alone: no strategy, plugin or provider is touched."""

from __future__ import annotations

from typing import Any

from refold.prepare import inspector, snapshot
from refold.transcript import rows, sessions, state
from refold.transcript.database import Reader
from refold.transcript.history import StoredHistory
from refold.values.errors import NotFound


def context(reader: Reader, session: str) -> dict[str, Any]:
    """The snapshot of the last prepared request as `refold context` shows it."""
    taken = _snapshot(reader, session)
    return inspector.PENDING if taken is None else inspector.summary(taken)


def context_page(reader: Reader, session: str, section: str, page: int) -> dict[str, Any]:
    """One page of a section of it, counted from 0. Raises NotFound."""
    taken = _snapshot(reader, session)
    if taken is None:
        raise NotFound("no request was prepared in this session yet; 'refold prepare' makes one")
    history = StoredHistory(reader, session, 0, rows.last_seq(reader, session), _as_it_is, _nothing)
    return inspector.page(taken, history, section, page)


def _snapshot(reader: Reader, session: str) -> snapshot.Snapshot | None:
    stored = state.snapshot(reader, sessions.find(reader, session).id)
    return snapshot.load(stored) if stored else None


def _as_it_is(tokens: int) -> int:
    return tokens


def _nothing(width: int, height: int) -> int:
    return 0
