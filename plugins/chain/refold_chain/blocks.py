"""The chain of a session: summary blocks, each standing for the rows behind the one before it.

A block that was merged into another is retired, not deleted: a fork before the end of the merged one needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from attrs import frozen
from refold import Context, Cut, Fork, Writer

FORMAT = 1

MIGRATIONS = (
    """
    CREATE TABLE chain_block(
        session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        number INTEGER NOT NULL,             -- in the order they were written
        format INTEGER NOT NULL,
        after INTEGER NOT NULL,              -- the block stands for the rows behind this one
        upto INTEGER NOT NULL,               -- up to this one, its boundary
        cut_tokens INTEGER NOT NULL,         -- the running total at `upto`, as a check
        prompt INTEGER,                      -- the prompt whose row stands in front; NULL: none
        prompt_upto INTEGER NOT NULL,        -- the last row that is shown with it; 0: none
        prompt_characters INTEGER NOT NULL,  -- how many characters of it were shown when the block was written
        window INTEGER NOT NULL,             -- the window then, in tokens
        summary TEXT NOT NULL,
        model TEXT NOT NULL,
        folds TEXT NOT NULL,                 -- ids of the folds of others that the chain began on, one a line
        folds_upto INTEGER NOT NULL,         -- the last row that those covered; 0: none
        ends INTEGER NOT NULL,               -- whether a session that ends at `upto` may be shown by this block
        retired_by INTEGER,                  -- the block that this one was merged into; NULL: it is in force
        PRIMARY KEY (session, number)
    )
    """,
)

_COLUMNS = (
    "number, after, upto, cut_tokens, prompt, prompt_upto, prompt_characters, window, summary, model, ends,"
    " folds, folds_upto"
)


@frozen
class Block:
    """A summary of the rows `after < seq <= upto`.

    Where `prompt` is a row of these, the rows up to `prompt_upto` stand in front as they are, the prompt itself cut to
    `prompt_characters` under a window of `window` tokens; those before the prompt hold no words. `ends`: at `upto` no
    prompt waits for an answer that this chain does not show, so a fork may end there. `folds` and `folds_upto` are
    those of the chain.
    """

    number: int
    after: int
    upto: int
    cut_tokens: int
    prompt: int | None
    prompt_upto: int
    prompt_characters: int
    window: int
    summary: str
    model: str
    ends: bool
    folds: tuple[str, ...]
    folds_upto: int

    @property
    def cut(self) -> Cut:
        return Cut(self.upto, self.cut_tokens)


def load(context: Context) -> tuple[Block, ...]:
    """The blocks in force, oldest first; empty when there are none, when their last row is not in this history, or
    when another version of chain wrote some of them."""
    found = context.read(
        f"SELECT format, {_COLUMNS} FROM chain_block WHERE session=? AND retired_by IS NULL ORDER BY upto",
        context.session,
    )
    if not found or any(form != FORMAT for form, *_ in found):
        return ()
    blocks = tuple(_block(values) for _, *values in found)
    connected = all(later.after == earlier.upto for earlier, later in pairwise(blocks))
    return blocks if connected and context.history.holds(blocks[-1].cut) else ()


def _block(values: Sequence[Any]) -> Block:
    *plain, folds, folds_upto = values
    ids = tuple(folds.split("\n")) if folds else ()
    return Block(*[*plain, ids, folds_upto])


def number(context: Context) -> int:
    """The number of the next block."""
    found = context.read("SELECT max(number) FROM chain_block WHERE session=?", context.session)
    return int(found[0][0] or 0) + 1


def append(writer: Writer, session: str, block: Block, first: bool) -> None:
    """Puts a block behind the others; the `first` one of a chain takes the place of whatever was stored."""
    if first:
        writer.execute("DELETE FROM chain_block WHERE session=?", session)
    _insert(writer, session, block)


def replace(writer: Writer, session: str, merged: Block) -> None:
    """Puts a block in the place of those in force whose rows it stands for."""
    writer.execute(
        "UPDATE chain_block SET retired_by=? WHERE session=? AND retired_by IS NULL AND after>=? AND upto<=?",
        merged.number,
        session,
        merged.after,
        merged.upto,
    )
    _insert(writer, session, merged)


def _insert(writer: Writer, session: str, block: Block) -> None:
    writer.execute(
        f"INSERT INTO chain_block(session, format, {_COLUMNS}) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        session,
        FORMAT,
        block.number,
        block.after,
        block.upto,
        block.cut_tokens,
        block.prompt,
        block.prompt_upto,
        block.prompt_characters,
        block.window,
        block.summary,
        block.model,
        block.ends,
        "\n".join(block.folds),
        block.folds_upto,
    )


def copy(fork: Fork) -> None:
    """A branch gets the blocks that end before the checkpoint, and one that ends there if a session may end with it.
    One whose merged successor does not come along is in force there again."""
    comes = "({0}.upto < ? OR ({0}.upto = ? AND {0}.ends))"
    fork.write.execute(
        f"INSERT INTO chain_block(session, format, {_COLUMNS}, retired_by)"
        f" SELECT ?, format, {_COLUMNS}, (SELECT m.number FROM chain_block m WHERE m.session=b.session"
        f" AND m.number=b.retired_by AND {comes.format('m')})"
        f" FROM chain_block b WHERE session=? AND {comes.format('b')}",
        fork.target,
        fork.at,
        fork.at,
        fork.source,
        fork.at,
        fork.at,
    )
