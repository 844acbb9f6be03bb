from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from refold import Replay, Row, SourceRef
from refold.transcript import sessions
from refold.transcript.append import append
from refold.transcript.database import Database
from refold.transcript.history import StoredHistory
from refold.transcript.rows import last_seq


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "home" / "refold.db") as database:
        yield database


@pytest.fixture
def row() -> Callable[..., Row]:
    """A row as a caller gives it: ref, turn and step are nobody's business yet."""

    def make(kind: str, text: str = "", **fields: object) -> Row:
        if kind == "event":
            fields.setdefault("event", "notice")
        if kind == "replay":
            fields.setdefault("replay", Replay("p/-/m", "{}"))
        return Row(SourceRef("", 0), kind, 0, 0, text=text, **fields)

    return make


@pytest.fixture
def fill(database: Database) -> Callable[..., None]:
    """Makes the session if it is missing and appends the rows in one transaction."""

    def fill(session: str, *rows: Row) -> None:
        with database.write() as writer:
            if not writer.one("SELECT 1 FROM sessions WHERE id=?", session):
                sessions.create(writer, session)
            append(writer, session, rows)

    return fill


@pytest.fixture
def history_of() -> Callable[..., StoredHistory]:
    """The whole history of a session; a picture costs width * height tokens."""

    def history(reader, session, after=0, upto=None, **fields):
        end = last_seq(reader, session) if upto is None else upto
        return StoredHistory(reader, session, after, end, lambda raw: raw, lambda w, h: w * h, **fields)

    return history
