"""Pure decisions: how much tail stays, how many pages a request may show, and which ones."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import frozen
from refold import Demand, Model, Window

from refold_snapcompact.settings import SnapcompactSettings

INLINE_BYTES = 3_000_000
"""Bytes of base64 that the pages of one request may have: gateways fail with little more."""

_PROTOCOL_IMAGES = {"anthropic": 100, "openai-responses": 200, "gemini": 200}
_FAMILY_IMAGES = ((r"claude", 100), (r"gemini", 200), (r"gpt|codex|(?<![a-z0-9])o[1-9](?![0-9a-z])", 200))
_UNKNOWN_IMAGES = 5


@frozen
class Budget:
    """How many pages a request may show and what set that number.

    `images` are the pictures that the provider takes in one request, `reserved` of them are kept for the newest turns.
    """

    pages: int
    source: str
    images: int
    reserved: int


@frozen
class Selection:
    """Of `count` pages those that are shown: the first (when `first`), and all from number `after` on (from 0)."""

    count: int
    first: bool
    after: int

    @property
    def pages(self) -> tuple[int, ...]:
        return (*((0,) if self.first else ()), *range(self.after, self.count))


def reads_images(model: Model) -> bool:
    """A model of which nobody knows what it reads counts as one that reads pictures."""
    return (not model.inputs or "image" in model.inputs) and model.max_images != 0


def image_limit(model: Model) -> int:
    """The pictures that a request may hold: declared, else the provider's, else few."""
    if model.max_images is not None:
        return model.max_images
    name = model.id.lower()
    by_family = next((limit for pattern, limit in _FAMILY_IMAGES if re.search(pattern, name)), _UNKNOWN_IMAGES)
    return _PROTOCOL_IMAGES.get(model.protocol, by_family)


def reserve(images: int) -> int:
    """Places kept for pictures of the newest turns. The number is fixed, so that a new picture moves no page."""
    return 0 if images < 2 else max(1, images // 10)


def budget(model: Model, window: Window, settings: SnapcompactSettings, page_tokens: int) -> Budget:
    """The smallest of the limits that are known before a page is drawn. `page_tokens` is the cost of a full page."""
    images = image_limit(model)
    reserved = reserve(images)
    share = window.share(settings.archive_percent)
    limits = [(settings.max_frames, "maxFrames"), (max(1, images - reserved), "the provider's pictures")]
    if share is not None:
        limits.append((max(1, share // max(1, page_tokens)), "archivePercent"))
    pages, source = min(limits)
    return Budget(pages, source, images, reserved)


def selections(count: int, most: int) -> Iterator[Selection]:
    """The pages that may be shown, the largest choice first: all, else the first and the newest, at most `most`.

    From choice to choice pages leave a quarter of `most` at a time, and where they have left once they have left for
    any larger `count` too. So the pages behind the first stay the same for several compactions, and with them what a
    provider has cached.

    >>> [next(selections(count, 8)).pages for count in (30, 31)]
    [(0, 23, 24, 25, 26, 27, 28, 29), (0, 25, 26, 27, 28, 29, 30)]
    """
    if most >= 2:
        batch = max(1, most // 4)
        left = -(-max(0, count - most) // batch) * batch
        for after in range(1 + left, max(count, 2), batch):
            yield Selection(count, count > 0, min(after, count))
        if count > 1:
            yield Selection(count, True, count - 1)
    yield Selection(count, False, max(0, count - 1))


def crowded(shown: int, pictures: int, limits: Budget) -> int:
    """How many shown pages give up their places because the newest turns hold more pictures than were reserved.

    It grows by whole reserves, so that not every new picture moves a page.
    """
    if pictures <= limits.reserved:
        return 0
    step = max(1, limits.reserved)
    taken = limits.reserved + -(-(pictures - limits.reserved) // step) * step
    return min(shown, max(0, shown - max(0, limits.images - taken)))


def tail_budget(demand: Demand, window: Window, settings: SnapcompactSettings, history: int, fixed: int) -> int:
    """Tokens that the tail may hold after this compaction; `history` is what the request holds now, and `fixed` what it
    holds besides, users' older words included.

    A share of the window; of what the request holds when that is less and somebody asked; of what a refusal revealed,
    when that is less still. Never so much that the pages could not stand beside it below the trigger.
    """
    bound = fixed + history if window.tokens is None else window.tokens
    ceiling = bound * settings.trigger_percent // 100
    pages = bound * settings.archive_percent // 100
    if demand.kind != "automatic":
        bound = min(bound, history)
    if demand.limit is not None:
        bound = min(bound, demand.limit)
        ceiling = min(ceiling, demand.limit)
    return max(0, min(bound * settings.tail_percent // 100, ceiling - fixed - pages))
