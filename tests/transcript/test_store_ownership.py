"""Who owns a store, and how long."""

from __future__ import annotations

import sqlite3

import pytest
from refold import NotFound, RefoldError, Row, SourceRef
from refold.transcript import schema, sessions
from refold.transcript.append import append
from refold.transcript.database import Database
from refold.transcript.migrations import migrate
from refold.transcript.ownership import Claim, Recorded, Taken, claim_stores, forget, owner_of, recorded, settle
from refold.transcript.rows import load_sources

ROLLING = {"rolling": Recorded("rolling", 1)}


@pytest.mark.parametrize(
    ("known", "tables", "wanted", "refused"),
    [
        ({}, [], [Claim("a", "a"), Claim("b", "b")], {}),
        ({}, [], [Claim("a", "x"), Claim("b", "x")], {"b": Taken("a", "x")}),
        ({}, [], [Claim("a", "x"), Claim("b", "x_y")], {"b": Taken("a", "x")}),
        ({}, [], [Claim("a", "x_y"), Claim("b", "x")], {"b": Taken("a", "x_y")}),
        ({}, [], [Claim("a", "x"), Claim("b", "xy")], {}),
        ({}, [], [Claim("a", "x", frozenset("b")), Claim("b", "x", frozenset("a"))], {}),
        ({}, [], [Claim("a", "x", frozenset("b")), Claim("b", "x_y", frozenset("a"))], {"b": Taken("a", "x")}),
        (ROLLING, ["rolling_state"], [Claim("rolling", "rolling")], {}),
        (ROLLING, [], [Claim("aaa", "rolling"), Claim("rolling", "rolling")], {"aaa": Taken("rolling", "rolling")}),
        (ROLLING, [], [Claim("aaa", "rolling")], {"aaa": Taken("rolling", "rolling")}),
        (ROLLING, [], [Claim("aaa", "rolling", frozenset({"rolling"}))], {}),
        (
            {"aaa": Recorded("aaa", 0), **ROLLING},
            [],
            [Claim("aaa", "rolling"), Claim("rolling", "rolling")],
            {"aaa": Taken("rolling", "rolling")},
        ),
        ({"a": Recorded("a", 2)}, ["a"], [Claim("a", "other")], {"a": Taken("a", "a")}),
        ({"a": Recorded("a", 0)}, [], [Claim("a", "other")], {}),
        (
            {"old": Recorded(None, 3)},
            ["old_t"],
            [Claim("aaa", "old"), Claim("old", "old")],
            {"aaa": Taken("old", "old")},
        ),
        ({}, ["stray_table"], [Claim("a", "stray")], {"a": Taken("", "stray")}),
        ({}, ["a"], [Claim("a", "a")], {"a": Taken("", "a")}),
    ],
    ids=[
        "free",
        "the first of two wins",
        "a longer name overlaps",
        "a shorter name overlaps",
        "names that only begin alike",
        "one requires the other",
        "one requires the other, but under another name",
        "recorded",
        "recorded comes before name order",
        "recorded and not installed",
        "requires the owner",
        "changes its store to another's",
        "changes its store with tables",
        "changes its store without tables",
        "from an older home",
        "tables of nobody known",
        "a table of nobody known",
    ],
)
def test_a_store_belongs_to_who_had_it_first(known, tables, wanted, refused):
    assert settle(known, tables, wanted) == refused


def test_what_was_claimed_stays_in_the_file_and_later_claims_are_held_against_it(database):
    assert claim_stores(database, [Claim("b", "x")]) == {}
    assert claim_stores(database, [Claim("a", "x"), Claim("b", "x")]) == {"a": Taken("b", "x")}
    with Database(database.path) as again:
        assert claim_stores(again, [Claim("a", "x")]) == {"a": Taken("b", "x")}
        with again.read() as reader:
            assert recorded(reader) == {"b": Recorded("x", 0)}
            assert owner_of(recorded(reader), "X_State") == "x"
            assert owner_of(recorded(reader), "xy") is None
            assert owner_of(recorded(reader), "refold_row") is None


def test_forgetting_an_extension_drops_its_tables_and_frees_its_names(database):
    claim_stores(database, [Claim("a", "x"), Claim("b", "y")])
    script = (
        "CREATE TABLE x_node(id INTEGER PRIMARY KEY, session TEXT REFERENCES sessions(id) ON DELETE CASCADE);"
        "CREATE TABLE x_edge(node NOT NULL REFERENCES x_node(id) ON DELETE CASCADE);"
        "CREATE VIRTUAL TABLE x_words USING fts5(word); CREATE VIEW x_all AS SELECT * FROM x_node;"
        "INSERT INTO x_node(id) VALUES(1); INSERT INTO x_edge VALUES(1); INSERT INTO x_words VALUES('fox')"
    )
    migrate(database, "a", "x", [script])
    migrate(database, "b", "y", ["CREATE TABLE y(a)"])
    assert sorted(forget(database, "a")) == ["x_all", "x_edge", "x_node", "x_words"]
    with database.read() as reader:
        assert reader.all("SELECT name FROM sqlite_schema WHERE name LIKE 'x%' OR name='y'") == [("y",)]
    with pytest.raises(NotFound):
        forget(database, "a")
    assert claim_stores(database, [Claim("c", "x")]) == {}


def test_forgetting_one_of_two_that_share_a_store_keeps_the_tables(database):
    claim_stores(database, [Claim("a", "x", frozenset("b")), Claim("b", "x", frozenset("a"))])
    migrate(database, "a", "x", ["CREATE TABLE x(a)"])
    assert forget(database, "a") == []
    assert forget(database, "b") == ["x"]


def older(path, version):
    """A home as the refold of that version left it, with a session and an extension's table."""
    other = sqlite3.connect(path)
    other.executescript("".join(schema.MIGRATIONS[:version]))
    other.executescript(
        f"PRAGMA application_id={schema.APPLICATION}; PRAGMA user_version={version};"
        "INSERT INTO sessions(id, created, family) VALUES('s', '2026-01-01T00:00:00Z', 1);"
        "INSERT INTO body VALUES(1, 0, 'kept words', NULL, '{\"step\":0}');"
        "INSERT INTO row VALUES(1, 1, 1, 'user', 1, 1, 0, 9);"
        "INSERT INTO choice VALUES('s', 'row', 1);"
        "CREATE TABLE row_state(session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE, n);"
        "CREATE INDEX row_by_n ON row_state(n); INSERT INTO row_state VALUES('s', 4);"
        "INSERT INTO extension_schema VALUES('row', 1);"
    )
    return other


@pytest.mark.parametrize("version", [1, 2])
def test_a_home_of_an_older_refold_keeps_its_sessions_and_what_extensions_stored(tmp_path, version):
    path = tmp_path / "refold.db"
    older(path, version).close()
    with Database(path) as database:
        assert claim_stores(database, [Claim("aaa", "row"), Claim("row", "row")]) == {"aaa": Taken("row", "row")}
        assert migrate(database, "row", "row", ["CREATE TABLE row_state(x)"]) == 0
        with database.write() as writer:
            append(writer, "s", [Row(SourceRef("", 0), "assistant", 0, 0, text="and more")])
            assert [each.text for each in load_sources(writer, "s", 0, 9)] == ["kept words", "and more"]
            assert writer.store("row").all("SELECT session, n FROM row_state") == [("s", 4)]
            assert sessions.find(writer, "s").id == "s"
            assert writer.all("PRAGMA foreign_key_check") == writer.all("SELECT 1 WHERE 0") == []
            assert writer.one("PRAGMA integrity_check") == ("ok",)


def test_a_table_that_stands_in_the_way_of_the_new_names_is_told_and_nothing_changes(tmp_path):
    path = tmp_path / "refold.db"
    other = older(path, 2)
    other.executescript("CREATE TABLE refold_row(a)")
    other.close()
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(RefoldError, match=r"refold_row\); it was left as it is; rename or drop") as caught:
            Database(path)
        assert "\n" not in str(caught.value)
    after = sqlite3.connect(path)
    assert after.execute("SELECT text FROM body").fetchall() == [("kept words",)]
    assert after.execute("PRAGMA user_version").fetchone() == (2,)
    after.close()
    assert len(path.read_bytes()) == len(before)
