from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading

import apsw
import pytest
from refold import Busy, RefoldError, Refused
from refold.transcript import database as database_module
from refold.transcript import schema, sessions
from refold.transcript.database import Database


def test_folder_and_file_are_private_from_the_start(tmp_path):
    before = os.umask(0)
    try:
        path = tmp_path / "deep" / "home" / "refold.db"
        with Database(path) as database, database.write() as writer:
            sessions.create(writer, "s")
            modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (path.parent, *path.parent.iterdir())}
    finally:
        os.umask(before)
    assert modes == {"home": 0o700, "refold.db": 0o600, "refold.db-wal": 0o600, "refold.db-shm": 0o600}


def test_a_folder_that_is_there_keeps_its_mode(tmp_path):
    tmp_path.chmod(0o755)
    Database(tmp_path / "refold.db").close()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_every_connection_flushes_commits_and_checks_foreign_keys(database):
    with database.read() as reader, database.write() as writer:
        for connection in (reader, writer):
            assert connection.one("PRAGMA foreign_keys") == (1,)
            assert connection.one("PRAGMA synchronous") == (2,)
            assert connection.one("PRAGMA journal_mode") == ("wal",)
        assert reader.one("PRAGMA query_only") == (1,)


def test_a_snapshot_does_not_move_while_others_write(database):
    with database.read() as before:
        with database.write() as writer:
            sessions.create(writer, "s")
            assert sessions.find(writer, "s").id == "s"
        assert sessions.listing(before) == []
        with database.read() as after:
            assert [listed.session.id for listed in sessions.listing(after)] == ["s"]
        before.renew()
        assert [listed.session.id for listed in sessions.listing(before)] == ["s"]


def test_a_raise_undoes_the_transaction(database):
    def fail() -> None:
        with database.write() as writer:
            sessions.create(writer, "s")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.read() as reader:
        assert sessions.listing(reader) == []


def test_a_savepoint_undoes_its_own_part_alone(database):
    def fail(writer) -> None:
        with writer.savepoint():
            sessions.create(writer, "undone")
            raise ZeroDivisionError

    with database.write() as writer:
        sessions.create(writer, "kept")
        with pytest.raises(ZeroDivisionError):
            fail(writer)
        with writer.savepoint():
            sessions.create(writer, "also kept")
    with database.read() as reader:
        assert [listed.session.id for listed in sessions.listing(reader)] == ["kept", "also kept"]


def test_a_transaction_inside_a_transaction_of_the_same_thread_is_a_mistake(database):
    with database.write(), pytest.raises(RuntimeError), database.write():
        pass


def test_threads_write_one_after_the_other(database):
    def work(n: int) -> None:
        for i in range(10):
            with database.write() as writer:
                sessions.create(writer, f"{n}-{i}")
            with database.read() as reader:
                assert sessions.find(reader, f"{n}-{i}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.read() as reader:
        assert len(sessions.listing(reader)) == 40


def test_a_file_that_stays_locked_is_reported_in_one_line(database, monkeypatch):
    monkeypatch.setattr(database_module, "PATIENCE", 0.05)
    other = apsw.Connection(str(database.path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy, match="written by others") as caught, database.write():
        pass
    other.close()
    assert "\n" not in str(caught.value)
    with database.write() as writer:
        sessions.create(writer, "s")


def test_a_file_of_a_newer_refold_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "refold.db"
    Database(path).close()
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA user_version={len(schema.MIGRATIONS) + 1}")
    other.close()
    with pytest.raises(Refused, match="newer refold"):
        Database(path)


@pytest.mark.parametrize("application", [0, 7])
@pytest.mark.parametrize("version", [0, 1, len(schema.MIGRATIONS), 99, -1])
@pytest.mark.parametrize("table", ["CREATE TABLE theirs(a);", ""])
def test_another_programs_file_is_refused_before_a_byte_of_it_changes(tmp_path, application, version, table):
    if not (application or version or table):
        pytest.skip("an empty file is anybody's")
    path = tmp_path / "refold.db"
    other = sqlite3.connect(path)
    other.executescript(f"{table}PRAGMA application_id={application};PRAGMA user_version={version}")
    other.close()
    before = path.read_bytes()
    with pytest.raises(RefoldError, match="another program") as caught:
        Database(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["refold.db"]


@pytest.mark.parametrize("version", [0, -1])
def test_a_file_of_ours_with_a_version_that_none_wrote_is_left_alone(tmp_path, version):
    path = tmp_path / "refold.db"
    Database(path).close()
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA user_version={version}")
    other.close()
    with pytest.raises(RefoldError, match="left as it is"):
        Database(path)


@pytest.mark.parametrize("version", range(1, len(schema.MIGRATIONS)))
def test_a_file_of_an_older_refold_is_brought_to_the_newest_version(tmp_path, version):
    path = tmp_path / "refold.db"
    other = sqlite3.connect(path)
    other.executescript("".join(schema.MIGRATIONS[:version]))
    other.executescript(f"PRAGMA application_id={schema.APPLICATION};PRAGMA user_version={version}")
    other.close()
    with Database(path) as old, Database(tmp_path / "new.db") as new, old.read() as one, new.read() as two:
        tables = "SELECT name, sql FROM sqlite_schema ORDER BY name"
        assert one.all(tables) == two.all(tables)
        assert schema.version(one) == len(schema.MIGRATIONS)


def theirs(path):
    other = sqlite3.connect(path)
    other.executescript("CREATE TABLE theirs(a)")
    other.close()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.write_bytes(b"not a database, but long enough to look like one" * 30), "no refold database"),
        (theirs, "another program"),
        (lambda path: path.mkdir(), "cannot be used"),
    ],
)
def test_a_file_that_is_no_transcript_is_reported_in_one_line(tmp_path, make, words):
    path = tmp_path / "refold.db"
    make(path)
    with pytest.raises(RefoldError, match=words) as caught:
        Database(path)
    assert "\n" not in str(caught.value)


def test_a_closed_database_says_so(tmp_path):
    database = Database(tmp_path / "refold.db")
    database.close()
    with pytest.raises(RefoldError, match="was closed"), database.read():
        pass


OPEN_AND_WRITE = """
import sys
from pathlib import Path
from refold.transcript import sessions
from refold.transcript.database import Database
from refold.transcript.migrations import migrate
database = Database(Path(sys.argv[1]))
migrate(database, "x", "x", ["CREATE TABLE x(a INTEGER)", "INSERT INTO x VALUES(1)"])
for i in range(20):
    with database.write() as writer:
        sessions.create(writer, f"{sys.argv[2]}-{i}")
"""


def test_processes_that_open_a_new_home_at_once_all_work(tmp_path):
    path = tmp_path / "home" / "refold.db"
    running = [
        subprocess.Popen([sys.executable, "-c", OPEN_AND_WRITE, str(path), str(n)], stderr=subprocess.PIPE)
        for n in range(4)
    ]
    for process in running:
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, b"")
    with Database(path) as database, database.read() as reader:
        assert len(sessions.listing(reader)) == 80
        assert reader.all("SELECT a FROM x") == [(1,)]
