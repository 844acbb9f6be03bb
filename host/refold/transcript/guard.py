"""What SQL of an extension may touch: the tables of its own store.

SQLite asks an *authorizer* about every table, column and statement while it compiles SQL. Each connection gets one
authorizer for life (replacing it expires every prepared statement); which store is bound at the moment is a variable
that it looks at. It keeps honest extensions out of each other's tables; it is no sandbox for hostile Python.

A store owns the tables, views, indexes and triggers whose names begin with its own. Statements are held against those
of them that the file really has; only a migration, which makes them, is held against the names alone.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import apsw

from refold.transcript.schema import SESSIONS
from refold.values.errors import Refused

_STORE = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")
_RESERVED = ("refold", SESSIONS, "sqlite", "pragma", "json", "jsonb", "dbstat")
"""First words of the host's tables, and of those that SQLite itself has or makes up."""
_QUOTED_OR_COMMENT = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/", re.DOTALL)
_FOLD = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)

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
# SQLite reads and writes these itself while it runs CREATE, ALTER and DROP. It refuses a direct write, but for
# sqlite_sequence: migrations.py looks whether a script changed what is not its own.
_CATALOGUE = {
    "sqlite_master",
    "sqlite_schema",
    "sqlite_temp_master",
    "sqlite_temp_schema",
    "sqlite_sequence",
    "pragma_quick_check",
}


def store_fault(name: str) -> str | None:
    """Why no store can have this name, in words that follow it; None: one can."""
    if not _STORE.match(name):
        return "must be a lower-case letter, then letters, digits or '_' (64 at most)"
    word = next((word for word in _RESERVED if f"{name}_".startswith(f"{word}_")), None)
    return f"begins with {word}, as tables of refold or of SQLite do" if word else None


def store_name(name: str) -> str:
    """`name` if it can be a store. Raises Refused."""
    if fault := store_fault(name):
        raise Refused(f"store {name[:80]!r} {fault}; choose another name")
    return name


@lru_cache(maxsize=512)
def one_statement(sql: str) -> bool:
    """Whether `sql` is at most one statement. A trigger's body counts as more: triggers belong into migrations."""
    return ";" not in _QUOTED_OR_COMMENT.sub(" ", sql).rstrip().rstrip(";")


def folded(name: str) -> str:
    """A name as SQLite compares it: upper and lower case are the same in ASCII alone."""
    return name.translate(_FOLD)


def owns(store: str, name: str) -> bool:
    """Whether a table, view, index or trigger (its name folded) is the store's, by its name alone.

    SQLite's own index of a table carries the table's name inside.
    """
    return f"{name.removeprefix('sqlite_autoindex_')}_".startswith(f"{store}_")


class Guard:
    """The authorizer of one connection. Nothing is bound at first: SQL of the host, unrestricted."""

    __slots__ = ("_denied", "_present", "_store", "_tables_too", "_version")

    def __init__(self) -> None:
        self._store: str | None = None
        self._tables_too = False
        self._denied = ""
        self._version: object = None
        self._present: frozenset[str] = frozenset()

    @contextmanager
    def bound(self, connection: apsw.Connection, store: str, sql: str, tables_too: bool = False) -> Iterator[str]:
        """Binds `store` while `sql` is compiled and run on the connection, and yields the SQL to run.

        The yielded text names the store in a comment, so that the connection's statement cache never hands a
        statement compiled for one store (or for the host) to another. `tables_too` allows CREATE, ALTER and DROP.
        """
        self._look(connection)
        try:
            self._store, self._tables_too, self._denied = store, tables_too, ""
            yield f"/*{store}*/ {sql}"
        except (apsw.AuthError, apsw.SQLError) as error:  # a forbidden function is an SQLError
            if not self._denied:
                raise
            raise Refused(f"SQL of store {store} was not run: it may not {self._denied}") from error
        finally:
            self.release()
            if tables_too:
                self._version = None  # a script that is undone gives back the number under which it was seen

    def release(self) -> None:
        """Binds nothing any more."""
        self._store = None

    def __call__(
        self, action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
    ) -> int:
        """SQLite's question; the answer is SQLITE_OK or SQLITE_DENY."""
        store = self._store
        if store is None or self._allows(store, action, folded(first or ""), folded(second or ""), database):
            return apsw.SQLITE_OK
        name = str(apsw.mapping_authorizer_function[action])[7:].lower().replace("_", " ")
        self._denied = " ".join(part for part in (name, first, second) if part)
        return apsw.SQLITE_DENY

    def _allows(self, store: str, action: int, first: str, second: str, database: str | None) -> bool:
        if action in _ALWAYS:
            return True
        if action == apsw.SQLITE_FUNCTION:
            return second != "load_extension"
        if action == apsw.SQLITE_READ:
            return self._has(store, first) or self._reads_outside(first, second, database)
        if action in _WRITES:
            return self._has(store, first) or (self._tables_too and first in _CATALOGUE)
        if action == apsw.SQLITE_PRAGMA:
            return first == "data_version"  # full-text tables ask for it
        if not self._tables_too or database == "temp":
            return False
        if action in _NAMES_FIRST:
            return owns(store, first)
        if action in _NAMES_BOTH:
            return owns(store, first) and owns(store, second)
        if action == apsw.SQLITE_CREATE_VTABLE:
            return owns(store, first) and second == "fts5"
        return action == apsw.SQLITE_ALTER_TABLE and owns(store, second)

    def _has(self, store: str, table: str) -> bool:
        """Whether the table is the store's, and there; a script's tables are there when it comes to them."""
        return owns(store, table) and (self._tables_too or table in self._present)

    def _reads_outside(self, table: str, column: str, database: str | None) -> bool:
        if table == SESSIONS:
            return column == "id"  # the check of a foreign key reads it
        if table in _TABLE_FUNCTIONS or (self._tables_too and table in _CATALOGUE):
            return True
        # A WITH table of which no column is used is asked for by its name alone, and so is a real one.
        real = table in self._present or table.startswith(("sqlite_", "pragma_"))
        return not column and database is None and not real

    def _look(self, connection: apsw.Connection) -> None:
        """Which tables and views there are, looked up anew when that changed."""
        version = connection.execute("PRAGMA schema_version").fetchall()
        if version != self._version:
            names = connection.execute(
                "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"
                " UNION SELECT name FROM pragma_module_list"
            )
            self._present, self._version = frozenset(folded(name) for (name,) in names), version
