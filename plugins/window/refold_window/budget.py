"""How much room there is, and what a reduction has to reach. Pure arithmetic; every size is tokens."""

from __future__ import annotations

from typing import Literal

from attrs import frozen
from refold import Demand, Window

from refold_window.settings import WindowSettings

Curator = Literal["ready", "suspended", "failed"]
"""Whether a summary is to be had: it may be asked for, thrash forbids it, or it was asked for and failed."""


@frozen
class Headroom:
    """What the history may take: `usable` is the window without output reserve and fixed parts (`fixed`).

    `soft` and `hard` are sizes of the whole request: a reduction is due, and nothing more fits.
    """

    fixed: int
    usable: int
    soft: int
    hard: int


@frozen
class Budget:
    """What one attempt has to keep to. `size`, `target`, `soft` and `hard` are sizes of the whole request.

    `over` says that the request does not fit; `window` is the whole window (None: unknown); `told` says that the
    suspension was shown already.
    """

    size: int
    target: int
    soft: int
    hard: int
    window: int | None
    over: bool
    asked: bool
    min_gain: int
    keep_recent: int
    keep_results: int
    clear_at_least: int
    summary: int
    curator: Curator = "ready"
    told: bool = False


def headroom(window: int, fixed: int, settings: WindowSettings) -> Headroom:
    """The room in a window of that many tokens; `usable` is at most 0 when the fixed parts fill it.

    >>> headroom(1000, 100, WindowSettings(output_reserve_tokens=200))
    Headroom(fixed=100, usable=700, soft=660, hard=800)
    """
    quarter = window // 4
    reserve = quarter if settings.output_reserve_tokens is None else min(settings.output_reserve_tokens, quarter)
    usable = window - reserve - fixed
    return Headroom(fixed, usable, fixed + _share(max(0, usable), settings.soft_percent), window - reserve)


def budget(demand: Demand, window: Window, fixed: int, settings: WindowSettings) -> Budget:
    """The budget of one attempt.

    Who asks (`manual`, `model`) gets a reduction under any window: it aims at a share of what the request holds, and
    anything that makes it smaller counts. A refusal counts as not fitting, and the limit that it revealed is the
    room there is.
    """
    content = max(0, demand.size - fixed)
    if window.tokens is None:
        room = Headroom(fixed, content, fixed + _share(content, settings.soft_percent), fixed + content)
    else:
        room = headroom(window.tokens, fixed, settings)
    usable, hard = max(0, room.usable), room.hard
    if demand.kind == "overflow":
        revealed = demand.size if demand.limit is None else demand.limit
        usable, hard = min(usable, max(0, revealed - fixed)), min(hard, revealed)
    asked = demand.kind in ("manual", "model")
    aim = min(usable, content) if asked or demand.kind == "overflow" else usable
    worth = max(settings.gain_at_least_tokens, usable * settings.gain_at_least_percent // 100)
    return Budget(
        size=demand.size,
        target=fixed + aim * settings.target_percent // 100,
        soft=min(room.soft, hard),
        hard=hard,
        window=window.tokens,
        over=demand.kind == "overflow" or demand.size > hard,
        asked=asked,
        min_gain=1 if asked or demand.kind == "overflow" else max(1, min(worth, usable // 8)),
        keep_recent=min(settings.keep_recent_tokens, aim * settings.keep_recent_percent // 100),
        keep_results=settings.keep_results,
        clear_at_least=settings.clear_at_least_tokens,
        summary=min(settings.summary_tokens, usable * settings.summary_percent // 100),
    )


def _share(tokens: int, percent: int) -> int:
    """A percentage, rounded up, so that `size >= share` is the integer rule `size * 100 >= tokens * percent`."""
    return -(-tokens * percent // 100)
