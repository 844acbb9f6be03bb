from __future__ import annotations

import apsw
import pytest
from refold import Refused
from refold.transcript import sessions
from refold.transcript.deletion import delete
from refold.transcript.guard import one_statement
from refold.transcript.migrations import migrate

STATE = (
    "CREATE TABLE notes_state(id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE, seq INTEGER);"
    "CREATE INDEX notes_by_seq ON notes_state(seq);"
    "CREATE VIRTUAL TABLE notes_words USING fts5(word);"
    "CREATE TABLE notes_child(parent INTEGER REFERENCES notes_state(id) ON DELETE CASCADE);"
    "CREATE TRIGGER notes_added AFTER INSERT ON notes_state BEGIN"
    " INSERT INTO notes_child VALUES(new.id); INSERT INTO notes_words VALUES('word ' || new.seq); END"
)


@pytest.fixture
def notes(database):
    with database.write() as writer:
        sessions.create(writer, "s")
    migrate(database, "notes", "notes", [STATE])
    migrate(database, "other", "other", ["CREATE TABLE other_state(a)"])
    return database


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM notes_state",
        "select count(*) from NOTES_STATE;",
        "SELECT 'a;b', \"id\" FROM notes_state -- ; not a second one",
        "WITH part AS (SELECT seq FROM notes_state) SELECT count(*) FROM part",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5) SELECT i FROM n",
        "SELECT value FROM json_each('[1, 2]')",
        "SELECT word FROM notes_words WHERE notes_words MATCH 'word' ORDER BY rank",
        "INSERT INTO notes_state(session, seq) VALUES('s', 1) RETURNING id",
        "INSERT INTO notes_state(session, seq) SELECT session, seq FROM notes_state",
        "UPDATE notes_state SET seq=2",
        "DELETE FROM notes_state",
    ],
)
def test_an_extension_reads_and_writes_its_own_tables(notes, sql):
    with notes.write() as writer:
        writer.store("notes").execute("INSERT INTO notes_state(session, seq) VALUES('s', 7)")
        writer.store("notes").all(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM other_state",
        "SELECT count(*) FROM other_state",
        "SELECT count(*) FROM main.other_state",
        "SELECT text FROM refold_body",
        "SELECT count(*) FROM refold_row",
        "SELECT count(*) FROM refold_row /* refold_row AS ( */",
        "SELECT count(*) FROM refold_row -- WITH refold_row AS (",
        "SELECT count(*), 'refold_row AS (' FROM refold_row",
        'SELECT count(*) AS "refold_row AS (" FROM refold_row',
        "SELECT title FROM sessions",
        "SELECT * FROM notesy",
        "DELETE FROM sessions",
        "UPDATE refold_row SET tokens=0",
        "INSERT INTO other_state VALUES(1)",
        "COMMIT",
        "BEGIN",
        "SAVEPOINT mine",
        "PRAGMA user_version",
        "PRAGMA foreign_keys=OFF",
        "ATTACH ':memory:' AS elsewhere",
        "SELECT load_extension('x')",
        "SELECT * FROM sqlite_schema",
        "SELECT * FROM pragma_table_info('refold_row')",
        "CREATE TABLE notes_more(a)",
        "CREATE TEMP TABLE notes_temp(a)",
        "DROP TABLE notes_state",
        "ANALYZE notes_state",
        "SELECT 1; SELECT 2",
        "DELETE FROM notes_state; COMMIT",
    ],
)
def test_an_extension_touches_nothing_else(notes, sql):
    with notes.write() as writer:
        if "notesy" in sql:
            writer.execute("CREATE TABLE notesy(a)")
        with pytest.raises(Refused) as caught:
            writer.store("notes").all(sql)
        assert "\n" not in str(caught.value)
        assert "notes" in str(caught.value)
        assert writer.one("SELECT count(*) FROM sessions") == (1,)
        if "notesy" in sql:
            writer.execute("DROP TABLE notesy")


def test_a_statement_compiled_for_one_store_never_serves_another(notes):
    sql = "SELECT count(*) FROM other_state"
    with notes.read() as reader:
        for _ in range(3):
            assert reader.one(sql) == (0,)
            assert reader.store("other").one(sql) == (0,)
            with pytest.raises(Refused):
                reader.store("notes").one(sql)


def test_a_snapshot_cannot_be_written_through_a_store(notes):
    with notes.read() as reader, pytest.raises(Exception, match="readonly"):
        reader.store("notes").all("DELETE FROM notes_state")


def test_the_foreign_key_to_sessions_is_checked(notes):
    with pytest.raises(Exception, match="FOREIGN KEY"), notes.write() as writer:
        writer.store("notes").execute("INSERT INTO notes_state(session, seq) VALUES('nobody', 1)")


@pytest.mark.parametrize("name", ["", "Notes", "no-tes", "1notes", "notes*/", "_notes"])
def test_a_store_has_a_plain_name(database, name):
    with database.read() as reader, pytest.raises(Refused):
        reader.store(name)


@pytest.mark.parametrize(
    ("sql", "one"),
    [
        ("SELECT 1", True),
        ("SELECT 1 ; ", True),
        ("SELECT ';' /* ; */ -- ;", True),
        ('SELECT [a;b], `c;d`, "e;""f" FROM x', True),
        ("SELECT 1; SELECT 2", False),
        ("SELECT 'it''s'; DELETE FROM x", False),
    ],
)
def test_statements_are_counted_outside_of_quotes_and_comments(sql, one):
    assert one_statement(sql) is one


def test_migrations_run_once_each_and_go_on_where_they_ended(database):
    scripts = ["CREATE TABLE x(a)", "ALTER TABLE x ADD COLUMN b INTEGER NOT NULL DEFAULT 3; INSERT INTO x(a) VALUES(1)"]
    assert migrate(database, "x", "x", scripts[:1]) == 1
    assert migrate(database, "x", "x", scripts) == 1
    assert migrate(database, "x", "x", scripts) == 0
    with database.read() as reader:
        assert reader.all("SELECT a, b FROM x") == [(1, 3)]


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE x_new(a); CREATE TABLE nonsense nonsense",
        "CREATE TABLE x_new(a); CREATE TABLE foreign_name(a)",
        "CREATE TABLE x_new(a); DROP TABLE refold_row",
        "CREATE TABLE x_new(a); CREATE INDEX x_i ON refold_row(kind)",
        "CREATE TABLE x_new(a); CREATE TRIGGER x_t AFTER INSERT ON refold_row BEGIN DELETE FROM x; END",
        "CREATE TRIGGER x_t AFTER INSERT ON x BEGIN DELETE FROM refold_row; END; INSERT INTO x VALUES(1)",
        "CREATE TRIGGER x_t AFTER INSERT ON x BEGIN DELETE FROM refold_row; END",
        "CREATE TRIGGER x_t AFTER UPDATE OF a ON x BEGIN UPDATE refold_body SET text=''; END",
        "CREATE TRIGGER x_t AFTER DELETE ON x BEGIN DELETE FROM refold_row; END",
        "CREATE TRIGGER x_t BEFORE DELETE ON x WHEN (SELECT count(*) FROM refold_row)>0 BEGIN SELECT 1; END",
        "CREATE TRIGGER x_t AFTER DELETE ON x BEGIN DELETE FROM x_later; END",
        "CREATE TABLE x_p(a UNIQUE); CREATE TABLE x_new(a REFERENCES x_p(a))",
        "CREATE TABLE x_p(a UNIQUE); CREATE TABLE x_new(a REFERENCES x_p(a) ON DELETE RESTRICT)",
        "CREATE TABLE x_p(a UNIQUE); CREATE TABLE x_new(a REFERENCES x_p(a) DEFERRABLE INITIALLY DEFERRED)",
        "CREATE TABLE x_p(a UNIQUE); CREATE TABLE x_new(a NOT NULL REFERENCES x_p(a) ON DELETE SET NULL)",
        "CREATE TABLE x_p(a UNIQUE); CREATE TABLE x_new(b DEFAULT 1 REFERENCES x_p(a) ON DELETE SET DEFAULT)",
        "CREATE TABLE x_p(a); CREATE TABLE x_new(a REFERENCES x_p(a) ON DELETE CASCADE)",
        "CREATE TABLE x_new(a REFERENCES x_nowhere(a))",
        "CREATE TABLE x_new(session TEXT REFERENCES sessions(id))",
        "CREATE TABLE x_new(a REFERENCES sessions(key) ON DELETE CASCADE)",
        "CREATE TABLE x_new(a REFERENCES refold_row(seq) ON DELETE CASCADE)",
        "CREATE TABLE x_new(a REFERENCES refold_body ON DELETE CASCADE)",
        "ALTER TABLE x ADD COLUMN b REFERENCES x",
        "CREATE TABLE x_new(a); ALTER TABLE refold_body RENAME TO x_body",
        "CREATE TABLE x_new(a); COMMIT",
        "CREATE TABLE x_new(a); PRAGMA user_version=99",
    ],
)
def test_a_migration_that_fails_or_reaches_out_is_undone(database, script):
    migrate(database, "x", "x", ["CREATE TABLE x(a)"])
    with pytest.raises(Refused, match="migration 2 of x failed") as caught:
        migrate(database, "x", "x", ["CREATE TABLE x(a)", script])
    assert "\n" not in str(caught.value)
    with database.read() as reader:
        assert reader.all("SELECT name FROM sqlite_schema WHERE name LIKE 'x%' ORDER BY name") == [("x",)]
        assert reader.one("SELECT version FROM refold_extension WHERE id='x'") == (1,)
    assert migrate(database, "x", "x", ["CREATE TABLE x(a)", "CREATE TABLE x_new(a)"]) == 1


def test_a_migration_may_make_what_a_deletion_can_follow(database, row, fill):
    script = (
        "CREATE TABLE x_node(id INTEGER PRIMARY KEY, session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,"
        " parent INTEGER REFERENCES x_node(id) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,"
        ' twice AS (id * 2), "odd ""name" TEXT);'
        "CREATE TABLE x_edge(node INTEGER NOT NULL REFERENCES X_Node ON DELETE CASCADE, PRIMARY KEY(node));"
        "CREATE TABLE x_count(n INTEGER NOT NULL);"
        "CREATE VIRTUAL TABLE x_words USING fts5(word);"
        "CREATE TRIGGER x_gone AFTER DELETE ON x_node BEGIN INSERT INTO x_count VALUES(old.id);"
        " DELETE FROM x_words WHERE rowid=old.id; END"
    )
    assert migrate(database, "x", "x", [script]) == 1
    fill("s", row("user"))
    with database.write() as writer:
        own = writer.store("x")
        first = own.execute("INSERT INTO x_node(session) VALUES('s')")
        own.execute("INSERT INTO x_node(session, parent) VALUES('s', ?)", first)
        own.execute("INSERT INTO x_words(rowid, word) VALUES(?, 'word')", first)
        own.execute("INSERT INTO x_edge VALUES(?)", first)
    assert delete(database, "s") == 1
    with database.read() as reader:
        found = reader.all("SELECT (SELECT count(*) FROM x_node), (SELECT count(*) FROM x_edge), count(*) FROM x_count")
        assert found == [(0, 0, 2)]
        assert reader.store("x").all("SELECT word FROM x_words WHERE x_words MATCH 'word'") == []


ENDING = (
    "CREATE TABLE x(a UNIQUE);"
    "CREATE TRIGGER x_ends BEFORE DELETE ON x BEGIN SELECT RAISE(ROLLBACK, 'over'); END;"
    "INSERT INTO x VALUES(1)"
)


@pytest.mark.parametrize("sql", ["INSERT OR ROLLBACK INTO x VALUES(1)", "DELETE FROM x"])
def test_a_transaction_that_an_extension_ended_fails_as_a_whole(database, sql):
    migrate(database, "x", "x", [ENDING])

    def swallow(writer):
        sessions.create(writer, "first")
        own = writer.store("x")
        with pytest.raises(apsw.ConstraintError):
            own.execute(sql)
        for write in (own.all, own.execute, own.script, writer.execute):
            with pytest.raises(Refused, match="nothing of this transaction was written"):
                write("INSERT INTO x VALUES(2)")
        with pytest.raises(Refused), writer.savepoint():
            pass

    def ends():
        with database.write() as writer:
            swallow(writer)

    with pytest.raises(Refused, match="nothing of this transaction was written") as caught:
        ends()
    assert "\n" not in str(caught.value)
    with database.write() as writer:
        assert writer.all("SELECT a FROM x") == [(1,)]
        assert sessions.listing(writer) == []
        sessions.create(writer, "next")


def test_a_savepoint_around_a_transaction_that_was_ended_tells_the_first_reason(database):
    migrate(database, "x", "x", [ENDING])
    with pytest.raises(apsw.ConstraintError, match="over"), database.write() as writer, writer.savepoint():
        writer.store("x").execute("DELETE FROM x")


def test_a_writer_that_was_kept_writes_nothing_later(notes):
    with notes.write() as writer:
        kept = writer.store("notes")
    late = [lambda: kept.execute("DELETE FROM notes_state"), lambda: kept.script("DROP TABLE notes_state")]
    late += [lambda: kept.one("SELECT 1"), lambda: writer.execute("DELETE FROM sessions")]
    for write in late:
        with pytest.raises(Refused, match="this transaction is over"):
            write()
    with notes.write():
        for write in late:
            with pytest.raises(Refused, match="this transaction is over"):
                write()
    with notes.read() as reader:
        assert reader.one("SELECT count(*) FROM sessions") == (1,)


def test_tables_newer_than_the_code_are_left_alone(database):
    migrate(database, "x", "x", ["CREATE TABLE x(a)", "CREATE TABLE x_two(a)"])
    with pytest.raises(Refused, match="newer"):
        migrate(database, "x", "x", ["CREATE TABLE x(a)"])
