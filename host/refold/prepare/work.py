"""`Work`: a context that may also summarize and commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from attrs import define, field, frozen

from refold.prepare.context import BoundContext, View
from refold.prepare.listen import listen, one_line
from refold.prepare.user_lines import Stored
from refold.registry.answers import checked
from refold.registry.contributions import Extension
from refold.summarize.user_lines import Choice, Line
from refold.transcript import compactions, sessions, state
from refold.transcript.database import Database
from refold.transcript.database import Writer as DatabaseWriter
from refold.values.contexts import Delegate, Fold, Writer
from refold.values.errors import SummaryFailed, Superseded, Vetoed
from refold.values.inputs import Projection
from refold.values.outcome import Demand, Event, Outcome, Summary
from refold.values.rows import Replay, Row, RowRange, SourceRef


class Summarize(Protocol):
    """The summary service as a preparation uses it; models, level, focus, deadline and progress are bound in."""

    def __call__(
        self,
        material: Sequence[Row | Fold | str],
        *,
        previous: str,
        context: str,
        said: str,
        lines: Sequence[Line],
        chosen: Callable[[Choice], object],
        instructions: str,
        limit: int | None,
        elided: Mapping[SourceRef, str],
    ) -> Summary: ...


Started = Callable[[Demand, RowRange, int], object]
"""Hears that a compaction begins: why, the rows that it folds, and their size in tokens."""


@frozen(eq=False)
class Bench:
    """What the host lends to work: the database, summaries, where notices go, and the ears of whoever waits."""

    database: Database
    summarize: Summarize
    notices: list[str]
    started: Started
    progress: Callable[[int, int], None]
    cancelled: Callable[[], bool]


@define(eq=False)
class Attempt:
    """One compaction under way.

    `named` are the rows that `begin` was called with, `begun` the same once every hook agreed: nothing is summarized
    or committed before. A `dry` attempt ends at `begin`. `committed` says that a commit succeeded. `lines` are those of
    users once the begun rows are folded, as the summarizer chose them; None: it was not asked.
    """

    demand: Demand
    dry: bool = False
    named: RowRange | None = None
    begun: RowRange | None = None
    committed: bool = False
    lines: Stored | None = None


class Ended(BaseException):
    """An attempt ends at `begin`: it is a dry run, or nothing stands in the rows. No strategy takes it for a failure
    that it could work around."""


@define(eq=False)
class BoundWork(BoundContext):
    """`Work` of one extension outside of a compaction: a command, `post_compact`."""

    bench: Bench
    elided: Mapping[int, str] = field(factory=dict)
    _revision: int | None = field(default=None, init=False)

    def begin(self, rows: RowRange) -> None:
        raise RuntimeError("begin belongs into compact")

    def summarize(
        self,
        *material: RowRange | Fold | str,
        previous: str = "",
        context: str = "",
        instructions: str = "",
        limit: int | None = None,
    ) -> Summary:
        if self.bench.database.writing:
            raise RuntimeError("summarize inside commit would hold the database while a model is asked")
        return self.bench.summarize(
            [each for part in material for each in self._rows(part)],
            previous=previous,
            context=context,
            said=self._said(),
            lines=self._crowded(),
            chosen=self._chosen,
            instructions=instructions,
            limit=None if limit is None else self.view.sizing.sizer.raw(limit),
            elided={SourceRef(self.session, seq): text for seq, text in self.elided.items()},
        )

    def _said(self) -> str:
        """What users said in rows that are folded already, as a summarizer is shown it."""
        stored = self.view.user_lines.stored
        return "\n".join(line.render() for line in stored.kept.lines) if stored else ""

    def _crowded(self) -> Sequence[Line]:
        """Lines of users of which the summarizer is asked which ones stay."""
        return ()

    def _chosen(self, choice: Choice) -> None:
        """What it answered."""

    def native(self, rows: RowRange, previous: Replay | None) -> Replay:
        raise SummaryFailed(f"{self.model.id or 'this model'} has no compaction of its own; nothing was changed")

    def commit(self, write: Callable[[Writer], object]) -> None:
        store = self.extension.manifest.tables
        if self._revision is None:
            self._revision = state.current(self.view.reader, self.session, store)
        with self.bench.database.write() as writer:
            sessions.find(writer, self.session)  # it may be gone since it was read
            if state.current(writer, self.session, store) != self._revision:
                raise Superseded(
                    f"another compaction of {self.session} was committed first; this one changed nothing; try again"
                )
            write(writer.store(store))
            revision = state.bump(writer, self.session, store)
            self.recorded(writer)
        self._revision = revision
        self.view.reader.renew()

    def recorded(self, writer: DatabaseWriter) -> None:
        """What the host writes in the same transaction; nothing outside of a compaction."""

    def progress(self, done: int, total: int) -> None:
        self.bench.progress(done, total)

    def cancelled(self) -> bool:
        return self.bench.cancelled()

    def _rows(self, part: RowRange | Fold | str) -> Sequence[Row | Fold | str]:
        return list(self.history.rows(part)) if isinstance(part, RowRange) else [part]


@define(eq=False)
class CompactWork(BoundWork):
    """`Work` inside `compact`: it begins once, with everybody's consent, and its first commit counts the compaction."""

    attempt: Attempt = field(kw_only=True)

    def begin(self, rows: RowRange) -> None:
        if self.attempt.named is not None:
            raise RuntimeError("begin was called twice in one compaction")
        held(checked(rows, RowRange), self.history.range)
        if all(row.wordless for row in self.history.rows(rows)):
            raise Ended(f"rows {rows.after + 1}-{rows.upto} hold no words, and nothing else is old enough to fold")
        self.attempt.named = rows
        if self.attempt.dry:
            raise Ended(f"rows {rows.after + 1}-{rows.upto} would be folded")
        event = Event(self.attempt.demand, self.strategy or "", rows)
        for each in self.view.composition.extensions:
            reason = listen(self.bench.notices, each.id, "pre_compact", partial(_veto, self.view, each, event))
            if reason:
                raise Vetoed(f"{each.id} refused the compaction: {reason}")
        self.attempt.begun = rows
        self.bench.started(self.attempt.demand, rows, self.history.size(rows))

    def summarize(
        self,
        *material: RowRange | Fold | str,
        previous: str = "",
        context: str = "",
        instructions: str = "",
        limit: int | None = None,
    ) -> Summary:
        self._has_begun("summarize")
        return super().summarize(*material, previous=previous, context=context, instructions=instructions, limit=limit)

    def commit(self, write: Callable[[Writer], object]) -> None:
        self._has_begun("commit")
        super().commit(write)
        self.attempt.committed = True

    def recorded(self, writer: DatabaseWriter) -> None:
        rows = self.attempt.begun
        if rows is not None and not self.attempt.committed:
            compactions.record(writer, self.session, self.strategy or "", self.attempt.demand.kind, rows)
            if self.attempt.lines is not None:
                state.set_user_lines(writer, self.session, self.attempt.lines.dump())

    def _crowded(self) -> Sequence[Line]:
        """Once in a compaction, those that will not all fit when its rows are folded."""
        rows, lines = self.attempt.begun, self.view.user_lines
        if rows is None or self.attempt.lines is not None:
            return ()
        return lines.crowded(lines.folded((rows.after, rows.upto)))

    def _chosen(self, choice: Choice) -> None:
        rows, lines = self.attempt.begun, self.view.user_lines
        if rows is not None:
            folded = lines.folded((rows.after, rows.upto))
            self.attempt.lines = Stored(lines.room, folded, lines.standing(folded, choice))

    def _has_begun(self, what: str) -> None:
        if self.attempt.begun is None:
            refused = self.attempt.named is not None
            raise RuntimeError(f"{what} though begin was refused" if refused else f"{what} before begin")

    def delegate(self, id: str) -> Delegate | None:
        other = next((each for each in self.view.composition.installed if each.id == id and each.strategy), None)
        if other is None:
            return None
        return Compacting(CompactWork(self.view, other, self.bench, self.elided, attempt=self.attempt))


def held(rows: RowRange, whole: RowRange) -> RowRange:
    """The rows, if a history of the range `whole` holds them. Raises ValueError."""
    if rows.session != whole.session or not whole.after <= rows.after <= rows.upto <= whole.upto:
        raise ValueError(f"rows {rows.after + 1}-{rows.upto} of {rows.session} are not in this history")
    return rows


@frozen(eq=False)
class Compacting:
    """Another strategy inside `compact`: its own settings, tables and priors, the same attempt."""

    work: CompactWork

    def project(self) -> Projection:
        strategy = self.work.extension.strategy
        assert strategy is not None
        return strategy.project(self.work)

    def compact(self, demand: Demand) -> Outcome:
        strategy = self.work.extension.strategy
        assert strategy is not None
        return strategy.compact(self.work, demand)


def _veto(view: View, extension: Extension, event: Event) -> str | None:
    reason = extension.hook.pre_compact(context=BoundContext(view, extension), event=event)
    return None if reason is None else one_line(checked(reason, str))


@define(eq=False)
class PictureWork(BoundWork):
    """`Work` inside `image_bytes`: it may fill a cache table, and no compaction notices."""

    def commit(self, write: Callable[[Writer], object]) -> None:
        with self.bench.database.write() as writer:
            sessions.find(writer, self.session)
            write(writer.store(self.extension.manifest.tables))
