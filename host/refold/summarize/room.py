"""Which lines of the structured part stay when there is not room for all."""

from __future__ import annotations

from attrs import evolve

from refold.sizing.estimate import tokens
from refold.summarize.detect import exact, judge
from refold.summarize.shapes import directive, generality
from refold.summarize.standing import KEPT, Item, Standing

FIRM = 75
"""Percent of a summary that rules, limits, goals and preferences may take; the rest is the account of the work."""

LOOSE = 70
"""Percent that the part may take when lines that may fade (facts, decisions, the state, weak orders) are added."""

STATES = 4
"""Lines of the task's state: a newer state replaces the oldest."""


def fitted(standing: Standing, limit: int) -> Standing:
    """The part within its share of `limit` tokens, in its order.

    Firm lines (kinds in KEPT) come first: the strongest, then those that reach furthest, then the newest. Then what
    may fade, the most specific and newest first. Firm lines that do not fit are counted in `left_out`.
    """
    states = [item for item in standing.items if item.kind == "state"]
    faded = {item.key for item in states[:-STATES]}
    items = [item for item in standing.items if item.key not in faded]
    standing = evolve(standing, items=tuple(items))
    if standing.size() <= limit * LOOSE // 100:
        return standing
    order = list(enumerate(items))
    firm = [entry for entry in order if entry[1].kind in KEPT]
    loose = [entry for entry in order if entry[1].kind not in KEPT]
    firm.sort(key=lambda entry: (_strength(entry[1]), _reach(entry[1]), entry[0]), reverse=True)
    loose.sort(key=lambda entry: (_worth(entry[1]), entry[0]), reverse=True)
    chosen: dict[int, Item] = {}
    used = Standing(left_out=standing.left_out + len(firm) + 1).size()
    used = _fill(firm, used, limit * FIRM // 100, chosen)
    lost = standing.left_out + len(firm) - len(chosen)
    _fill(loose, used, limit * LOOSE // 100, chosen)
    kept = Standing(tuple(chosen[at] for at in sorted(chosen)), lost)
    # Where not even the frame of the part fits, there is none: the summary is a line or two.
    return kept if kept.size() <= limit * FIRM // 100 else Standing()


def _fill(entries: list[tuple[int, Item]], used: int, limit: int, chosen: dict[int, Item]) -> int:
    """Chooses entries in their order as long as they fit, and returns the tokens used."""
    for at, item in entries:
        size = tokens(item.render() + "\n") + 1
        if used + size <= limit:
            used += size
            chosen[at] = item
    return used


def _strength(item: Item) -> int:
    judged = judge(item.text)
    return 2 if judged is None else judged.strength


def _worth(item: Item) -> int:
    """What a line is worth that may fade: exact names, an order rather than a remark, and how far it reaches beyond
    the moment."""
    orders = directive(item.text.lower())
    return min(4, 2 * exact(item.text)) + (orders or item.kind in ("decision", "state")) + _reach(item)


def _reach(item: Item) -> int:
    """How far the line reaches beyond the moment; a long one takes the room of several."""
    return generality(item.text.lower()) - len(item.text) // 120
