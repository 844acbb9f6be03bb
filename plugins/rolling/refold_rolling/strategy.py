"""The strategy: one incremental summary, a recap of recent user words, the newest turns verbatim."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from refold import (
    Applied,
    CompactionFailed,
    Context,
    Demand,
    Fact,
    Fold,
    History,
    Note,
    Nothing,
    Observation,
    Outcome,
    Projection,
    Row,
    RowRange,
    Rows,
    Section,
    Summary,
    Work,
)

from refold_rolling import plan, texts
from refold_rolling.settings import RollingSettings
from refold_rolling.state import State, load, save


@frozen
class Base:
    """What a request is built on: the state in force, or the folds of others and what they leave."""

    state: State | None
    folds: tuple[Fold, ...]
    rest: History

    @property
    def after(self) -> int:
        """The last row that stands in no tail."""
        return self.rest.range.after

    @property
    def folds_alone(self) -> bool:
        """Whether folds of others stand for everything in front of the tail, up to a turn's end."""
        return self.state is None and bool(self.folds) and self.folds[-1].covers.upto == self.after


class Rolling:
    """Sections: folds that others stored, until the first compaction; then summary, recap, tail."""

    def project(self, context: Context) -> Projection:
        settings = context.settings(RollingSettings)
        base = _base(context)
        trigger = context.window.share(settings.trigger_percent)
        return Projection(_sections(context, base), trigger, _observation(context, base, settings))

    def compact(self, context: Work, demand: Demand) -> Outcome:
        settings = context.settings(RollingSettings)
        base = _base(context)
        if context.window.tokens is not None and context.fixed >= context.window.tokens:
            raise CompactionFailed(
                f"system prompt, context and tools take {context.fixed:,} tokens of a window of "
                f"{context.window.tokens:,}; nothing was changed. Shorten them, or use a model with a larger window"
            )
        fixed = context.fixed + context.user_lines()
        budget = plan.tail_budget(demand, context.window, settings, base.rest.size(), fixed)
        upto = base.rest.tail(budget, demand.protect)
        if upto is None and base.folds_alone:
            upto = base.after
        if upto is None:
            return Nothing("there is nothing older than the newest turn to fold")
        return _fold(context, demand, base, RowRange(context.session, base.after, upto))


def _base(context: Context) -> Base:
    """State serves while its cut holds, it covers what `prior` covers, and it was made on top of the same folds."""
    state, prior = load(context), context.prior()
    covered = prior.folds[-1].covers.upto if prior.folds else 0
    ids = tuple(fold.id for fold in prior.folds)
    if state and context.history.holds(state.cut) and (state.folds, state.folds_upto) == (ids, covered):
        return Base(state, prior.folds, context.history.since(state.cut.seq))
    return Base(None, prior.folds, prior.rest)


def _sections(context: Context, base: Base) -> tuple[Section, ...]:
    session, start = context.session, context.history.range.after
    tail = base.rest.range
    newest = (Section("tail", "newest turns", "tail", (Rows(tail),)),) if len(tail) else ()
    if base.state is None:
        folds = tuple(
            Section(f"fold-{fold.owner}-{fold.id}", fold.label, "fold", (Note(fold.text),), fold.covers)
            for fold in base.folds
        )
        return folds + newest
    cut = base.state.cut.seq
    summary = Section(
        "summary",
        f"older conversation summary · {base.state.model}",
        "summary",
        (Note(texts.summary_text(base.state.summary, base.state.model)),),
        RowRange(session, start, cut),
    )
    quoted = context.history.users(cut, texts.EXCERPTS)
    return (summary, *((_recap(session, quoted),) if quoted else ()), *newest)


def _recap(session: str, quoted: Sequence[Row]) -> Section:
    rows = RowRange(session, quoted[0].ref.seq - 1, quoted[-1].ref.seq)
    return Section("recap", "recent user excerpts", "recap", (Note(texts.recap_text(quoted)),), rows)


def _observation(context: Context, base: Base, settings: RollingSettings) -> Observation:
    if context.window.tokens is not None and context.fixed >= context.window.tokens:
        return Observation("limited", "system prompt, context and tools alone fill the window")
    if base.state is None:
        source = "folds of other extensions, and the rest of the transcript" if base.folds else "the whole transcript"
        return Observation("compacted" if base.folds else "whole", source)
    facts = (
        Fact("summarized rows", f"1-{base.state.cut.seq}"),
        Fact("summarizer", base.state.model),
        Fact("tail budget", f"{settings.tail_percent} % of the window"),
    )
    return Observation("compacted", "saved summary, recap and tail", facts)


def _fold(context: Work, demand: Demand, base: Base, rows: RowRange) -> Outcome:
    before = context.sizing.request(_sections(context, base))
    covers = rows if len(rows) else RowRange(context.session, context.history.range.after, rows.upto)
    context.begin(covers)
    summary = _summarize(context, base, rows, context.window.tokens or max(1, context.fixed + base.rest.size()))
    covered = base.folds[-1].covers.upto if base.folds else 0
    ids = tuple(fold.id for fold in base.folds)
    cut = context.history.cut(rows.upto)
    state = State(summary.text, cut, ids, covered, summary.model)
    after = context.sizing.request(_sections(context, Base(state, base.folds, context.history.since(cut.seq))))
    if after >= before:
        folded = f"folding rows {covers.after + 1}-{covers.upto}"
        reason = f"{folded} would not make the request smaller: {before:,} tokens now, {after:,} then"
        if demand.kind == "manual":
            return Nothing(reason)
        raise CompactionFailed(f"{reason}; nothing was changed")
    context.commit(lambda writer: save(writer, context.session, state))
    return Applied(covers, summary=summary)


def _summarize(context: Work, base: Base, rows: RowRange, window: int) -> Summary:
    """One call a chunk, each carrying the summary so far; folds of others go first, as the oldest material."""
    limit = plan.summary_limit(window)
    chunks = plan.chunks(context.history, rows, plan.chunk_budget(window))
    parts = [part for part in chunks if not all(row.wordless for row in context.history.rows(part))]
    text = base.state.summary if base.state else ""
    passes, model = 0, ""
    if not parts:
        return context.summarize(*base.folds, limit=limit)
    for number, part in enumerate(parts):
        folds = base.folds if number == 0 and base.state is None else ()
        context.progress(number, len(parts))
        summary = context.summarize(*folds, part, previous=text, limit=limit)
        text, model, passes = summary.text, summary.model, passes + summary.passes
    context.progress(len(parts), len(parts))
    return Summary(text, model, passes)
