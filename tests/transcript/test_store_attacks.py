"""What an extension might try against the transcript or another's tables, each from a migration or a statement."""

from __future__ import annotations

import sqlite3

import pytest
from refold import Refused
from refold.transcript import sessions
from refold.transcript.append import append
from refold.transcript.database import Database
from refold.transcript.deletion import delete
from refold.transcript.guard import store_fault
from refold.transcript.migrations import migrate
from refold.transcript.ownership import Claim, claim_stores, recorded
from refold.transcript.rows import load_sources

SECRET = "the words of a person"


@pytest.fixture
def home(database, row):
    """A transcript with a secret in it, the extension `mine`, and the extension `theirs` with a table of its own."""
    with database.write() as writer:
        sessions.create(writer, "s")
        append(writer, "s", [row("user", SECRET, opens=True)])
    claim_stores(database, [Claim("mine", "mine"), Claim("theirs", "theirs")])
    migrate(database, "mine", "mine", ["CREATE TABLE mine(a, session TEXT REFERENCES sessions(id) ON DELETE CASCADE)"])
    migrate(database, "theirs", "theirs", ["CREATE TABLE theirs(a); INSERT INTO theirs VALUES('a secret')"])
    return database


def everything(database):
    """The whole file but for what belongs to `mine`."""
    with database.read() as reader:
        names = [name for (name,) in reader.all("SELECT name FROM sqlite_schema WHERE type='table' ORDER BY name")]
        others = [name for name in names if not name.startswith("mine") and name != "refold_extension"]
        schema = reader.all("SELECT * FROM sqlite_schema WHERE name NOT LIKE '%mine%' ORDER BY name")
        return schema, {name: reader.all(f'SELECT * FROM "{name}"') for name in others}


@pytest.mark.parametrize(
    "name",
    [
        *("refold", "refold_x", "sessions", "sessions_x", "sqlite", "sqlite_x", "pragma", "pragma_x", "json", "dbstat"),
        *("", "Mine", "mi-ne", "1mine", "_mine", "mïne", "mine\n", "mine*/", 'mine"', "m" * 65, "ｍine", "main.mine"),
    ],
)
def test_a_store_is_never_named_like_tables_of_the_host_or_of_sqlite(database, name):
    assert store_fault(name)
    with database.write() as writer, pytest.raises(Refused):
        writer.store(name)


@pytest.mark.parametrize(
    "name", ["row", "body", "image", "picture", "request", "snapshot", "head", "lease", "choice", "temp", "session"]
)
def test_a_store_named_like_anything_else_sees_nothing_of_the_host(home, name):
    before = everything(home)
    migrate(home, name, name, [f"CREATE TABLE {name}_state(a)"])
    with home.write() as writer:
        own = writer.store(name)
        own.execute(f"INSERT INTO {name}_state VALUES(1)")
        for table in ("refold_row", "refold_body", "refold_image", "theirs"):
            for sql in ("SELECT * FROM {}", "SELECT count(*) FROM {}", "DELETE FROM {}"):
                with pytest.raises(Refused):
                    own.all(sql.format(table))
    schema, rows = everything(home)
    assert rows.pop(f"{name}_state") == [(1,)]
    assert [each for each in schema if not each[1].startswith(f"{name}_")] == before[0]
    assert rows == before[1]


STATEMENTS = {
    "read": "SELECT text FROM refold_body",
    "count": "SELECT count(*) FROM refold_row",
    "rowid": "SELECT rowid FROM refold_body",
    "qualified": "SELECT text FROM main.refold_body",
    "upper case": "SELECT text FROM REFOLD_BODY",
    "double quotes": 'SELECT text FROM "refold_body"',
    "brackets": "SELECT text FROM [refold_body]",
    "backticks": "SELECT text FROM `refold_body`",
    "alias": "SELECT mine.text FROM refold_body AS mine",
    "join": "SELECT 1 FROM mine, refold_row",
    "subquery": "SELECT (SELECT text FROM refold_body) FROM mine",
    "exists": "SELECT EXISTS(SELECT 1 FROM theirs)",
    "a WITH of the same name elsewhere": (
        "SELECT (WITH refold_row AS (SELECT 1) SELECT count(*) FROM refold_row), (SELECT count(*) FROM refold_row)"
    ),
    "a WITH of the same name around main": "WITH theirs AS (SELECT 1) SELECT count(*) FROM main.theirs",
    "through WITH": "WITH mine_x AS (SELECT text FROM refold_body) SELECT count(*) FROM mine_x",
    "recursive": "WITH RECURSIVE t(x) AS (SELECT text FROM refold_body UNION ALL SELECT x FROM t) SELECT x FROM t",
    "explain": "EXPLAIN SELECT text FROM refold_body",
    "insert select": "INSERT INTO mine(a) SELECT text FROM refold_body",
    "update from": "UPDATE mine SET a=text FROM refold_body",
    "returning": "INSERT INTO mine(a) VALUES(1) RETURNING (SELECT text FROM refold_body)",
    "upsert": "INSERT INTO theirs VALUES(1) ON CONFLICT DO NOTHING",
    "replace": "REPLACE INTO refold_row(session, seq) VALUES(1, 1)",
    "delete": "DELETE FROM refold_row",
    "delete a session": "DELETE FROM sessions WHERE id='s'",
    "rename a session": "UPDATE sessions SET id='t'",
    "titles": "SELECT title FROM sessions",
    "table": "CREATE TABLE mine_x(a)",
    "temporary table": "CREATE TEMP TABLE mine_x AS SELECT text FROM refold_body",
    "temporary view": "CREATE TEMP VIEW mine AS SELECT text FROM refold_body",
    "temporary trigger": "CREATE TEMP TRIGGER mine_t AFTER INSERT ON refold_row BEGIN SELECT 1; END",
    "drop": "DROP TABLE mine",
    "schema": "SELECT sql FROM sqlite_schema",
    "schema by its old name": "SELECT sql FROM sqlite_master",
    "schema of temp": "SELECT sql FROM sqlite_temp_schema",
    "count of the schema": "SELECT count(*) FROM sqlite_master",
    "sequence": "UPDATE sqlite_sequence SET seq=0",
    "pragma": "PRAGMA writable_schema=ON",
    "pragma as a table": "SELECT * FROM pragma_table_list",
    "count of a pragma": "SELECT count(*) FROM pragma_table_info('refold_row')",
    "page sizes": "SELECT * FROM dbstat",
    "count of pages": "SELECT count(*) FROM dbstat",
    "attach": "ATTACH 'stolen.db' AS mine",
    "detach": "DETACH main",
    "vacuum": "VACUUM",
    "vacuum into": "VACUUM INTO 'stolen.db'",
    "analyze": "ANALYZE refold_row",
    "reindex": "REINDEX refold_picture_key",
    "code": "SELECT load_extension('evil.so')",
    "begin": "BEGIN",
    "commit": "COMMIT",
    "rollback": "ROLLBACK",
    "savepoint": "SAVEPOINT part",
    "release": "RELEASE part",
    "two statements": "SELECT 1; DELETE FROM refold_row",
    "behind a comment": "SELECT 1 /* ; */; DELETE FROM refold_row",
    "an end of our comment": "*/ DELETE FROM refold_row",
}

OF_SQLITE = {
    "vacuum": "cannot VACUUM from within a transaction",
    "vacuum into": "cannot VACUUM from within a transaction",
    "an end of our comment": "syntax error",
}
"""What SQLite itself refuses."""


@pytest.mark.parametrize("attack", STATEMENTS)
def test_no_statement_reaches_out_of_its_store(home, attack, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = everything(home)
    words = OF_SQLITE.get(attack, "SQL of store mine was not run")
    with home.write() as writer, pytest.raises(Exception, match=words):
        writer.store("mine").all(STATEMENTS[attack])
    with home.read() as reader:
        with pytest.raises(Exception, match=words):
            reader.store("mine").all(STATEMENTS[attack])
        assert reader.store("mine").all("SELECT count(*) FROM mine") == [(0,)]
    assert everything(home) == before
    assert not (tmp_path / "stolen.db").exists()


SCRIPTS = {
    "drops": "DROP TABLE refold_row",
    "drops sessions": "DROP TABLE sessions",
    "drops theirs": "DROP TABLE theirs",
    "alters": "ALTER TABLE refold_body ADD COLUMN mine",
    "takes by renaming": "ALTER TABLE refold_body RENAME TO mine_body",
    "gives by renaming": "ALTER TABLE mine RENAME TO theirs_state",
    "renames to a host name": "ALTER TABLE mine RENAME TO refold_new",
    "renames to nobody's": "ALTER TABLE mine RENAME TO other",
    "makes theirs": "CREATE TABLE theirs_more(a)",
    "makes a host table": "CREATE TABLE refold_later(a)",
    "makes nobody's": "CREATE TABLE other(a)",
    "quotes theirs": 'CREATE TABLE "Theirs_x"(a)',
    "copies": "CREATE TABLE mine_x AS SELECT text FROM refold_body",
    "inserts": "INSERT INTO mine(a) SELECT text FROM refold_body",
    "reads through a view": (
        "CREATE VIEW mine_v AS SELECT text FROM refold_body; INSERT INTO mine(a) SELECT text FROM mine_v"
    ),
    "view as a trigger's source": (
        "CREATE VIEW mine_v AS SELECT text FROM refold_body;"
        "CREATE TRIGGER mine_t AFTER DELETE ON mine BEGIN INSERT INTO mine(a) SELECT text FROM mine_v; END"
    ),
    "trigger on the host": "CREATE TRIGGER mine_t AFTER INSERT ON refold_row BEGIN DELETE FROM mine; END",
    "trigger of the host's deletion": "CREATE TRIGGER mine_t AFTER DELETE ON mine BEGIN DELETE FROM refold_row; END",
    "trigger on sessions": "CREATE TRIGGER mine_t AFTER DELETE ON sessions BEGIN DELETE FROM mine; END",
    "temporary trigger": "CREATE TEMP TRIGGER mine_t AFTER INSERT ON mine BEGIN DELETE FROM refold_row; END",
    "index on the host": "CREATE INDEX mine_i ON refold_row(kind)",
    "index named like the host's": "CREATE INDEX refold_i ON mine(a)",
    "unique index on the host": "CREATE UNIQUE INDEX mine_i ON sessions(created)",
    "drops an index": "DROP INDEX refold_picture_key",
    "temporary table": "CREATE TEMP TABLE mine_x(a)",
    "restarts the ids": "DELETE FROM sqlite_sequence",
    "moves the ids": "UPDATE sqlite_sequence SET seq=7 WHERE name='sessions'",
    "plants ids": "INSERT INTO sqlite_sequence(name, seq) VALUES('theirs', 7)",
    "writes the schema": "UPDATE sqlite_schema SET sql='CREATE TABLE mine(b)' WHERE name='mine'",
    "unlocks the schema": "PRAGMA writable_schema=ON",
    "foreign keys off": "PRAGMA foreign_keys=OFF",
    "version": "PRAGMA user_version=99",
    "attach": "ATTACH 'stolen.db' AS mine",
    "statistics": "CREATE TABLE mine_x(a); ANALYZE",
    "ends the transaction": "CREATE TABLE mine_x(a); COMMIT; DROP TABLE refold_row",
    "refers to rows": "CREATE TABLE mine_x(a REFERENCES refold_row(seq) ON DELETE CASCADE)",
    "refers to theirs": "CREATE TABLE mine_x(a REFERENCES theirs(a) ON DELETE CASCADE)",
    "full text of the transcript": "CREATE VIRTUAL TABLE mine_f USING fts5(text, content='refold_body')",
    "full text of theirs": "CREATE VIRTUAL TABLE mine_f USING fts5(a, content='theirs')",
    "full text that a deletion fills": (
        "CREATE VIRTUAL TABLE mine_f USING fts5(text, content='refold_body');"
        "CREATE TRIGGER mine_t AFTER DELETE ON mine BEGIN INSERT INTO mine_f(mine_f) VALUES('rebuild'); END"
    ),
    "full text named like theirs": "CREATE VIRTUAL TABLE theirs_f USING fts5(text)",
    "words of another's full text": "CREATE VIRTUAL TABLE mine_v USING fts5vocab('theirs', 'row')",
    "pages": "CREATE VIRTUAL TABLE mine_v USING dbstat",
    "another module": "CREATE VIRTUAL TABLE mine_v USING rtree(a, b, c)",
    "kelvin sign": 'CREATE TABLE "refold_boo\u212a"(a)',
}


@pytest.mark.parametrize("attack", SCRIPTS)
def test_no_migration_reaches_out_of_its_store(home, attack, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = everything(home)
    scripts = ["CREATE TABLE mine(a, session TEXT REFERENCES sessions(id) ON DELETE CASCADE)", SCRIPTS[attack]]
    with pytest.raises(Refused, match="migration 2 of mine failed") as caught:
        migrate(home, "mine", "mine", scripts)
    assert "\n" not in str(caught.value)
    assert everything(home) == before
    with home.read() as reader:
        assert recorded(reader)["mine"].version == 1
        assert [r.text for r in load_sources(reader, "s", 0, 9)] == [SECRET]
    assert not (tmp_path / "stolen.db").exists()
    with home.write() as writer:
        sessions.create(writer, "after")
        writer.store("mine").execute("INSERT INTO mine(a, session) VALUES(1, 'after')")
    assert delete(home, "after") == 0


def test_a_full_text_table_of_its_own_works_with_its_shadow_tables(home):
    script = (
        "CREATE VIRTUAL TABLE mine_words USING fts5(a, content='mine', content_rowid='rowid');"
        "CREATE VIRTUAL TABLE mine_plain USING fts5(word);"
        "CREATE TRIGGER mine_in AFTER INSERT ON mine BEGIN"
        " INSERT INTO mine_words(rowid, a) VALUES(new.rowid, new.a); END;"
        "CREATE TRIGGER mine_out AFTER DELETE ON mine BEGIN"
        " INSERT INTO mine_words(mine_words, rowid, a) VALUES('delete', old.rowid, old.a); END"
    )
    first = "CREATE TABLE mine(a, session TEXT REFERENCES sessions(id) ON DELETE CASCADE)"
    migrate(home, "mine", "mine", [first, script])
    with home.write() as writer:
        own = writer.store("mine")
        own.execute("INSERT INTO mine VALUES('a red fox', 's')")
        own.execute("INSERT INTO mine_plain VALUES('a blue fox')")
        own.execute("INSERT INTO mine_words(mine_words) VALUES('optimize')")
        assert own.all("SELECT a FROM mine_words WHERE mine_words MATCH 'fox'") == [("a red fox",)]
        assert own.all("SELECT count(*) FROM mine_plain_content") == [(1,)]
        with pytest.raises(Refused):
            writer.store("theirs").all("SELECT * FROM mine_words_data")
    delete(home, "s")
    with home.read() as reader:
        assert reader.store("mine").all("SELECT count(*) FROM mine_words WHERE mine_words MATCH 'fox'") == [(0,)]
    migrate(
        home,
        "mine",
        "mine",
        [first, script, "DROP TABLE mine_words; DROP TABLE mine_plain; DROP TRIGGER mine_in; DROP TRIGGER mine_out"],
    )
    with home.read() as reader:
        assert reader.all("SELECT name FROM sqlite_schema WHERE name LIKE 'mine%'") == [("mine",)]


def test_a_trigger_deletes_with_the_rights_of_its_store_when_the_host_deletes(home):
    """Such a trigger cannot come in by a migration; were it there, the host would not run it with its own rights."""
    with home.write() as writer:
        writer.store("mine").execute("INSERT INTO mine VALUES(1, 's')")
    other = sqlite3.connect(home.path)
    other.execute("CREATE TRIGGER mine_t AFTER DELETE ON mine BEGIN DELETE FROM theirs; END")
    other.close()
    with pytest.raises(Refused, match="session s is hidden, but mine cannot let its rows go"):
        delete(home, "s")
    with home.read() as reader:
        assert reader.all("SELECT a FROM theirs") == [("a secret",)]


def test_a_statement_sees_tables_as_soon_as_they_are_there_and_no_longer(home):
    with Database(home.path) as other:
        first = "CREATE TABLE mine(a, session TEXT REFERENCES sessions(id) ON DELETE CASCADE)"
        with home.read() as reader:
            assert reader.store("mine").all("WITH mine_new AS (SELECT 1 AS b) SELECT count(*) FROM mine_new") == [(1,)]
        migrate(other, "mine", "mine", [first, "CREATE TABLE mine_new(a)"])
        with home.read() as reader:
            assert reader.store("mine").all("SELECT count(*) FROM mine_new") == [(0,)]
        with pytest.raises(Refused):
            migrate(other, "mine", "mine", [first, "CREATE TABLE mine_new(a)", "DROP TABLE mine_new; nonsense"])
        migrate(other, "mine", "mine", [first, "CREATE TABLE mine_new(a)", "DROP TABLE mine_new"])
        with home.read() as reader, pytest.raises(Exception, match="no such table"):
            reader.store("mine").all("SELECT count(*) FROM mine_new")
