"""A Ctrl-C at any moment: what was begun is undone, and the next one, in any thread or process, goes on."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
from collections.abc import Callable

import apsw
import pytest
from refold.transcript import database as database_module
from refold.transcript import leases, mutex, sessions
from refold.transcript.append import append
from refold.transcript.database import Database
from refold.transcript.deletion import delete, finish_deletions
from refold.transcript.fork import ForkHook, fork
from refold.transcript.leases import lease
from refold.transcript.migrations import migrate
from refold.transcript.ownership import Claim, claim_stores
from refold.transcript.rows import load_sources

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

FOLDER = os.path.dirname(database_module.__file__)
CLOSELY = {database_module.__file__, mutex.__file__, leases.__file__}
"""Files where it comes before every instruction; elsewhere in the package before every line."""


class Strike:
    """Raises KeyboardInterrupt at the n-th moment, counted through the code of the transcript (and of contextlib)."""

    def __init__(self, at: int, beside: bool) -> None:
        self.at, self.now = at, 0
        self.beside = contextlib.__file__ if beside else None

    def __call__(self, frame, event, argument):
        name = frame.f_code.co_filename
        if name != self.beside and not name.startswith(FOLDER):
            return None
        frame.f_trace_opcodes = name in CLOSELY
        if event in ("call", "opcode" if frame.f_trace_opcodes else "line"):
            self.now += 1
            if self.now == self.at:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def struck(work: Callable[[], object], at: int, beside: bool) -> tuple[BaseException | None, int]:
    """The interrupt with which the work ended, and how many moments there were.

    None: the work came to its end before, or Python swallowed the interrupt, as it does while a generator that nobody
    needs any more is closed.
    """
    strike = Strike(at, beside)
    before = sys.gettrace()
    gc.disable()  # nothing of earlier interrupts ends in the middle of this work
    try:
        sys.settrace(strike)
        work()
    except KeyboardInterrupt as interrupt:
        return interrupt, strike.now
    finally:
        sys.settrace(before)
        gc.enable()
    return None, strike.now


@pytest.fixture
def home(database, fill, row, monkeypatch):
    monkeypatch.setattr(database_module, "PATIENCE", 0.5)
    fill("s", row("user", "first", opens=True))
    claim_stores(database, [Claim("x", "x")])
    migrate(database, "x", "x", ["CREATE TABLE x(a, session TEXT REFERENCES sessions(id) ON DELETE CASCADE)"])
    return database


def goes_on(database: Database) -> None:
    """Processes and threads write, whatever came before; SQL of the host has its rights."""
    failed: list[BaseException] = []

    def write() -> None:
        try:
            with database.write() as writer:
                writer.execute("UPDATE sessions SET title=title")
        except BaseException as error:
            failed.append(error)

    other = apsw.Connection(str(database.path))
    other.execute("BEGIN IMMEDIATE; ROLLBACK")
    other.close()
    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    write()
    assert failed == []
    with database.read() as reader:
        seqs = [seq for (seq,) in reader.all("SELECT seq FROM refold_row WHERE session=1 ORDER BY seq")]
        assert seqs == list(range(1, len(seqs) + 1))
        assert reader.one("SELECT count(*) FROM refold_row WHERE body NOT IN (SELECT id FROM refold_body)") == (0,)
    with lease(database, "s", "send"):
        pass


def appends(database, row):
    with database.write() as writer:
        append(writer, "s", [row("assistant", "more"), row("event", "noted")])


def writes_for_an_extension(database, row):
    with database.write() as writer:
        writer.store("x").execute("INSERT INTO x(a, session) VALUES(1, 's')")


def reads(database, row):
    with database.read() as reader:
        load_sources(reader, "s", 0, 9)
        reader.renew()
        reader.store("x").all("SELECT a FROM x")


def holds(database, row):
    with lease(database, "s", "send") as held:
        held.renew()


def forks(database, row):
    hook = ForkHook("x", "x", lambda each: each.write.execute("INSERT INTO x(a, session) VALUES(1, ?)", each.target))
    fork(database, "s", 1, hooks=[hook])


def deletes(database, row):
    with database.write() as writer:
        made = sessions.create(writer)
        append(writer, made.id, [row("user", "gone", opens=True)])
    delete(database, made.id)


def opens(database, row):
    with Database(database.path) as again, again.read() as reader:
        sessions.listing(reader)


MOMENTS = 150
"""How many of them are tried of each work, evenly over all; all of them when they are fewer."""


@pytest.mark.parametrize("kept", [False, True], ids=["forgotten", "kept as by a debugger"])
@pytest.mark.parametrize("work", [appends, writes_for_an_extension, reads, holds, forks, deletes, opens])
def test_an_interrupt_at_any_moment_leaves_nothing_open(home, row, work, kept):
    """A kept exception keeps the frames alive that it came through, so what they hold does not end by itself. There it
    comes in refold's own code alone: in contextlib's nothing can be done before the thread itself goes on."""
    done, moments = struck(lambda: work(home, row), 0, beside=not kept)
    assert done is None
    assert moments > MOMENTS
    caught: list[BaseException | None] = []
    for at in range(1, moments, moments // MOMENTS):
        interrupt, _ = struck(lambda: work(home, row), at, beside=not kept)
        if kept:
            caught.append(interrupt)
        del interrupt
        goes_on(home)
    assert finish_deletions(home) == []


@pytest.mark.parametrize("work", [appends, writes_for_an_extension, holds, deletes])
def test_the_thread_itself_goes_on_after_an_interrupt_between_the_statement_and_its_context_manager(home, row, work):
    _, moments = struck(lambda: work(home, row), 0, beside=True)
    caught = []
    for at in range(1, moments, moments // MOMENTS):
        caught.append(struck(lambda: work(home, row), at, beside=True))
        appends(home, row)
    goes_on(home)
