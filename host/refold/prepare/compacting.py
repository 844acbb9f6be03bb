"""One attempt to compact: the strategy's `compact`, the hooks around it, and every way in which it may end."""

from __future__ import annotations

from functools import partial
from typing import get_args

from attrs import evolve

from refold.prepare.context import View
from refold.prepare.draw import Drawn, sent_history
from refold.prepare.listen import listen, one_line, say
from refold.prepare.request import Attempted, Desk
from refold.prepare.work import Attempt, Bench, BoundWork, CompactWork, Ended, held
from refold.registry.answers import checked
from refold.registry.contributions import Extension
from refold.values.errors import CompactionFailed, SummaryRejected, Superseded, Vetoed
from refold.values.outcome import Applied, Blocked, Demand, Event, Nothing, Outcome
from refold.values.rows import RowRange


def attempt(desk: Desk, drawn: Drawn, demand: Demand, *, dry: bool = False) -> Attempted:
    """Asks the strategy in force to compact what was drawn, inside the snapshot it was drawn in.

    Raises CompactionFailed when it could not; then state, view and transcript are what they were. A failure after a
    commit is `Applied` with a note, since each commit leaves a complete state.
    """
    view = evolve(drawn.view, history=sent_history(drawn))
    strategy = view.composition.strategy
    if strategy is None or strategy.strategy is None:
        problems = [f"{each.id or 'extensions'}: {each.text}" for each in view.composition.problems]
        why = f" ({'; '.join(problems)})" if problems else ""
        missing = f"no strategy is enabled{why}; enable one with 'refold extensions enable NAME'"
        return Attempted(Blocked("missing", missing), drawn.size)
    bench = Bench(desk.database, desk.summarize, desk.notices, desk.started, desk.progress, desk.cancelled)
    under_way = Attempt(demand, dry)
    work = CompactWork(view, strategy, bench, drawn.elided, attempt=under_way)
    try:
        outcome = _outcome(strategy.strategy.compact(work, demand), view.history.range, under_way)
    except Ended as ended:
        rows = under_way.named
        tokens = None if rows is None else view.history.size(rows)
        return Attempted(Nothing(str(ended)), drawn.size, rows, tokens)
    except (Exception, SystemExit) as error:
        outcome = _failed(strategy.id, error, under_way, work)
    if isinstance(outcome, Applied):
        view.reader.renew()
        _tell(desk, view, bench, Event(demand, strategy.id, outcome.covers, outcome))
    return Attempted(outcome, drawn.size)


def _outcome(answer: object, history: RowRange, under_way: Attempt) -> Outcome:
    """What the strategy answered, held against what it did."""
    outcome: Outcome = checked(answer, *get_args(Outcome))
    if isinstance(outcome, Applied):
        if not under_way.committed:
            raise CompactionFailed("it says that it compacted, but committed nothing")
        held(outcome.covers, history)
        return evolve(outcome, note=one_line(outcome.note))
    if under_way.committed:
        raise CompactionFailed(f"it committed, then said: {one_line(outcome.reason)}")
    return evolve(outcome, reason=one_line(outcome.reason))


def _failed(strategy: str, error: BaseException, under_way: Attempt, work: CompactWork) -> Outcome:
    words = say(error)
    if under_way.committed and under_way.begun is not None:
        kept = words.replace("; nothing was changed", "")
        return Applied(_reached(under_way.begun, work), note=f"stopped early: {kept}")
    if isinstance(error, SummaryRejected) and error.reason == "not_smaller" and under_way.demand.kind == "manual":
        return Nothing(f"compacting would not make the request smaller: {words}")
    if isinstance(error, Vetoed):
        return Blocked("veto", words)
    if isinstance(error, Superseded):
        return Blocked("busy", words)
    raise CompactionFailed(f"compaction {strategy}: {words}") from error


def _reached(begun: RowRange, work: CompactWork) -> RowRange:
    """How far of the rows that were begun the commits came: as far as the strategy covers now."""
    strategy = work.extension.strategy
    assert strategy is not None
    try:
        covers = [section.covers.upto for section in strategy.project(work).sections if section.covers is not None]
    except Exception:
        return begun
    return evolve(begun, upto=max(begun.after, min(begun.upto, max(covers, default=begun.upto))))


def _tell(desk: Desk, view: View, bench: Bench, event: Event) -> None:
    for each in view.composition.extensions:
        if each.gives("post_compact"):
            listen(desk.notices, each.id, "post_compact", partial(_post, BoundWork(view, each, bench), each, event))


def _post(work: BoundWork, extension: Extension, event: Event) -> None:
    extension.hook.post_compact(context=work, event=event)
