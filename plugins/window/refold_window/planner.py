"""The ladder, evaluated on paper: from the view and the budget to one plan, or to the reason why there is none.

1. `microcompact` clears older results that can be had again. 2. `collapse` clears older results of actions, too, and
leaves receipts. 3. `summary` has a curator model replace an older prefix. The cheapest rung that reaches the target
wins. 4. `drop` lets an older prefix leave without a summary: only when the request does not fit and no summary is to
be had. Pure: no I/O, no model, no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal

from attrs import evolve, field, frozen

from refold_window.budget import Budget
from refold_window.receipts import ToolClass
from refold_window.shape import End, Result, Shape

Kind = Literal["microcompact", "collapse", "summary", "drop"]

_RUNGS: tuple[tuple[Kind, frozenset[ToolClass]], ...] = (
    ("microcompact", frozenset({"dump"})),
    ("collapse", frozenset({"dump", "action"})),
)
_LEAST_SUMMARY = 64
"""Tokens: where a summary would have to be shorter, there is nothing to summarize."""


@frozen
class Plan:
    """One reduction, to be recorded as one record and to rewrite the prefix once.

    `upto` is the last row that leaves the view (None: none does), `clear` maps results to their receipts, `limit` is
    tokens of the summary and `said` of users' words in rows that leave, `gain` the tokens that the request loses.
    `reason` says why this rung.
    """

    kind: Kind
    gain: int
    upto: int | None = None
    clear: Mapping[int, str] = field(factory=dict)
    limit: int = 0
    said: int = 0
    reason: str = ""


@frozen
class Refusal:
    """No plan, and why."""

    code: Literal["nothing", "open_join", "suspended"]
    reason: str


def plan(view: Shape, budget: Budget) -> Plan | Refusal:
    """The cheapest plan that reaches the target, else the one that saves most, else the reason why nothing is done."""
    tried: list[Plan] = []
    for each in _candidates(view, budget):
        if each.gain < budget.min_gain:
            continue
        if budget.size - each.gain <= budget.target:
            return evolve(each, reason=_sufficient(each, budget))
        tried.append(each)
    return _insufficient(view, budget, max(tried, key=lambda each: each.gain, default=None))


def clearable(view: Shape, budget: Budget, tools: Collection[ToolClass]) -> tuple[Result, ...]:
    """The `older` results of such tools without the newest read of each target, oldest first."""
    newest_reads = {each.key: each.seq for each in view.results if each.key is not None and not each.failed}
    return tuple(
        each for each in older(view, budget, tools) if each.key is None or newest_reads.get(each.key) != each.seq
    )


def older(view: Shape, budget: Budget, tools: Collection[ToolClass]) -> tuple[Result, ...]:
    """The results of such tools that may be cleared where nothing else is left, oldest first.

    Never: what the model has not seen, an error, what a call pinned, what is small, what lies behind the barrier. The
    newest `keep_results` of all that are left stay; they are not used up by results that could not be cleared anyway.
    """
    worth = [
        each
        for each in view.results
        if each.seen
        and not each.failed
        and not each.pinned
        and each.tokens >= budget.clear_at_least
        and each.receipt_tokens < each.tokens
    ]
    old = worth[: len(worth) - budget.keep_results] if budget.keep_results else worth
    return tuple(each for each in old if each.tool in tools and (view.barrier is None or each.seq <= view.barrier))


def _candidates(view: Shape, budget: Budget) -> Iterator[Plan]:
    """Every plan that may be made, the ones that cost least first; newest reads go last."""
    yield from _clears(view, budget, clearable)
    if budget.curator == "ready":
        yield from _summaries(view, budget)
    if budget.over or not _ends(view):
        yield from _clears(view, budget, older)


def _clears(
    view: Shape, budget: Budget, which: Callable[[Shape, Budget, Collection[ToolClass]], Sequence[Result]]
) -> Iterator[Plan]:
    for kind, tools in _RUNGS:
        if results := which(view, budget, tools):
            yield _with_clears(Plan(kind, 0), results)


def _summaries(view: Shape, budget: Budget) -> Iterator[Plan]:
    """A summary of the prefix; then the same with older results of what stays cleared in the same record."""
    end = _recent_end(view, budget)
    outgrown = view.summary_tokens * 2 > budget.summary * 3
    if end is None and not view.dropped_tokens and not outgrown:
        return
    # Without a turn to fold, a summary may still cover what had left without one, or its own older text where that
    # takes clearly more than its share, as after a change to a smaller window.
    cut = end or End(view.after, 0, 0)
    source = cut.raw + view.dropped_tokens + view.summary_tokens
    limit = min(budget.summary, source // 2)
    gone = cut.tokens - cut.said + view.summary_tokens + (view.notice_tokens if view.dropped_tokens else 0)
    if limit < _LEAST_SUMMARY or gone <= limit:
        return
    bare = Plan("summary", gone - limit, upto=cut.seq, limit=limit, said=cut.said)
    yield bare
    for _, tools in _RUNGS:
        later = [each for each in clearable(view, budget, tools) if each.seq > cut.seq]
        if later:
            yield _with_clears(bare, later)


def _drop(view: Shape, budget: Budget) -> Plan | None:
    """The shortest prefix whose leaving reaches the target, else the longest that may leave."""
    ends = _ends(view)
    notice = 0 if view.dropped_tokens else view.notice_tokens
    results = clearable(view, budget, frozenset({"dump", "action"}))
    found: Plan | None = None
    for end in ends:
        bare = Plan("drop", end.tokens - end.said - notice, upto=end.seq, said=end.said)
        found = _with_clears(bare, [each for each in results if each.seq > end.seq])
        if budget.size - found.gain <= budget.target:
            return found
    return found if found is not None and found.gain > 0 else None


def _insufficient(view: Shape, budget: Budget, best: Plan | None) -> Plan | Refusal:
    """No rung reaches the target."""
    if budget.curator == "suspended" and not budget.told and budget.size <= (budget.window or budget.size):
        return Refusal("suspended", _suspended(budget))
    if best is not None and (not budget.over or budget.size - best.gain <= budget.hard):
        return evolve(best, reason=_short_of(best, budget))
    if budget.over and not budget.asked and (budget.curator != "ready" or view.join):
        dropped = _drop(view, budget)
        if dropped is not None:
            return evolve(dropped, reason=_no_summary(view, budget))
    if best is not None:
        return evolve(best, reason=_short_of(best, budget))
    if view.join and view.ends and not _ends(view):
        return Refusal("open_join", f"blocked(open_join): a child that began after row {view.barrier} has not joined")
    if budget.curator == "suspended" and not budget.told:
        return Refusal("suspended", _suspended(budget))
    return Refusal("nothing", "there is nothing older that is worth clearing or folding")


def _recent_end(view: Shape, budget: Budget) -> End | None:
    """The earliest turn end that leaves no more than the recent part, else the last one that a cut may take."""
    ends = _ends(view)
    fitting = (end for end in ends if view.tokens - end.tokens <= budget.keep_recent)
    return next(fitting, ends[-1] if ends else None)


def _ends(view: Shape) -> Sequence[End]:
    return [end for end in view.ends if view.barrier is None or end.seq <= view.barrier]


def _with_clears(plan: Plan, results: Sequence[Result]) -> Plan:
    saved = sum(each.tokens - each.receipt_tokens for each in results)
    return evolve(plan, gain=plan.gain + saved, clear={each.seq: each.receipt for each in results})


def _sufficient(chosen: Plan, budget: Budget) -> str:
    return f"the cheapest rung that reaches {budget.target:,} tokens: {budget.size - chosen.gain:,} are left"


def _short_of(chosen: Plan, budget: Budget) -> str:
    left = budget.size - chosen.gain
    return f"no rung reaches {budget.target:,} tokens; this one saves most: {left:,} are left"


def _no_summary(view: Shape, budget: Budget) -> str:
    if budget.curator == "failed":
        why = "the summary failed"
    elif budget.curator == "suspended":
        why = "summaries are suspended"
    else:
        why = f"blocked(open_join) after row {view.barrier}"
    return f"{budget.size:,} tokens do not fit into {budget.hard:,} and no summary is to be had: {why}"


def _suspended(budget: Budget) -> str:
    return (
        "suspended: the window was full again after each of the last summaries before any request fitted, so no "
        f"further one is made by itself until a request stays below {budget.soft:,} tokens"
    )
