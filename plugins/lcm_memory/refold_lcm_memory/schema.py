"""The tables of the store `lcm`: nodes with their child links, and how far a session is covered.

Leaves (depth 0) follow each other from row 1 on without a hole, up to the cursor. A parent covers exactly its children.
Roots (no parent) are in rows' order the whole tree. Nodes are never changed; a child gets its parent once.
"""

from __future__ import annotations

FORMAT = 1
"""What this version writes; nodes and cursors of another format are left alone."""

MIGRATIONS = (
    """
    CREATE TABLE lcm_cursor(
        session TEXT NOT NULL PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE,
        format INTEGER NOT NULL,
        upto INTEGER NOT NULL,        -- the last row that leaves cover
        tokens INTEGER NOT NULL       -- the running total at that row, as a check
    ) WITHOUT ROWID;

    CREATE TABLE lcm_node(
        id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice, in no session of this file
        session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        parent INTEGER REFERENCES lcm_node(id) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,
        format INTEGER NOT NULL,
        depth INTEGER NOT NULL,       -- 0: a leaf, made of rows; else one more than its deepest child
        after INTEGER NOT NULL,       -- covers the rows after this one
        upto INTEGER NOT NULL,        -- up to this one
        tokens INTEGER NOT NULL,      -- the running total at that row, as a check
        made TEXT NOT NULL CHECK (made IN ('summary', 'shorter', 'pointer')),
        model TEXT NOT NULL,
        summary TEXT NOT NULL,
        folded TEXT NOT NULL,         -- the summary's Unicode casefold, to be searched
        CHECK (after < upto)
    );
    -- Roots are those with parent NULL; deleting a node looks for its children.
    CREATE INDEX lcm_node_parent ON lcm_node(parent, session, upto);
    CREATE INDEX lcm_node_depth ON lcm_node(session, depth, upto);

    CREATE TRIGGER lcm_node_one_parent BEFORE UPDATE OF parent ON lcm_node
    WHEN OLD.parent IS NOT NULL AND NEW.parent IS NOT NULL
    BEGIN SELECT RAISE(ABORT, 'a node has one parent'); END;
    """,
)
"""Script n takes the tables from version n to n + 1. Never change a released one: append."""
