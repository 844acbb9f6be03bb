"""Pure decisions of a rolling compaction: how much tail stays, and which rows a summarizer call reads."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from refold import Demand, History, RowRange, Window

from refold_rolling.settings import RollingSettings

SMALLEST_CHUNK = 1000
"""Tokens: a chunk is never planned smaller."""

RECAP_TOKENS = 450
"""Tokens set aside for a recap of three excerpts of 400 characters."""


def tail_budget(demand: Demand, window: Window, settings: RollingSettings, history: int, fixed: int) -> int:
    """Tokens that the tail may hold after this compaction; `history` is what the request holds now, and `fixed` what it
    holds besides, users' older words included.

    A share of the window; of what the request holds when that is less and somebody asked, so that a manual
    compaction under a large window does something; of what a refusal revealed, when that is less still. Never so
    much that summary and recap could not stand beside it below the trigger.
    """
    bound = fixed + history if window.tokens is None else window.tokens
    ceiling = bound * settings.trigger_percent // 100
    if demand.kind != "automatic":
        bound = min(bound, history)
    if demand.limit is not None:
        bound = min(bound, demand.limit)
        ceiling = min(ceiling, demand.limit)
    room = ceiling - fixed - summary_limit(window.tokens) - RECAP_TOKENS
    return max(0, min(bound * settings.tail_percent // 100, room))


def summary_limit(window: int | None) -> int:
    """Tokens of one summary: a tenth of the window, between 128 and 2,048."""
    return 2048 if window is None else min(2048, max(128, window // 10))


def chunk_budget(window: int) -> int:
    """Tokens of history that one summarizer call reads: half the window."""
    return max(SMALLEST_CHUNK, window // 2)


def chunks(history: History, rows: RowRange, budget: int) -> Iterator[RowRange]:
    """`rows` in consecutive ranges of whole turns, each within `budget` tokens or a single turn."""
    after = rows.after
    while after < rows.upto:
        chunk = _chunk(history, RowRange(rows.session, after, rows.upto), budget)
        yield chunk
        after = chunk.upto


def _chunk(history: History, rows: RowRange, budget: int) -> RowRange:
    ends = history.ends("turn")

    def size(end: int) -> int:
        return history.size(RowRange(rows.session, rows.after, end))

    first = bisect_right(ends, rows.after)
    beyond = bisect_right(ends, budget, lo=first, key=size)
    upto = ends[max(first, beyond - 1)] if first < len(ends) else rows.upto
    return RowRange(rows.session, rows.after, min(rows.upto, upto))
