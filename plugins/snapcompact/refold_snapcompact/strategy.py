"""The strategy: folds of others, older history as pages of pixels, the newest turns verbatim."""

from __future__ import annotations

from attrs import frozen
from refold import (
    Applied,
    CompactionFailed,
    Context,
    Cut,
    Demand,
    Fact,
    Fold,
    History,
    Note,
    Nothing,
    Observation,
    Outcome,
    Projection,
    RowRange,
    Rows,
    Section,
    Work,
    Writer,
)
from refold_snapcompact_memory import archive as archives
from refold_snapcompact_memory.archive import Archive, Part

from refold_snapcompact import fallback, frames, plan
from refold_snapcompact.entries import packed
from refold_snapcompact.layout import part_cells
from refold_snapcompact.settings import SnapcompactSettings
from refold_snapcompact.view import View, facts, section, view

NO_IMAGES = "the model reads no pictures"
TOO_SMALL = "the model takes no picture that could hold a line"


@frozen
class Base:
    """What a request is built on: folds of others, the archive in force behind them (without parts: none), the rest."""

    folds: tuple[Fold, ...]
    archive: Archive
    rest: History

    @property
    def covers(self) -> RowRange:
        """The rows that stand in pages. There must be a part."""
        parts = self.archive.parts
        return RowRange(parts[0].covers.session, parts[0].covers.after, parts[-1].covers.upto)


@frozen
class Seen:
    """A base as the model at hand sees it."""

    base: Base
    view: View

    @property
    def sections(self) -> tuple[Section, ...]:
        folds = tuple(
            Section(f"fold-{fold.owner}-{fold.id}", fold.label, "fold", (Note(fold.text),), fold.covers)
            for fold in self.base.folds
        )
        pages = (section(self.view, self.base.covers),) if self.base.archive.parts else ()
        tail = self.base.rest.range
        newest = (Section("tail", "newest turns", "tail", (Rows(tail),)),) if len(tail) else ()
        return (*folds, *pages, *newest)


class Unseen(Exception):
    """Pages cannot serve this model; the words say why."""


class Snapcompact:
    """Sections: folds that others stored, the archive's pages, the newest turns."""

    def project(self, context: Context) -> Projection:
        try:
            seen = _seen(context, base_of(context))
        except Unseen as reason:
            return fallback.project(context, str(reason))
        trigger = context.window.share(context.settings(SnapcompactSettings).trigger_percent)
        return Projection(seen.sections, trigger, _observation(context, seen))

    def compact(self, context: Work, demand: Demand) -> Outcome:
        try:
            return _archive(context, demand)
        except Unseen as reason:
            return fallback.compact(context, demand, str(reason))


def base_of(context: Context) -> Base:
    """The archive serves while its cut holds and no row is left between the folds of others and its end.

    Parts that those folds cover already are not shown.
    """
    prior = context.prior()
    covered = prior.folds[-1].covers.upto if prior.folds else context.history.range.after
    start = prior.rest.range.after
    archive = archives.load(context)
    if archive is not None and archive.cut.seq > start and archive.cut.seq >= covered:
        behind = archive.behind(start)
        if behind.parts[0].covers.after <= start:
            return Base(prior.folds, behind, context.history.since(archive.cut.seq))
    return Base(prior.folds, Archive(()), prior.rest)


def _seen(context: Context, base: Base) -> Seen:
    """Raises Unseen when the model takes no picture, or a page could not be drawn."""
    if not plan.reads_images(context.model):
        raise Unseen(NO_IMAGES)
    try:
        if not base.archive.parts:
            frames.probe()
        seen = view(context, base.archive, base.rest.range)
    except frames.DrawingFailed as error:
        raise Unseen(f"pages could not be drawn ({error})") from error
    if seen is None:
        raise Unseen(TOO_SMALL)
    return Seen(base, seen)


def _observation(context: Context, seen: Seen) -> Observation:
    if context.window.tokens is not None and context.fixed >= context.window.tokens:
        return Observation("limited", "system prompt, context and tools alone fill the window")
    base = seen.base
    if not base.archive.parts:
        source = "folds of other extensions, and the rest of the transcript" if base.folds else "the whole transcript"
        return Observation("compacted" if base.folds else "whole", source)
    rows = Fact("archived rows", f"{base.covers.after + 1}-{base.covers.upto}")
    return Observation("compacted", "archived pages and tail", (rows, *facts(context, seen.view)))


def _archive(context: Work, demand: Demand) -> Outcome:
    """Raises CompactionFailed, Unseen, Vetoed, Superseded."""
    settings = context.settings(SnapcompactSettings)
    if context.window.tokens is not None and context.fixed >= context.window.tokens:
        raise CompactionFailed(
            f"system prompt, context and tools take {context.fixed:,} tokens of a window of "
            f"{context.window.tokens:,}; nothing was changed. Shorten them, or use a model with a larger window"
        )
    now = _seen(context, base_of(context))
    base = now.base
    fixed = context.fixed + context.user_lines()
    budget = plan.tail_budget(demand, context.window, settings, base.rest.size(), fixed)
    upto = base.rest.tail(budget, demand.protect)
    if upto is None:
        return Nothing("there is nothing older than the newest turn to archive")
    rows = RowRange(context.session, base.rest.range.after, upto)
    then = _seen(context, _grown(base, rows, context.history))
    # Rows that are not sent to this model, such as opaque items of another, count in the estimate alone.
    before, after = min(demand.size, _size(context, now)), _size(context, then)
    if after >= before:
        return Nothing(
            f"archiving rows {rows.after + 1}-{rows.upto} would not make the request smaller: "
            f"{before:,} tokens now, {after:,} then"
        )
    context.begin(rows)
    grown, pages = then.base.archive, then.view.pages

    def write(writer: Writer) -> None:
        archives.store(writer, context.session, grown)
        frames.replace(context, writer, pages)

    context.commit(write)
    return Applied(rows, kind="pages", note=_unseen(then))


def _unseen(seen: Seen) -> str:
    """What of the archive no page shows, for the one who asked."""
    pages = seen.view
    if pages is None or not pages.dropped:
        return ""
    shown = f"{len(pages.pages)} of {pages.count} pages fit the budget"
    return f"{shown}; {pages.dropped:,} cells stay in the archive, unseen"


def _size(context: Context, seen: Seen) -> int:
    """Tokens of the request. In a compaction the history knows what reducers left of its rows; `sizing` does not."""
    older = [section for section in seen.sections if section.kind != "tail"]
    return context.sizing.request(older) + seen.base.rest.size()


def _grown(base: Base, rows: RowRange, history: History) -> Base:
    """The base with those rows archived."""
    parts: list[Part] = []
    texts: list[str] = []
    after = rows.after
    for last, text in packed(history.rows(rows)):
        cells = part_cells(text)
        cut: Cut = history.cut(last)
        covers = RowRange(rows.session, after, last)
        parts.append(Part(0, covers, cut.tokens, 0, len(cells)))
        texts.append(text)
        after = last
    return Base(base.folds, base.archive.grown(parts, texts), history.since(rows.upto))
