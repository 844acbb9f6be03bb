"""Opens the file; hands out read snapshots and write transactions.

Write-ahead log: readers never block and are never blocked, one writer at a time. Every commit is flushed to the disk
(`synchronous=FULL`): what was acknowledged survives a kill and a power cut.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import apsw

from refold.transcript import schema
from refold.transcript.guard import Guard, one_statement, store_name
from refold.transcript.mutex import Hold, Mutex
from refold.values.errors import Busy, RefoldError, Refused

PATIENCE = 10.0
"""Seconds that a writer waits for its turn before it reports Busy."""
LOG_LIMIT = 64 * 1024 * 1024
"""Bytes that the write-ahead log keeps on disk after it was written back."""
IDLE_READERS = 4
BEYOND = 2**62
"""More than any seq, id or count of rows, and SQLite can hold it."""


class StoreReader:
    """SELECTs on the tables of one store. Raises Refused for anything else."""

    def __init__(self, connection: apsw.Connection, guard: Guard, store: str) -> None:
        self._connection, self._guard, self._store = connection, guard, store_name(store)

    def all(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Every row that one statement gives."""
        if not one_statement(sql):
            raise Refused(f"SQL of store {self._store} was not run: give one statement at a time")
        with self._guard.bound(self._connection, self._store, sql) as marked:
            return self._connection.execute(marked, cast(Any, values)).fetchall()

    def one(self, sql: str, *values: object) -> tuple[Any, ...] | None:
        """The first row, or None."""
        rows = self.all(sql, *values)
        return rows[0] if rows else None


class StoreWriter(StoreReader):
    """Reads and writes the tables of one store, inside the host's transaction. Raises Refused once that is over."""

    def __init__(self, writer: Writer, store: str) -> None:
        super().__init__(writer._connection, writer._guard, store)
        self._writer = writer

    def all(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Every row that one statement gives."""
        self._writer.ensure_open()
        found = super().all(sql, *values)
        self._writer.ensure_open()
        return found

    def execute(self, sql: str, *values: object) -> int:
        """Runs one statement; returns the row id of the last row inserted on this connection."""
        self.all(sql, *values)
        return self._connection.last_insert_rowid()

    def script(self, sql: str) -> None:
        """Runs a migration: any number of statements, CREATE, ALTER and DROP of the store's own names included."""
        self._writer.ensure_open()
        with self._guard.bound(self._connection, self._store, sql, tables_too=True) as marked:
            self._connection.execute(marked, can_cache=False).fetchall()


class Reader:
    """One snapshot. `decoded` counts the rows whose bodies were decoded through it."""

    def __init__(self, connection: apsw.Connection, guard: Guard) -> None:
        self._connection, self._guard = connection, guard
        self.decoded = 0

    def all(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Every row that the statement gives."""
        return self._connection.execute(sql, cast(Any, values)).fetchall()

    def one(self, sql: str, *values: object) -> tuple[Any, ...] | None:
        """The first row, or None."""
        return self._connection.execute(sql, cast(Any, values)).fetchone()

    def each(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """The rows one by one, fetched as they are taken; to be read inside this snapshot."""
        cursor = self._connection.cursor()
        try:
            yield from cursor.execute(sql, cast(Any, values))
        finally:
            cursor.close()

    def renew(self) -> None:
        """Moves the snapshot to everything committed by now; what it read before stays as it was read."""
        self._connection.execute("ROLLBACK")
        self.begin()

    def begin(self) -> None:
        """Fixes the snapshot: the first read after BEGIN does."""
        self._connection.execute("BEGIN")
        self.one("SELECT 1 FROM sqlite_schema LIMIT 1")

    def store(self, name: str) -> StoreReader:
        """The same snapshot, restricted to the tables of an extension's store."""
        return StoreReader(self._connection, self._guard, name)


class Writer(Reader):
    """One immediate transaction; it reads what it wrote. Of no use once that is over."""

    def __init__(self, connection: apsw.Connection, guard: Guard) -> None:
        super().__init__(connection, guard)
        self._over = False

    def ensure_open(self) -> None:
        """Raises Refused when the transaction is over, so that nothing is written outside of it."""
        if self._over:
            raise Refused("nothing was written: this transaction is over; write while it runs")
        if not self._connection.in_transaction:
            raise Refused(
                "nothing of this transaction was written: a statement ended it on the way (ON CONFLICT ROLLBACK and"
                " RAISE(ROLLBACK) do); use ABORT instead"
            )

    def close(self) -> None:
        """Ends what this object may do; the connection goes on."""
        self._over = True

    def execute(self, sql: str, *values: object) -> int:
        """Runs a statement; returns the row id of the last row inserted on this connection."""
        self.ensure_open()
        self._connection.execute(sql, cast(Any, values)).fetchall()
        return self._connection.last_insert_rowid()

    def store(self, name: str) -> StoreWriter:
        """The same transaction, restricted to the tables of an extension's store."""
        return StoreWriter(self, name)

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undoes what happened inside when it raises; the transaction around it goes on."""
        self.execute("SAVEPOINT part")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK TO part")
                self._connection.execute("RELEASE part")
            raise
        self.execute("RELEASE part")


class Database:
    """The file `path`, made with its folder when it is missing (folder 0700, file 0600). Safe to share by threads.

    Raises RefoldError when the file cannot be opened, Refused when a newer refold wrote it.

        with Database(home / "refold.db") as database, database.read() as reader:
            print(reader.one("SELECT count(*) FROM sessions"))
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()  # a process may go to another folder, its sessions do not
        self._idle, self._closed = deque[Reader](), False
        self._writing = Mutex()
        with self._spoken():
            _make(self.path)
            self._connection, self._guard = _connect(self.path)
            try:
                self._establish()
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Closes every idle connection; one in use is closed when it is given back."""
        self._closed = True
        self._close_idle()
        mine = Hold.of_caller()
        try:
            if not self.writing:
                self._writing.take(mine, PATIENCE)
            self._connection.close()
        finally:
            self._writing.give(mine)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def read(self) -> Iterator[Reader]:
        """A snapshot of everything committed by now. It costs no lock, and nobody waits for it."""
        with self._spoken():
            reader = None
            try:
                reader = self._take()
                reader.begin()
                yield reader
            finally:
                if reader is not None:
                    self._give_back(reader)

    @contextmanager
    def write(self) -> Iterator[Writer]:
        """One immediate transaction: committed at the end, undone by a raise. Raises Busy after PATIENCE seconds."""
        if self.writing:
            raise RuntimeError("a transaction is already open in this thread")
        mine, writer = Hold.of_caller(), Writer(self._connection, self._guard)
        try:
            try:
                if not self._writing.take(mine, PATIENCE):
                    raise _busy(self.path)
                with self._spoken():
                    _clear(self._connection, self._guard)
                    self._connection.execute("BEGIN IMMEDIATE")
                    yield writer
                    writer.execute("COMMIT")
            finally:
                self._end(mine, writer)
        finally:
            self._end(mine, writer)  # again: a Ctrl-C may come in the middle of the first time

    def _end(self, mine: Hold, writer: Writer) -> None:
        """Undoes what was not committed, and lets the next one write; it may be done any number of times."""
        writer.close()
        if self._writing.holder is mine:
            try:
                _clear(self._connection, self._guard)
            finally:
                self._writing.give(mine)

    def _establish(self) -> None:
        """Another program's file, or a newer refold's, is told before anything in it is touched."""
        looking = Reader(self._connection, self._guard)
        try:
            looking.begin()
            version = schema.version(looking)
        finally:
            _clear(self._connection, self._guard)
        _write_ahead(self._connection)
        if version < len(schema.MIGRATIONS):
            with self.write() as writer:
                schema.establish(writer)

    @property
    def writing(self) -> bool:
        """Whether this thread has a transaction open."""
        holder = self._writing.holder
        if holder is None or not holder.mine:
            return False
        if holder.left:
            self._writing.give(holder)
            return False
        return True

    def _take(self) -> Reader:
        if self._closed:
            raise RefoldError(f"{self.path} was closed; nothing was read; open it again")
        try:
            reader = self._idle.pop()
        except IndexError:
            reader = Reader(*_connect(self.path))
            reader._connection.execute("PRAGMA query_only=ON")
        _clear(reader._connection, reader._guard)
        reader.decoded = 0
        return reader

    def _give_back(self, reader: Reader) -> None:
        _clear(reader._connection, reader._guard)
        if len(self._idle) < IDLE_READERS:
            self._idle.append(reader)
        else:
            reader._connection.close()
        if self._closed:
            self._close_idle()

    def _close_idle(self) -> None:
        while self._idle:
            with contextlib.suppress(IndexError):  # another thread took the last one
                self._idle.pop()._connection.close()

    @contextmanager
    def _spoken(self) -> Iterator[None]:
        """Says failures of the file and of the disk in one line. A mistake in SQL stays what it is."""
        try:
            yield
        except (apsw.BusyError, apsw.LockedError) as error:
            raise _busy(self.path) from error
        except apsw.NotADBError as error:
            raise RefoldError(
                f"{self.path} is no refold database; it was left as it is; choose another home"
            ) from error
        except apsw.CorruptError as error:
            raise RefoldError(f"{self.path} is damaged ({error}); nothing was written; restore a backup") from error
        except apsw.FullError as error:
            raise RefoldError(
                f"the disk of {self.path} is full; what was committed is kept; free some space"
            ) from error
        except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError, apsw.PermissionsError, OSError) as error:
            if isinstance(error, OSError) and error.filename not in (str(self.path), str(self.path.parent)):
                raise
            why = "its folder is read-only" if not os.access(self.path.parent, os.W_OK) else str(error)
            raise RefoldError(f"{self.path} cannot be used ({why}); what was committed is kept") from error


def clipped(number: int) -> int:
    """A seq, an id or a count as SQLite can compare it: what is beyond 63 bits is beyond every row all the same."""
    return min(max(0, number), BEYOND)


def quoted(name: str) -> str:
    """A name of a table or column as SQL takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def _clear(connection: apsw.Connection, guard: Guard) -> None:
    """Makes the connection as good as new: what somebody who was interrupted left open on it is undone."""
    guard.release()
    if connection.in_transaction:  # a full disk has already undone it
        connection.execute("ROLLBACK")


def _busy(path: Path) -> Busy:
    return Busy(f"{path} was written by others for {PATIENCE:.0f} s; nothing of this was written; try again")


def _make(path: Path) -> None:
    """Makes folder and file, private from their first moment. An existing file is never opened by other means than
    SQLite's: closing such a descriptor would drop the locks that this process holds."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _connect(path: Path) -> tuple[apsw.Connection, Guard]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_handler(_waiter())
    # Plans that never depend on bound values: otherwise some statements are compiled anew for every value.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    guard = Guard()
    connection.authorizer = guard
    connection.execute(f"PRAGMA foreign_keys=ON; PRAGMA synchronous=FULL; PRAGMA journal_size_limit={LOG_LIMIT}")
    if connection.pragma("foreign_keys") != 1:
        raise RefoldError("this SQLite was built without foreign keys; nothing was opened; install apsw from a wheel")
    return connection, guard


def _write_ahead(connection: apsw.Connection) -> None:
    """Two processes that open a new file at once can meet here, where SQLite does not wait by itself."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if connection.pragma("journal_mode") != "wal":
                connection.pragma("journal_mode", "wal")
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def _waiter() -> Callable[[int], bool]:
    """Asks again every few milliseconds. SQLite's own waiter sleeps up to 100 ms, longer than our transactions last,
    and so lets a writer starve beside a busy one."""
    deadline = 0.0

    def wait(attempt: int) -> bool:
        nonlocal deadline
        now = time.monotonic()
        if attempt == 0:
            deadline = now + PATIENCE
        time.sleep(0.001 if attempt < 10 else 0.004)
        return now < deadline

    return wait
