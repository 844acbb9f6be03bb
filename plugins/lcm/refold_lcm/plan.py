"""Pure decisions: how a request is shared out, which rows become one leaf, which nodes become one parent."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby

from attrs import frozen
from refold import Demand, History, RowRange

from refold_lcm.settings import LcmSettings

WRAPPING = 45
"""Tokens, at most, of the lines around a node's summary and of its message."""

FRAME = 25
"""Tokens of the lines around what users said behind a node."""

LEAST_LEAF, LARGEST_LEAF = 64, 1_536
LEAST_PARENT, LARGEST_PARENT = 128, 3_072
"""Tokens of a summary's limit."""

LEAST_CHUNK, LARGEST_CHUNK = 400, 6_000
"""Tokens of rows that one leaf covers, where units allow it."""

FAN = 4
"""Nodes that one parent joins."""

LEAVES, PARENTS = 8, 4
"""Leaves, or parents, of the largest size that fit into the nodes' share."""


@frozen
class Shares:
    """Tokens of the parts of a request after a compaction.

    `tail` is what units after the cut may hold, `free` what tail and nodes may hold together to stay below the
    trigger, `leaf` and `parent` limit one summary, `chunk` is what one leaf should cover.
    """

    tail: int
    free: int
    leaf: int
    parent: int
    chunk: int

    def nodes(self, tail: int) -> int:
        """What nodes may hold beside a tail of so many tokens: half of what it leaves, so that there is room to grow.
        A tail that leaves nothing is beyond help; then nodes keep the share that the largest allowed tail leaves."""
        left = self.free - tail
        return (left if left > 0 else self.free - min(self.tail, self.free)) // 2


def shares(demand: Demand, window: int | None, settings: LcmSettings, history: int, fixed: int) -> Shares:
    """The shares under a window of `window` tokens; `history` is what the request holds now, and `fixed` what it holds
    besides, users' older words included.

    The tail gets its percentage of the window; of what the request holds when that is less and somebody asked, so
    that a manual compaction under a large window does something; of what a refusal revealed, when that is less still.
    """
    whole = fixed + history if window is None else window
    if demand.limit is not None:
        whole = min(whole, demand.limit)
    free = max(0, whole * settings.trigger_percent // 100 - fixed)
    bound = whole if demand.kind == "automatic" else min(whole, history)
    tail = max(0, min(bound * settings.tail_percent // 100, free - whole // 10))
    nodes = (free - tail) // 2
    return Shares(
        tail=tail,
        free=free,
        leaf=min(LARGEST_LEAF, max(LEAST_LEAF, nodes // LEAVES - WRAPPING)),
        parent=min(LARGEST_PARENT, max(LEAST_PARENT, nodes // PARENTS - WRAPPING)),
        chunk=min(LARGEST_CHUNK, max(LEAST_CHUNK, whole // 2)),
    )


def chunks(history: History, rows: RowRange, budget: int) -> Iterator[RowRange]:
    """`rows`, which end with a unit, in consecutive ranges of whole units.

    Each holds at most `budget` tokens, or a single unit. None but a single one holds less than a quarter of it: a
    small rest joins the range before it, a small beginning the large unit behind it.
    """
    ends = history.ends("turn")
    after, first = rows.after, bisect_right(ends, rows.after)
    while after < rows.upto:
        beyond = bisect_right(ends, budget, lo=first, key=partial(_size, history, after))
        last = max(first, beyond - 1)
        if _size(history, after, ends[last]) < budget // 4:
            last = min(beyond, len(ends) - 1)
        upto = min(rows.upto, ends[last])
        if _size(history, upto, rows.upto) < budget // 4:
            upto = rows.upto
        yield RowRange(rows.session, after, upto)
        after, first = upto, last + 1


def group(depths: Sequence[int]) -> range:
    """Which of the nodes, by their depths from the oldest on, become one parent: at least two, neighbours.

    The oldest FAN of one depth where there are as many; else the oldest two or more of one depth; else the oldest two.

    >>> group([2, 1, 1, 0, 0, 0, 0, 0])
    range(3, 7)
    >>> group([2, 1, 1, 0])
    range(1, 3)
    >>> group([2, 1, 0])
    range(0, 2)
    """
    runs: list[range] = []
    start = 0
    for _, run in groupby(depths):
        length = len(list(run))
        runs.append(range(start, start + min(length, FAN)))
        start += length
    full = next((run for run in runs if len(run) == FAN), None)
    pair = next((run for run in runs if len(run) > 1), None)
    return full or pair or range(2)


def _size(history: History, after: int, upto: int) -> int:
    return history.size(RowRange(history.range.session, after, upto))
