from __future__ import annotations

import threading
import time

import apsw
import pytest
from refold import NotFound, Refused
from refold.transcript import database as database_module
from refold.transcript import deletion, sessions, state
from refold.transcript.append import append
from refold.transcript.deletion import delete, finish_deletions
from refold.transcript.fork import fork
from refold.transcript.migrations import migrate
from refold.transcript.requests import record
from refold.transcript.rows import load_sources

HOST_TABLES = (
    "refold_row",
    "refold_body",
    "refold_picture",
    "refold_spawn",
    "refold_choice",
    "refold_revision",
    "refold_snapshot",
    "refold_head",
    "refold_lease",
    "refold_request",
    "refold_origin",
)


def counts(database, *tables):
    with database.read() as reader:
        return {table: reader.one(f"SELECT count(*) FROM {table}")[0] for table in tables}


def test_nothing_of_a_deleted_session_is_left(database, row, fill):
    fill("s", *[row("user", opens=True) for _ in range(150)], row("event", "kid", event="spawned"))
    with database.write() as writer:
        state.set_choice(writer, "s", "lcm", False)
        state.bump(writer, "s", "lcm")
        state.set_snapshot(writer, "s", "{}")
        state.set_head(writer, "s", "{}")
        state.set_origin(writer, "s", "file", 3)
        record(writer, "s", "answer", "m", 3, 0, 9)
    assert delete(database, "s") == 151
    assert counts(database, *HOST_TABLES, "sessions") == dict.fromkeys((*HOST_TABLES, "sessions"), 0)


@pytest.mark.parametrize("order", [("s", "b", "c"), ("c", "b", "s"), ("b", "s", "c")])
def test_bodies_live_as_long_as_any_fork_shows_them(database, row, fill, order):
    fill("s", *[row("user", str(n), opens=True) for n in range(200)])
    fork(database, "s", 150, "b")
    fork(database, "b", 100, "c")
    for name in "sbc":
        fill(name, *[row("user", f"{name} {n}", opens=True) for n in range(70)])
    expected = {"s": 270, "b": 220, "c": 170}
    for n, gone in enumerate(order):
        assert delete(database, gone) == expected[gone]
        with database.read() as reader:
            for kept in order[n + 1 :]:
                texts = [r.text for r in load_sources(reader, kept, 0, 999)]
                shared = expected[kept] - 70
                assert texts == [*map(str, range(shared)), *(f"{kept} {i}" for i in range(70))]
            dangling = reader.one("SELECT count(*) FROM refold_row WHERE body NOT IN (SELECT id FROM refold_body)")
            orphans = reader.one("SELECT count(*) FROM refold_body WHERE id NOT IN (SELECT body FROM refold_row)")
            assert (dangling, orphans) == ((0,), (0,))
    assert counts(database, "refold_row", "refold_body") == {"refold_row": 0, "refold_body": 0}


def test_forks_and_children_live_on_without_a_parent(database, row, fill):
    fill("s", row("user"))
    fork(database, "s", 1, "branch")
    with database.write() as writer:
        sessions.create(writer, "child", parent="s")
    delete(database, "s")
    with database.read() as reader:
        assert [(b.session.id, b.session.parent) for b in sessions.tree(reader)] == [("branch", None), ("child", None)]


def test_state_of_extensions_goes_whatever_its_tables_look_like(database, row, fill):
    session = "session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE"
    script = (
        f"CREATE TABLE x_plain({session}, n INTEGER);"
        f"CREATE TABLE x_keyed({session}, n INTEGER, PRIMARY KEY(session, n)) WITHOUT ROWID;"
        f"CREATE TABLE x_node(id INTEGER PRIMARY KEY, {session});"
        f"CREATE TABLE x_edge({session}, node INTEGER NOT NULL REFERENCES x_node(id) ON DELETE CASCADE);"
        "CREATE TABLE x_loose(node INTEGER REFERENCES x_node(id) ON DELETE SET NULL);"
        "CREATE TABLE x_inner(node INTEGER NOT NULL REFERENCES x_node(id) ON DELETE CASCADE)"
    )
    migrate(database, "x", "x", [script])
    fill("s", row("user"))
    fill("t", row("user"))
    with database.write() as writer:
        for name in ("s", "t"):
            for n in range(100):
                writer.execute("INSERT INTO x_plain VALUES(?, ?)", name, n)
                writer.execute("INSERT INTO x_keyed VALUES(?, ?)", name, n)
                node = writer.execute("INSERT INTO x_node(session) VALUES(?)", name)
                writer.execute("INSERT INTO x_edge VALUES(?, ?)", name, node)
                writer.execute("INSERT INTO x_inner VALUES(?)", node)
                writer.execute("INSERT INTO x_loose VALUES(?)", node)
    delete(database, "s")
    tables = ("x_plain", "x_keyed", "x_node", "x_edge", "x_inner")
    assert counts(database, *tables, "x_loose") == {**dict.fromkeys(tables, 100), "x_loose": 200}


def pin(database):
    """A table whose rows of session s are held by another, as no migration may leave it."""
    session = "session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE"
    with database.write() as writer:
        writer.execute(f"CREATE TABLE x(id INTEGER PRIMARY KEY, {session})")
        writer.execute("CREATE TABLE x_pin(x REFERENCES x)")
        writer.execute("INSERT INTO x(id, session) VALUES(1, 's')")
        writer.execute("INSERT INTO x_pin VALUES(1)")


@pytest.mark.parametrize("body", ["RAISE(ABORT, 'mine')", "RAISE(ROLLBACK, 'mine')", "RAISE(IGNORE)"])
def test_a_trigger_that_holds_on_to_a_session_ends_in_one_line_and_keeps_nobody_from_the_others(
    database, row, fill, body
):
    fill("s", *[row("user") for _ in range(3)])
    fill("t", row("user"))
    pin(database)
    with database.write() as writer:
        writer.execute("DELETE FROM x_pin")
        writer.execute(f"CREATE TRIGGER x_holds BEFORE DELETE ON x BEGIN SELECT {body}; END")
    with pytest.raises(Refused, match="session s is hidden") as caught:
        delete(database, "s")
    assert "\n" not in str(caught.value)
    (left,) = finish_deletions(database)
    assert "session s is hidden" in left
    fill("t", row("user"))
    assert delete(database, "t") == 2


def test_deletions_that_find_the_file_busy_are_left_for_later(database, row, fill, monkeypatch):
    fill("s", row("user"))
    with database.write() as writer:
        writer.execute("UPDATE sessions SET hidden=1")
    monkeypatch.setattr(database_module, "PATIENCE", 0.05)
    other = apsw.Connection(str(database.path))
    other.execute("BEGIN IMMEDIATE")
    (left,) = finish_deletions(database)
    other.close()
    assert "written by others" in left
    assert finish_deletions(database) == []
    assert counts(database, "sessions") == {"sessions": 0}


def test_state_that_cannot_go_is_reported_and_the_session_stays_hidden(database, row, fill):
    fill("s", row("user"))
    pin(database)
    with pytest.raises(Refused, match="x cannot let its rows go"):
        delete(database, "s")
    (left,) = finish_deletions(database)
    assert "session s" in left
    assert "x cannot let its rows go" in left
    with database.write() as writer:
        writer.execute("DELETE FROM x_pin")
    assert finish_deletions(database) == []
    assert set(counts(database, "sessions", "refold_row", "refold_body", "x").values()) == {0}


def test_a_deletion_that_died_is_hidden_at_once_and_finished_later(database, row, fill, monkeypatch):
    fill("s", *[row("user", "text", opens=True) for _ in range(300)])
    fill("t", row("user", "text"))
    calls = []

    def dying(writer, key):
        calls.append(key)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(writer, key)

    original = deletion._remove_rows
    monkeypatch.setattr(deletion, "SLICE", 0.0)
    monkeypatch.setattr(deletion, "_remove_rows", dying)
    with pytest.raises(KeyboardInterrupt):
        delete(database, "s")
    monkeypatch.setattr(deletion, "_remove_rows", original)
    with database.read() as reader:
        assert [listed.session.id for listed in sessions.listing(reader)] == ["t"]
        for ask in (lambda: sessions.find(reader, "s"), lambda: load_sources(reader, "s", 0, 9)):
            with pytest.raises(NotFound):
                ask()
    with pytest.raises(NotFound):
        fill("s", row("user"))
    with pytest.raises(NotFound):
        fork(database, "s", 1)
    assert finish_deletions(database) == []
    assert counts(database, "sessions") == {"sessions": 1}
    assert finish_deletions(database) == []
    assert set(counts(database, "sessions", "refold_row", "refold_body").values()) == {1}


def test_other_writers_get_their_turn_between_slices(database, row, fill):
    fill("s", *[row("user", "text " * 200, opens=True) for _ in range(6000)])
    fill("t", row("user"))
    waits, done = [], threading.Event()

    def write():
        while not done.is_set():
            start = time.perf_counter()
            with database.write() as writer:
                append(writer, "t", [row("user")])
            waits.append(time.perf_counter() - start)
            time.sleep(0.001)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        delete(database, "s")
    finally:
        done.set()
        thread.join()
    assert len(waits) > 1, "nobody else wrote while the session was deleted"
