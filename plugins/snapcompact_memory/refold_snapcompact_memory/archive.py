"""The archive of a session: the text of its older rows, in parts. It only grows at its end.

The table is this extension's; the strategy `snapcompact`, which requires it, writes the parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from attrs import evolve, field, frozen
from refold import Context, Cut, Fork, History, Row, RowRange, Writer

FORMAT = 1

MIGRATIONS = (
    """
    CREATE TABLE snapcompact_archive(
        session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        part INTEGER NOT NULL,        -- 1, 2, 3: oldest first
        format INTEGER NOT NULL,
        after INTEGER NOT NULL,       -- the part holds the rows behind this one
        upto INTEGER NOT NULL,        -- up to this one
        cut_tokens INTEGER NOT NULL,  -- the running total at `upto`, as a check
        before INTEGER NOT NULL,      -- cells that the parts before it take on pages
        cells INTEGER NOT NULL,       -- cells that it takes itself
        text TEXT NOT NULL,
        PRIMARY KEY (session, part)
    )
    """,
)


@frozen
class Part:
    """A few rows as text. `tokens` is the running total at the last of them; `cells` is what it takes on pages, and
    `before` what all parts before it take."""

    number: int
    covers: RowRange
    tokens: int
    before: int
    cells: int


@frozen
class Archive:
    """Parts, oldest first. `fresh` holds the texts (by number) of those that are not stored yet."""

    parts: tuple[Part, ...]
    fresh: Mapping[int, str] = field(factory=dict)

    @property
    def cut(self) -> Cut:
        """Where the archive ends. There must be a part."""
        last = self.parts[-1]
        return Cut(last.covers.upto, last.tokens)

    def texts(self, context: Context, first: int, last: int) -> Sequence[str]:
        """The texts of the parts number `first` to `last`, both included."""
        stored = context.read(
            "SELECT part, text FROM snapcompact_archive WHERE session=? AND part>=? AND part<=? ORDER BY part",
            context.session,
            first,
            last,
        )
        known = {**dict(stored), **self.fresh}
        return [known[number] for number in range(first, last + 1)]

    def behind(self, seq: int) -> Archive:
        """The parts that hold a row after `seq`."""
        return evolve(self, parts=tuple(part for part in self.parts if part.covers.upto > seq))

    def grown(self, parts: Sequence[Part], texts: Sequence[str]) -> Archive:
        """The archive with new parts behind the others; their `number` and `before` are given here."""
        number, before = (self.parts[-1].number, self.parts[-1].before + self.parts[-1].cells) if self.parts else (0, 0)
        starts = accumulate((part.cells for part in parts), initial=before)
        placed = enumerate(zip(parts, starts, strict=False), number + 1)
        numbered = tuple(evolve(part, number=n, before=at) for n, (part, at) in placed)
        fresh = {part.number: text for part, text in zip(numbered, texts, strict=True)}
        return Archive((*self.parts, *numbered), {**self.fresh, **fresh})


def load(context: Context) -> Archive | None:
    """The stored archive while its cut holds; no text of it is read. None: there is none, or another version wrote it.

    Newest parts behind which no view could begin are left out: a branch may end where the model still has to answer.
    """
    found = context.read(
        "SELECT part, after, upto, cut_tokens, before, cells FROM snapcompact_archive"
        " WHERE session=? AND format=? ORDER BY part",
        context.session,
        FORMAT,
    )
    parts = tuple(
        Part(number, RowRange(context.session, after, upto), tokens, before, cells)
        for number, after, upto, tokens, before, cells in found
    )
    if not parts or not context.history.holds(Archive(parts).cut):
        return None
    serving = len(parts)
    while serving and not _may_end(context.history, parts[serving - 1].covers.upto):
        serving -= 1
    return Archive(parts[:serving]) if serving else None


def _may_end(history: History, upto: int) -> bool:
    """Whether what is shown may begin behind a row: a turn begins there, or nobody waits for the model."""
    if upto < history.range.upto:
        return _row(history, upto + 1).opens
    for seq in range(upto, history.range.after, -1):
        row = _row(history, seq)
        if row.kind not in ("event", "replay"):
            return row.kind == "assistant" and not row.calls
    return True


def _row(history: History, seq: int) -> Row:
    return next(iter(history.rows(RowRange(history.range.session, seq - 1, seq))))


def store(writer: Writer, session: str, archive: Archive) -> None:
    """Stores the fresh parts; parts that are not of this archive, such as one whose cut no longer held, leave."""
    if not archive.fresh:
        return
    first = min(archive.fresh)
    writer.execute("DELETE FROM snapcompact_archive WHERE session=? AND part>=?", session, first)
    for part in archive.parts:
        if part.number in archive.fresh:
            writer.execute(
                "INSERT INTO snapcompact_archive VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
                session,
                part.number,
                FORMAT,
                part.covers.after,
                part.covers.upto,
                part.tokens,
                part.before,
                part.cells,
                archive.fresh[part.number],
            )


def copy(fork: Fork) -> None:
    """A branch gets the archive when all of it lies before the checkpoint, else none: the part that held the
    checkpoint would tell of rows that the branch does not have."""
    found = fork.read("SELECT max(upto) FROM snapcompact_archive WHERE session=?", fork.source)
    if found[0][0] is not None and found[0][0] <= fork.at:
        fork.write.execute(
            "INSERT INTO snapcompact_archive SELECT ?, part, format, after, upto, cut_tokens, before, cells, text"
            " FROM snapcompact_archive WHERE session=?",
            fork.target,
            fork.source,
        )
