"""Thrash: summaries that are followed by no request that fits.

Nothing is stored but two figures in each record; whether a request fitted is read from the rows behind it: an
assistant row answers a request that held the rows before it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from attrs import frozen
from refold import Context, RowRange

from refold_window.records import Record


@frozen
class Asked:
    """A request that was answered since the record: its size in tokens, and whether it came in a later turn."""

    tokens: int
    later: bool


@frozen
class Guard:
    """`run` counts summaries that were made by themselves in a row without a request that really fitted, `told` says
    that people were shown their suspension."""

    run: int = 0
    told: bool = False

    def suspended(self, strikes: int) -> bool:
        """Whether no further summary is made by itself."""
        return self.run >= strikes


def guard(run: int, told: bool, requests: Iterable[Asked], soft: int, strikes: int) -> Guard:
    """What a record's figures have become; `strikes` summaries in a row suspend further ones.

    A request *really fits* when it stays below `soft` in a later turn than the one that the record was written in:
    the request right after a reduction is small because of it. One such request re-arms the guard. Before that, a
    request that reached `soft` was refused a summary, and that was shown (unless the record itself left it there).

    >>> guard(2, False, [Asked(900, True)], 800, 2), guard(2, False, [Asked(300, True)], 800, 2)
    (Guard(run=2, told=True), Guard(run=0, told=False))
    """
    below = False
    for each in requests:
        if each.later and each.tokens < soft:
            return Guard()
        below = below or each.tokens < soft
        told = told or (run >= strikes and each.tokens >= soft and (each.later or below))
    return Guard(run, told)


def requests_since(context: Context, record: Record, size: int) -> list[Asked]:
    """The requests answered since the record, oldest first. `size` is that of the request as it stands (tokens).

    Where the provider counted one, that count holds; else it is estimated from the rows behind it.
    """
    history, session = context.history, context.session
    ends = history.ends("turn")
    place = bisect_left(ends, record.retained)
    turn_end = ends[place] if place < len(ends) else history.range.upto
    counted = {sent.upto: sent.tokens for sent in context.requests(record.retained) if sent.tokens is not None}
    found = []
    for row in history.rows(RowRange(session, record.retained, history.range.upto)):
        if row.kind == "assistant":
            held = row.ref.seq - 1
            estimate = size - history.size(RowRange(session, held, history.range.upto))
            found.append(Asked(counted.get(held, estimate), row.ref.seq > turn_end))
    return found
