"""Small session files, built in code, and a fresh home to import them into."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from refold import Importer, Row
from refold.transcript.database import Database

Lines = Callable[..., bytes]


@pytest.fixture
def lines() -> Lines:
    """JSON lines of the given values; bytes stand as they are."""

    def make(*values: Any) -> bytes:
        return b"".join(value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n" for value in values)

    return make


@pytest.fixture
def read() -> Callable[[Importer, bytes], tuple[list[Row], list[str]]]:
    """What an importer makes of a file: its rows, and its reasons for skipping lines."""

    def make(importer: Importer, data: bytes) -> tuple[list[Row], list[str]]:
        items = list(importer.rows(io.BytesIO(data)))
        return [item for item in items if isinstance(item, Row)], [item for item in items if isinstance(item, str)]

    return make


@pytest.fixture
def told() -> Callable[[list[Row]], list[tuple[str, ...]]]:
    """Rows as short tuples: the session when it is a child, the kind (`opens`, the event), and the words."""

    def make(rows: list[Row]) -> list[tuple[str, ...]]:
        found = []
        for row in rows:
            child = row.ref.session.partition("/")[2]
            kind = row.event or ("opens" if row.opens else row.kind)
            words = row.text or (row.replay.payload if row.replay else "")
            calls = "+".join(call.id for call in row.calls)
            found.append(tuple(part for part in (child, kind, row.call_id, words, calls) if part))
        return found

    return make


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "home" / "refold.db") as opened:
        yield opened
