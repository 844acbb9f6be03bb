"""What SQL of an extension may touch: the tables of its own store.

SQLite asks an *authorizer* about every table, column and statement while it compiles SQL. Each connection gets one
authorizer for life (replacing it expires every prepared statement); which store is bound at the moment is a variable
that it looks at. It keeps honest extensions out of each other's tables; it is no sandbox for hostile Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import apsw

from refold.values.errors import Refused

_STORE = re.compile(r"[a-z][a-z0-9_]*\Z")
_QUOTED_OR_COMMENT = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/", re.DOTALL)

_ALWAYS = {apsw.SQLITE_SELECT, apsw.SQLITE_RECURSIVE}
_WRITES = {apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE, apsw.SQLITE_DELETE}
_NAMES_FIRST = {
    apsw.SQLITE_CREATE_TABLE,
    apsw.SQLITE_CREATE_VIEW,
    apsw.SQLITE_DROP_TABLE,
    apsw.SQLITE_DROP_VIEW,
    apsw.SQLITE_DROP_VTABLE,
    apsw.SQLITE_REINDEX,
}
_NAMES_BOTH = {
    apsw.SQLITE_CREATE_INDEX,
    apsw.SQLITE_CREATE_TRIGGER,
    apsw.SQLITE_DROP_INDEX,
    apsw.SQLITE_DROP_TRIGGER,
}
_TABLE_FUNCTIONS = {"json_each", "json_tree"}
# SQLite reads and writes these itself while it runs CREATE, ALTER and DROP; a direct write is refused by SQLite.
_CATALOGUE = {
    "sqlite_master",
    "sqlite_schema",
    "sqlite_temp_master",
    "sqlite_temp_schema",
    "sqlite_sequence",
    "pragma_quick_check",
}


def store_name(name: str) -> str:
    """`name` if it can be a store: lower-case ASCII letters, digits and `_`, a letter first. Raises Refused."""
    if not _STORE.match(name):
        raise Refused(f"{name!r} cannot name a store; use lower-case letters, digits and _, with a letter first")
    return name


@lru_cache(maxsize=512)
def one_statement(sql: str) -> bool:
    """Whether `sql` is at most one statement. A trigger's body counts as more: triggers belong into migrations."""
    return ";" not in _QUOTED_OR_COMMENT.sub(" ", sql).rstrip().rstrip(";")


def owns(store: str, table: str) -> bool:
    """Whether a table (or index, or trigger; in lower case) is the store's: by its name."""
    return table == store or table.startswith(f"{store}_")


class Guard:
    """The authorizer of one connection. Nothing is bound at first: SQL of the host, unrestricted."""

    __slots__ = ("_denied", "_sql", "_store", "_tables_too")

    def __init__(self) -> None:
        self._store: str | None = None
        self._tables_too = False
        self._sql = ""
        self._denied = ""

    @contextmanager
    def bound(self, store: str, sql: str, tables_too: bool = False) -> Iterator[str]:
        """Binds `store` while `sql` is compiled and run, and yields the SQL to run.

        The yielded text names the store in a comment, so that the connection's statement cache never hands a
        statement compiled for one store (or for the host) to another. `tables_too` allows CREATE, ALTER and DROP.
        """
        self._store, self._sql, self._tables_too, self._denied = store, sql, tables_too, ""
        try:
            yield f"/*{store}*/ {sql}"
        except (apsw.AuthError, apsw.SQLError) as error:  # a forbidden function is an SQLError
            if not self._denied:
                raise
            raise Refused(f"SQL of store {store} was not run: it may not {self._denied}") from error
        finally:
            self._store = None

    def __call__(
        self, action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
    ) -> int:
        """SQLite's question; the answer is SQLITE_OK or SQLITE_DENY."""
        if self._store is None or self._allows(action, (first or "").lower(), (second or "").lower(), database):
            return apsw.SQLITE_OK
        name = str(apsw.mapping_authorizer_function[action])[7:].lower().replace("_", " ")
        self._denied = " ".join(part for part in (name, first, second) if part)
        return apsw.SQLITE_DENY

    def _allows(self, action: int, first: str, second: str, database: str | None) -> bool:
        if action in _ALWAYS:
            return True
        if action == apsw.SQLITE_FUNCTION:
            return second != "load_extension"
        if action == apsw.SQLITE_READ:
            return self._owns(first) or self._reads_outside(first, second, database)
        if action in _WRITES:
            return self._owns(first) or (self._tables_too and first in _CATALOGUE)
        if action == apsw.SQLITE_PRAGMA:
            return first == "data_version"  # full-text tables ask for it
        if not self._tables_too or database == "temp":
            return False
        if action in _NAMES_FIRST:
            return self._owns(first)
        if action in _NAMES_BOTH:
            return self._owns(first) and self._owns(second)
        if action == apsw.SQLITE_CREATE_VTABLE:
            return self._owns(first) and second == "fts5"
        return action == apsw.SQLITE_ALTER_TABLE and self._owns(second)

    def _owns(self, table: str) -> bool:
        """Whether the table is the store's; SQLite's own index of a table carries the table's name inside."""
        return self._store is not None and owns(self._store, table.removeprefix("sqlite_autoindex_"))

    def _reads_outside(self, table: str, column: str, database: str | None) -> bool:
        if table == "sessions":
            return column == "id"  # the check of a foreign key reads it
        if table in _TABLE_FUNCTIONS or (self._tables_too and table in _CATALOGUE):
            return True
        # A WITH table of which no column is used is asked for by its name alone.
        named = rf"\b{re.escape(table)}\b\s*(\([^)]*\))?\s*as\s*(not\s+)?(materialized\s*)?\("
        written = _QUOTED_OR_COMMENT.sub(" ", self._sql)
        return not column and database is None and re.search(named, written, re.IGNORECASE) is not None
