"""rolling's one table: the summary in force with its cut, and the one before it."""

from __future__ import annotations

from attrs import frozen
from refold import Context, Cut, Writer

FORMAT = 1

MIGRATIONS = (
    """
    CREATE TABLE rolling_state(
        session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        slot INTEGER NOT NULL CHECK (slot IN (0, 1)),  -- 0: in force, 1: its predecessor
        format INTEGER NOT NULL,
        summary TEXT NOT NULL,
        cut_seq INTEGER NOT NULL,     -- the last row that the summary covers
        cut_tokens INTEGER NOT NULL,  -- the running total at that row, as a check
        folds TEXT NOT NULL,          -- ids of the folds that it was made on top of, one a line
        folds_upto INTEGER NOT NULL,  -- the last row that those covered; 0: none
        model TEXT NOT NULL,
        PRIMARY KEY (session, slot)
    ) WITHOUT ROWID
    """,
)


@frozen
class State:
    """A summary of every row up to `cut`, made on top of `folds` (ids, oldest first), which ended at `folds_upto`."""

    summary: str
    cut: Cut
    folds: tuple[str, ...]
    folds_upto: int
    model: str


def load(context: Context) -> State | None:
    """The state in force; None when there is none, or when another version of rolling wrote it."""
    found = context.read(
        "SELECT summary, cut_seq, cut_tokens, folds, folds_upto, model FROM rolling_state"
        " WHERE session=? AND slot=0 AND format=?",
        context.session,
        FORMAT,
    )
    if not found:
        return None
    summary, seq, tokens, folds, folds_upto, model = found[0]
    return State(summary, Cut(seq, tokens), tuple(folds.split("\n")) if folds else (), folds_upto, model)


def save(writer: Writer, session: str, state: State) -> None:
    """Puts `state` in force; the one it replaces becomes the predecessor."""
    writer.execute("DELETE FROM rolling_state WHERE session=? AND slot=1", session)
    writer.execute("UPDATE rolling_state SET slot=1 WHERE session=? AND slot=0", session)
    writer.execute(
        "INSERT INTO rolling_state VALUES(?, 0, ?, ?, ?, ?, ?, ?, ?)",
        session,
        FORMAT,
        state.summary,
        state.cut.seq,
        state.cut.tokens,
        "\n".join(state.folds),
        state.folds_upto,
        state.model,
    )
