"""Everything that a home holds, table by table, to be compared. The one place with SQL in this package."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from refold.transcript.database import Reader

Contents = Mapping[str, list[tuple[Any, ...]]]

ROUTINE = frozenset({"refold_snapshot", "refold_head", "refold_lease", "refold_user_lines"})
"""Tables that the host writes with every request, whatever the strategy does."""


def contents(reader: Reader, but: Collection[str] = ()) -> Contents:
    """The rows of every table but those, in this snapshot."""
    names = [name for (name,) in reader.all("SELECT name FROM sqlite_schema WHERE type='table' ORDER BY name")]
    return {name: _rows(reader, name) for name in names if name not in but and not name.startswith("sqlite_")}


def differing(before: Contents, after: Contents) -> list[str]:
    """The tables that are not equal, by name."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _rows(reader: Reader, table: str) -> list[tuple[Any, ...]]:
    quoted = table.replace('"', '""')
    return reader.all(f'SELECT * FROM "{quoted}"')
