"""Folds that several extensions stored, composed into one list without holes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from refold.values.contexts import Fold, History, Prior

Provider = Callable[[History], Sequence[Fold]]
"""Lists one extension's folds for a history, oldest first."""


def compose(history: History, providers: Sequence[Provider]) -> Prior:
    """Asks each provider, in registry order, for folds of what the ones before it left.

    A provider's folds are kept only when the first starts where that history starts, none leaves a hole, and no fold
    is named (owner, id) like another.
    """
    folds: tuple[Fold, ...] = ()
    rest = history
    for provider in providers:
        offered = provider(rest)
        if _connected(offered, rest) and _distinct((*folds, *offered)):
            folds += tuple(offered)
            rest = _rest(history, offered[-1].covers.upto)
    return Prior(folds, rest)


def _connected(folds: Sequence[Fold], history: History) -> bool:
    """Whether the folds cover a range from the first row of the history on, each reaching further than the last."""
    if not folds or folds[0].covers.after != history.range.after:
        return False
    reached = history.range.after
    for fold in folds:
        covers = fold.covers
        if covers.session != history.range.session or covers.after > reached or covers.upto <= reached:
            return False
        reached = covers.upto
    return reached <= history.range.upto


def _distinct(folds: Sequence[Fold]) -> bool:
    return len({(fold.owner, fold.id) for fold in folds}) == len(folds)


def _rest(history: History, covered: int) -> History:
    """The history from the unit of the first uncovered row on."""
    if covered >= history.range.upto:
        return history.since(history.range.upto)
    ends = history.ends("turn")
    before = bisect_left(ends, covered + 1)
    return history.since(ends[before - 1] if before else history.range.after)
