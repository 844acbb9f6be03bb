"""Pure decisions of a compaction: which rows become a block, and which blocks are merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from attrs import frozen
from refold import Demand

from refold_chain.layout import Layout

KEPT_STEPS = 4
"""Steps of a long turn that stay verbatim, where they fit."""

AIM_PERCENT = 50
"""A fold inside a turn aims at this share of the threshold, so that the next one is far off."""

PROMPT_PERCENT = 10
"""The share of the window that a prompt takes in front of its summary."""

MERGE_PART, MERGED_PART = 3, 6
"""Blocks may take a third of the window; a merge brings them down to a sixth."""

CONTEXT_PERCENT = 27
"""The share of the window that earlier blocks take in a summarizer's request, at most."""


@frozen
class Part:
    """Rows to fold into one block. `in_turn`: they are steps of the turn that is being answered, whose prompt stays
    in front of the block if it is among them."""

    after: int
    upto: int
    in_turn: bool = False


@frozen
class Room:
    """Tokens. `held`: what the request carries besides the tail. `summary`: one new block, at most. `prompt`: the
    prompt in front of a block. `ceiling`: the size at which the request would be due again. `aim`: the size that a
    fold inside a turn aims at, and one after a refusal in any case."""

    held: int
    summary: int
    prompt: int
    ceiling: int
    aim: int


def summary_limit(window: int) -> int:
    """Tokens of one block: a sixteenth of the window, between 96 and 2,048."""
    return min(2048, max(96, window // 16))


def scale_percent(demand: Demand, estimate: int) -> int:
    """What a token estimated here counts at the provider, in percent: the request's size as it was measured over its
    estimate. A single answer is not believed when it is off by more than a factor of two and a half."""
    if demand.size <= 0 or estimate <= 0:
        return 100
    return min(250, max(40, demand.size * 100 // estimate))


def room(demand: Demand, window: int, threshold: int, scale: int, *, held: int, prompt: int) -> Room:
    """The room of a compaction in a window of so many tokens, at a threshold and with a scale in percent.

    A refusal that revealed a limit makes that limit the window.
    """
    bound = window if demand.limit is None else min(window, demand.limit)
    ceiling = bound * threshold // scale
    return Room(
        held=held,
        summary=summary_limit(bound),
        prompt=min(prompt, max(1, bound * PROMPT_PERCENT // 100)),
        ceiling=ceiling,
        aim=ceiling * AIM_PERCENT // 100,
    )


def choose(layout: Layout, demand: Demand, keep: int, room: Room, tail: Callable[[int], int]) -> tuple[Part, ...]:
    """The rows to fold, in at most two parts; empty: there is nothing.

    `keep` turns stay, or fewer when the window does not hold them. Only who asks (`manual`, `model`) may have the turn
    that is being answered folded; otherwise, when keeping that turn alone is too much, its earlier steps are folded
    too. `tail` measures the rows behind a seq, in tokens.
    """
    asked = demand.kind in ("manual", "model")
    bound = room.aim if demand.kind == "overflow" else room.ceiling - 1
    cuts = [cut for kept in _kept(keep, asked) if (cut := _turn_cut(layout, kept)) is not None]
    for cut in cuts:
        if room.held + room.summary + tail(cut) <= bound:
            return (Part(layout.after, cut),)
    if asked:
        return tuple(Part(layout.after, cut) for cut in cuts[-1:])
    earlier = _turn_cut(layout, 1)
    budget = room.aim - room.held - room.prompt - (room.summary if earlier is not None else 0)
    step = step_cut(layout, 0 if demand.kind == "overflow" else 1, budget, tail)
    parts = [] if earlier is None else [Part(layout.after, earlier)]
    if step is not None:
        parts.append(Part(layout.after if earlier is None else earlier, step, in_turn=True))
    return tuple(parts)


def step_cut(layout: Layout, floor: int, budget: int, tail: Callable[[int], int]) -> int | None:
    """The end of the last step to fold, so that at most four stay, as many as fit into `budget` tokens, and never
    fewer than `floor` or than those that must stay. None: no step may go."""
    count = len(layout.steps)
    least = max(floor, layout.held)
    cuts = [layout.steps[count - 1 - kept] for kept in range(min(KEPT_STEPS, count - 1), least - 1, -1)]
    if not cuts and count > least:  # more than four must stay
        cuts = [layout.steps[count - 1 - least]]
    return next((cut for cut in cuts if tail(cut) <= budget), cuts[-1] if cuts else None)


def _kept(keep: int, asked: bool) -> Iterable[int]:
    return range(keep, -1, -1) if asked else range(max(1, keep), 0, -1)


def _turn_cut(layout: Layout, kept: int) -> int | None:
    """The last row to fold when so many turns are kept; None: nothing new is older."""
    if kept == 0:
        cut = layout.foldable
    elif kept < len(layout.turns):
        cut = min(layout.turns[len(layout.turns) - kept - 1], layout.foldable)
    else:
        return None
    return cut if cut > layout.after else None


def merges(sizes: Sequence[int], groups: Sequence[tuple[int, int]], window: int) -> tuple[tuple[int, int], ...]:
    """The runs of blocks (from, to) to merge into one each, by their sizes in tokens; empty: they fit.

    Nothing is merged before the blocks outgrow a third of the window; then they come down to half of that. `groups`
    are the runs that may be merged, the most willing first; how long a merged block is, `merged_limit` says.
    """
    total = sum(sizes)
    if total * MERGE_PART <= window:
        return ()
    target = window // MERGED_PART
    chosen = []
    for start, end in groups:
        if total <= target or end - start < 2:
            continue
        stop = next((to for to in range(start + 2, end) if total - _won(sizes[start:to], window) <= target), end)
        total -= _won(sizes[start:stop], window)
        chosen.append((start, stop))
    return tuple(chosen)


def merged_limit(sizes: Sequence[int], window: int) -> int:
    """Tokens of the block that takes the place of blocks of these sizes: the longest of them, or what a merge brings
    all blocks down to, where that is less.

    >>> merged_limit([300, 900], 12_000), merged_limit([300, 900], 3_000)
    (900, 500)
    """
    return min(max(sizes), max(1, window // MERGED_PART))


def _won(sizes: Sequence[int], window: int) -> int:
    return sum(sizes) - merged_limit(sizes, window)
