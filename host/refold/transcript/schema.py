"""The tables of the host, and how a file gets them.

They are called `refold_...`, which no table of an extension may be, and `sessions`, which those refer to.

`refold_row` is a light reference, keyed and ordered by session and seq; `turn`, `images` and `tokens` are *running*
totals over rows 1..seq, so the size of any range is one subtraction. `refold_body` holds what was said; a fork copies
rows and shares bodies. Two rows share a body only if they have the same seq and their sessions the same `family`
(fork.py makes no others), which lets deletion tell shared bodies without an index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw

from refold.values.errors import RefoldError, Refused

if TYPE_CHECKING:
    from refold.transcript.database import Reader, Writer

APPLICATION = 0x7265666F  # "refo": tells file(1), and us, whose file it is
PREFIX = "refold_"
SESSIONS = "sessions"
"""The one table of the host without the prefix."""

_FIRST = """
CREATE TABLE sessions(
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  title TEXT,
  model TEXT,
  created TEXT NOT NULL,                     -- UTC, ISO 8601
  parent INTEGER REFERENCES sessions(key) ON DELETE SET NULL,
  forked_at INTEGER,                         -- the checkpoint of a fork; NULL with a parent: a sub-agent's session
  family INTEGER NOT NULL,                   -- key of the session that all these forks began with
  compactions INTEGER NOT NULL DEFAULT 0,    -- how many were applied
  hidden INTEGER NOT NULL DEFAULT 0);        -- its deletion has begun

CREATE TABLE row(
  session INTEGER NOT NULL, seq INTEGER NOT NULL,
  body INTEGER NOT NULL,
  kind TEXT NOT NULL, opens INTEGER NOT NULL,
  turn INTEGER NOT NULL, images INTEGER NOT NULL, tokens INTEGER NOT NULL,
  PRIMARY KEY(session, seq)) WITHOUT ROWID;

CREATE TABLE body(
  id INTEGER PRIMARY KEY,
  folding INTEGER NOT NULL,                  -- how text and calls may be searched; see search.py
  text TEXT NOT NULL,
  calls TEXT,                                -- names and arguments of the calls in plain words, to be searched
  rest TEXT NOT NULL);                       -- everything else, as JSON; see encoding.py

CREATE TABLE image(
  digest TEXT PRIMARY KEY,                   -- sha256 of data, in hex
  type TEXT NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL,
  data BLOB NOT NULL);

CREATE TABLE picture(                        -- the n-th picture of a row; key is sha256:<digest> when we hold its bytes
  session INTEGER NOT NULL, seq INTEGER NOT NULL, n INTEGER NOT NULL,
  key TEXT NOT NULL, type TEXT NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL, owner TEXT,
  PRIMARY KEY(session, seq, n)) WITHOUT ROWID;
CREATE INDEX picture_key ON picture(key);

CREATE TABLE spawn(                          -- a `spawned` event and the `joined` that ended it
  session INTEGER NOT NULL, seq INTEGER NOT NULL, child TEXT NOT NULL, joined INTEGER,
  PRIMARY KEY(session, seq)) WITHOUT ROWID;

CREATE TABLE choice(
  session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  extension TEXT NOT NULL, enabled INTEGER NOT NULL,
  PRIMARY KEY(session, extension)) WITHOUT ROWID;

CREATE TABLE revision(                       -- how often a store of a session was committed
  session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  store TEXT NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY(session, store)) WITHOUT ROWID;

CREATE TABLE snapshot(                       -- the last prepared request, as /context shows it
  session TEXT PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE, body TEXT NOT NULL);

CREATE TABLE head(                           -- the pinned system prompt, as it was sent
  session TEXT PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE, body TEXT NOT NULL);

CREATE TABLE lease(
  session TEXT PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE,
  token TEXT NOT NULL, what TEXT NOT NULL,
  host TEXT NOT NULL, pid INTEGER NOT NULL, born TEXT NOT NULL,
  since TEXT NOT NULL, expires REAL NOT NULL);

CREATE TABLE request(                        -- what was asked of a model
  id INTEGER PRIMARY KEY,
  session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  kind TEXT NOT NULL, model TEXT NOT NULL,
  upto INTEGER NOT NULL,                     -- seq of the newest row that it held
  compaction INTEGER NOT NULL,               -- sessions.compactions when it was sent
  estimated INTEGER NOT NULL,                -- tokens as they were estimated here
  tokens INTEGER, usage TEXT,                -- as the provider counted; NULL: it did not say
  outcome TEXT NOT NULL,
  replaced INTEGER NOT NULL DEFAULT 0);      -- asked again in another form: its figures no longer count
CREATE INDEX request_session ON request(session, upto);

CREATE TABLE compaction(                     -- the n-th that was applied, and the rows that it folded
  session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE, n INTEGER NOT NULL,
  strategy TEXT NOT NULL, demand TEXT NOT NULL, after INTEGER NOT NULL, upto INTEGER NOT NULL,
  PRIMARY KEY(session, n)) WITHOUT ROWID;

CREATE TABLE origin(                         -- the foreign session that this one was imported from
  session TEXT PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE,
  source TEXT NOT NULL, rows INTEGER NOT NULL);
CREATE INDEX origin_source ON origin(source);

CREATE TABLE extension_schema(id TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
"""

_SECOND = """
CREATE TABLE learnt_limit(                   -- the smallest window that a refusal revealed, in tokens
  session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  model TEXT NOT NULL, tokens INTEGER NOT NULL,
  PRIMARY KEY(session, model)) WITHOUT ROWID;
"""

# Until then the tables had no prefix, and an extension could name its own like them.
_THIRD = """
ALTER TABLE row RENAME TO refold_row;
ALTER TABLE body RENAME TO refold_body;
ALTER TABLE image RENAME TO refold_image;
ALTER TABLE picture RENAME TO refold_picture;
ALTER TABLE spawn RENAME TO refold_spawn;
ALTER TABLE choice RENAME TO refold_choice;
ALTER TABLE revision RENAME TO refold_revision;
ALTER TABLE snapshot RENAME TO refold_snapshot;
ALTER TABLE head RENAME TO refold_head;
ALTER TABLE lease RENAME TO refold_lease;
ALTER TABLE request RENAME TO refold_request;
ALTER TABLE compaction RENAME TO refold_compaction;
ALTER TABLE origin RENAME TO refold_origin;
ALTER TABLE learnt_limit RENAME TO refold_learnt_limit;
ALTER TABLE extension_schema RENAME TO refold_extension;
ALTER TABLE refold_extension ADD COLUMN store TEXT;   -- the name that its tables begin with; NULL: not known yet
DROP INDEX picture_key;
DROP INDEX request_session;
DROP INDEX origin_source;
CREATE INDEX refold_picture_key ON refold_picture(key);
CREATE INDEX refold_request_session ON refold_request(session, upto);
CREATE INDEX refold_origin_source ON refold_origin(source);
"""

_FOURTH = """
CREATE TABLE refold_user_lines(              -- what users said in folded rows, as it was last sent; derived from rows
  session TEXT PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE, body TEXT NOT NULL);
"""

MIGRATIONS: tuple[str, ...] = (_FIRST, _SECOND, _THIRD, _FOURTH)
"""Script n takes the host's tables from version n to n + 1. Never change a released one: append."""


def version(reader: Reader) -> int:
    """The version of the host's tables in the snapshot of `reader`; 0: the file is empty, they can be made.

    Raises Refused when a newer refold wrote the file, RefoldError when it belongs to another program.
    """
    application, found, tables = (
        _number(reader, sql)
        for sql in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_schema")
    )
    if (application, found, tables) == (0, 0, 0):
        return 0
    if application != APPLICATION or found < 1:
        raise RefoldError("the file holds another program's tables; it was left as it is; choose another home")
    if found > len(MIGRATIONS):
        raise Refused(
            f"the file was written by a newer refold (version {found}, this one knows {len(MIGRATIONS)});"
            " nothing was changed; upgrade refold"
        )
    return found


def establish(writer: Writer) -> None:
    """Brings the file to the newest version, in one transaction; several processes may do it one after the other."""
    for number in range(version(writer), len(MIGRATIONS)):
        try:
            writer.execute(MIGRATIONS[number])
        except apsw.SQLError as error:  # an extension of then had a table of a name that is the host's now
            raise RefoldError(
                f"the file cannot be brought to version {number + 1} ({error}); it was left as it is; rename or drop"
                " what stands in the way with the sqlite3 shell"
            ) from error
        writer.execute(f"PRAGMA user_version={number + 1}")
        writer.execute(f"PRAGMA application_id={APPLICATION}")


def _number(reader: Reader, sql: str) -> int:
    found = reader.one(sql)
    return int(found[0]) if found else 0
