"""The strategy: plan on paper, ask the curator if the plan needs one, write one record, show what the records say."""

from __future__ import annotations

from attrs import evolve, frozen
from refold import (
    Applied,
    Blocked,
    CompactionFailed,
    Context,
    Demand,
    Fact,
    Fold,
    Nothing,
    Observation,
    Outcome,
    Projection,
    RowRange,
    Section,
    Summary,
    SummaryFailed,
    Work,
)

from refold_window import planner, store
from refold_window.budget import Budget, budget, headroom
from refold_window.guard import Guard, guard, requests_since
from refold_window.planner import Plan, Refusal
from refold_window.projector import Standing, front, notice, sections, standing
from refold_window.records import Record, fault
from refold_window.settings import WindowSettings
from refold_window.shape import Shape, describe, unsent


class WindowStrategy:
    """Sections: folds that others stored, the summary, a notice of rows that left, the retained rows."""

    def project(self, context: Context) -> Projection:
        settings = context.settings(WindowSettings)
        view = standing(context)
        shown = sections(context, view)
        if context.window.tokens is None:
            return Projection(shown, None, _observation(view, "whole" if view.record is None else "compacted"))
        room = headroom(context.window.tokens, context.fixed, settings)
        if room.usable <= 0:
            return Projection(shown, max(1, room.hard), Observation("limited", "fixed parts alone fill the window"))
        armed = _guard(context, view, settings, room.soft)
        if not armed.suspended(settings.strikes):
            return Projection(shown, room.soft, _observation(view, "compacted"))
        # Who was told once is not told again: below the hard limit nothing more would happen.
        return Projection(shown, room.hard if armed.told else room.soft, _observation(view, "suspended"))

    def compact(self, context: Work, demand: Demand) -> Outcome:
        settings = context.settings(WindowSettings)
        window = context.window.tokens
        if window is not None and (room := headroom(window, context.fixed, settings)).usable <= 0:
            raise CompactionFailed(
                f"system prompt, context and tools take {context.fixed:,} tokens, which leaves nothing of a window of "
                f"{window:,} with its output reserve of {window - room.hard:,}; nothing was changed. Shorten them, or "
                "use a model with a larger window"
            )
        view = standing(context)
        limits = budget(demand, context.window, context.fixed, settings)
        armed = _guard(context, view, settings, limits.soft, every=True)
        if armed.suspended(settings.strikes) and not limits.asked:
            limits = evolve(limits, curator="suspended", told=armed.told)
        return _Attempt(context, demand, view, limits, _shape(context, demand, view), armed).run()


@frozen
class _Attempt:
    """One compaction: everything that was read before it, all of it values but the host's `Work`."""

    context: Work
    demand: Demand
    view: Standing
    limits: Budget
    shape: Shape
    guard: Guard

    def run(self) -> Outcome:
        plan = planner.plan(self.shape, self.limits)
        if isinstance(plan, Refusal):
            return _refused(plan)
        rows = self._rows(plan)
        self.context.begin(rows)
        summary = None
        if plan.kind == "summary":
            try:
                summary = self._summary(plan)
            except SummaryFailed:
                if self.context.cancelled():
                    raise
                # The cheaper rungs and, where nothing fits any more, leaving without a summary are still there.
                without = planner.plan(self.shape, evolve(self.limits, curator="failed"))
                if isinstance(without, Refusal):
                    raise
                plan, rows = without, self._rows(without)
        return self._written(plan, rows, summary)

    def _rows(self, plan: Plan) -> RowRange:
        """The rows that the plan newly stands for or rewrites."""
        session = self.context.session
        if plan.kind == "summary" and plan.upto is not None:
            known = self.view.summarized
            return RowRange(session, self.view.base if plan.upto == known else known, plan.upto)
        if plan.upto is not None:
            return RowRange(session, self.view.after, plan.upto)
        return RowRange(session, min(plan.clear) - 1, max(plan.clear))

    def _summary(self, plan: Plan) -> Summary:
        """One curator call for all rows that are not summarized yet, those that left without a summary included.

        Where there are none, the summary in force is what is to be made shorter.
        """
        record, rows = self.view.record, self._rows(plan)
        previous = record.summary or "" if record is not None else ""
        if record is None or plan.upto != self.view.summarized:
            return self.context.summarize(rows, previous=previous, limit=plan.limit)
        told = Fold("window", str(record.id), f"of rows {rows.after + 1}-{rows.upto}", previous, rows)
        return self.context.summarize(told, limit=plan.limit)

    def _written(self, plan: Plan, rows: RowRange, summary: Summary | None) -> Outcome:
        record = self._record(plan, summary)
        reason = fault(record, holds=self.context.history.holds(record.cut))
        if reason is not None and self.demand.kind == "manual" and record.after >= record.before:
            return Nothing(f"the request would not be smaller: {record.before:,} tokens now, {record.after:,} then")
        if reason is not None:
            raise CompactionFailed(f"the record is not admitted: {reason}; nothing was changed")
        session = self.context.session
        self.context.commit(lambda writer: store.add(writer, session, record))
        note = plan.reason if plan.kind == "drop" else ""
        if record.told and not self.guard.told:
            note = f"suspended: {note}"
        return Applied(rows, kind=plan.kind, summary=summary, lossy=record.lossy, note=note)

    def _record(self, plan: Plan, summary: Summary | None) -> Record:
        context, view, old = self.context, self.view, self.view.record
        summarized = view.summarized if summary is None or plan.upto is None else plan.upto
        dropped = view.after if plan.upto is None else plan.upto
        carried = {**(old.cleared if old else {}), **plan.clear}
        covers = dropped > view.base
        if not covers:
            dropped = summarized = view.base
        cleared = {seq: line for seq, line in carried.items() if seq > dropped}
        cut = max([dropped, *cleared])
        automatic = self.demand.kind in ("automatic", "overflow")
        written = Record(
            id=store.next_id(context),
            kind=plan.kind,
            base=view.base,
            summarized=summarized,
            dropped=dropped,
            cut=context.history.cut(cut),
            retained=context.history.range.upto,
            before=self.demand.size,
            after=0,
            trigger=self.demand.kind,
            reason=plan.reason,
            summary=summary.text if summary else old.summary if old and summarized > view.base else None,
            model=summary.model if summary else old.model if old else "",
            cleared=cleared,
            run=self.guard.run + (1 if summary is not None and automatic else 0),
            told=self.guard.told or (self.limits.curator == "suspended" and plan.kind == "drop"),
        )
        return evolve(written, after=self.demand.size - plan.gain - self._shorter(plan, written))

    def _shorter(self, plan: Plan, record: Record) -> int:
        """Tokens by which summary and users' words are shorter than the plan allowed."""
        sizing = self.context.sizing
        written = front(self.context, evolve(self.view, record=record))
        grown = sizing.user_lines(written) - sizing.user_lines(front(self.context, self.view))
        if plan.kind != "summary":
            return plan.said - grown
        took = sum(_size(self.context, each) for each in written if each.id == "summary")
        return plan.limit - took + plan.said - grown


def _refused(refusal: Refusal) -> Outcome:
    if refusal.code == "nothing":
        return Nothing(refusal.reason)
    return Blocked(refusal.code, refusal.reason)


def _guard(context: Context, view: Standing, settings: WindowSettings, soft: int, *, every: bool = False) -> Guard:
    """The thrash guard as it stands. Below the strikes it cannot bind, and unless a record is about to be written
    (`every`) no row is looked at."""
    record = view.record
    if record is None or record.run == 0 or (not every and record.run < settings.strikes):
        return Guard()
    tail = RowRange(context.session, view.after, context.history.range.upto)
    lost = sum(unsent(context, context.history.rows(tail)).values())
    size = context.sizing.request(sections(context, view)) - lost
    return guard(record.run, record.told, requests_since(context, record, size), soft, settings.strikes)


def _shape(context: Context, demand: Demand, view: Standing) -> Shape:
    record = view.record
    stands = front(context, view)
    by_id = {section.id: _size(context, section) for section in stands}
    left = RowRange(context.session, view.summarized, view.after)
    told = notice(context.session, view.summarized, max(view.after, view.summarized + 1))
    return describe(
        context,
        demand,
        view.after,
        record.cleared if record else {},
        summary_tokens=by_id.get("summary", 0),
        dropped_tokens=context.history.size(left) if record and record.lossy else 0,
        notice_tokens=_size(context, told),
        user_lines=max(0, context.user_lines() - context.sizing.user_lines(stands)),
    )


def _size(context: Context, section: Section) -> int:
    """Tokens of a section in front of the retained rows, without what users said, which the host shows behind it."""
    sizing = context.sizing
    return sizing.request([section]) - sizing.user_lines([section]) - context.fixed


def _observation(view: Standing, status: str) -> Observation:
    facts = [Fact("record not used", f"{each.id}: {each.reason}") for each in view.skipped]
    record = view.record
    if record is None:
        source = "folds of other extensions, and the rest of the transcript" if view.folds else "the whole transcript"
        return Observation("compacted" if view.folds else "whole", source, tuple(facts))
    facts += [
        Fact("record in force", f"{record.id} ({record.kind}, cut after row {record.cut.seq})"),
        Fact("results cleared", f"{len(record.cleared):,}"),
    ]
    if record.lossy:
        facts.append(Fact("left without a summary", f"rows {record.summarized + 1}-{record.dropped}"))
    if status == "suspended":
        facts.append(Fact("summaries", "suspended until a request fits"))
        return Observation("suspended", "window records; summaries are suspended", tuple(facts))
    return Observation("fallback" if record.lossy else "compacted", "window records and retained rows", tuple(facts))
