"""The shape of a page by the model that reads it.

Two things were measured to decide whether a page is read (benchmarks of the implementations before this one, over the
output of tools): the cell, and that the provider does not scale the picture down. So cells are the ones that were read
best by each family, and a page is as large as the family takes it pixel for pixel, never larger: two pages that are
read are better than one that is guessed. `docs` of each provider give the limits; the README has the table.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

from attrs import evolve, frozen
from refold import Model

FEWEST_PAGES = 4
FEWEST_ROWS = 8
"""A small window gets pages of fewer rows, so that the budget still buys a few; but not fewer than these."""

SMALLEST_HEIGHT = 64
"""Pixels: some vision processors refuse a picture that is lower."""


@frozen
class Shape:
    """A page of `rows` rows at most: each cell is `advance` pixels wide and `pitch` high, the page `width` pixels, and
    never lower than `lowest`."""

    advance: int
    pitch: int
    width: int
    rows: int
    lowest: int = SMALLEST_HEIGHT

    @property
    def columns(self) -> int:
        return self.width // self.advance

    @property
    def capacity(self) -> int:
        """Cells of a full page: what fits even if every row ends a cell early, for a character of two cells."""
        return max(1, (self.columns - 1) * self.rows - 1)

    def height(self, rows: int) -> int:
        """Pixels of a page that fills that many rows: it is no higher than its text."""
        return max(self.lowest, rows * self.pitch)

    @property
    def name(self) -> str:
        """The shape as words of a page's key, such as `11x16-1568x49x64`."""
        return f"{self.advance}x{self.pitch}-{self.width}x{self.rows}x{self.lowest}"


CLAUDE_STANDARD = Shape(11, 16, 1568, 49)  # 56 x 28 patches of 28 pixels: the 1,568 of the standard resolution
CLAUDE_HIGH = Shape(11, 16, 1932, 120)  # 69 x 69 patches of 4,784; below 2,000 pixels, the limit beside 20 pictures
GEMINI = Shape(8, 22, 2048, 93)  # a flat bill, whatever the size
GEMINI_TILES = Shape(8, 22, 1536, 69, lowest=1152)  # two by two crops of 768 pixels; a low picture is cut into more
OPENAI = Shape(8, 22, 1568, 71)  # 49 x 49 patches of 32 pixels: within 2,500
OPENAI_SMALL = Shape(8, 22, 1568, 45)  # 49 x 31 patches: within 1,536
OPENAI_TILES = Shape(8, 22, 768, 93)  # the short side goes to 768 pixels
GLM = Shape(8, 16, 1568, 98)
MISTRAL = Shape(8, 22, 1536, 70)  # sides up to 1,540 pixels
PIXTRAL = Shape(8, 22, 1024, 46)
UNKNOWN = Shape(8, 22, 1568, 35)  # inside the smallest box that a family nobody knows may have

_SHAPES: tuple[tuple[str, Shape], ...] = (
    (r"fable|mythos", CLAUDE_STANDARD),
    (r"gemini-[12](?!\d)", GEMINI_TILES),
    (r"gemini", GEMINI),
    (r"gpt-?5\.(?:[4-9]|\d\d)(?!\d)(?!-(?:mini|nano))|gpt-?[6-9](?!\d)", OPENAI),
    (r"gpt-?4\.1-(?:mini|nano)|o4-mini|gpt-?5[.\d]*-(?:mini|nano)|gpt-?5\.[23]", OPENAI_SMALL),
    (r"gpt|codex|computer-use|(?<![a-z0-9])o[1-9](?![0-9a-z])", OPENAI_TILES),
    (r"kimi|moonshot", OPENAI),
    (r"glm", GLM),
    (r"pixtral", PIXTRAL),
    (r"mistral|ministral|magistral", MISTRAL),
)

_CLAUDE_VERSION = re.compile(r"claude(?:-[a-z]+)*-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_HIGH_FROM = (4, 7)


def shape_for(model: Model) -> Shape | None:
    """The pages that a model gets, within its declared edge; None when it takes no picture that holds a row.

    >>> shape_for(Model("claude-sonnet-4-5", "anthropic", "")).name
    '11x16-1568x49x64'
    """
    shape = _by_name(model.id.lower())
    if model.max_edge is None:
        return shape
    if model.max_edge < SMALLEST_HEIGHT:
        return None
    return evolve(
        shape,
        width=min(shape.width, model.max_edge),
        rows=min(shape.rows, model.max_edge // shape.pitch),
        lowest=min(shape.lowest, model.max_edge),
    )


def affordable(shape: Shape, share: int | None, cost: Callable[[int, int], int]) -> Shape:
    """The shape with fewer rows where `share` tokens would buy fewer than four full pages; None: nobody knows.

    A page of fewer rows is read as well. `cost` is the tokens of a picture by width and height; where a lower picture
    costs the same, the shape stays.
    """
    full = cost(shape.width, shape.height(shape.rows))
    if share is None or share >= FEWEST_PAGES * full:
        return shape
    lower = evolve(shape, rows=min(shape.rows, FEWEST_ROWS))
    if cost(lower.width, lower.height(lower.rows)) == full:
        return shape
    enough = bisect_right(
        range(shape.rows + 1), share // FEWEST_PAGES, key=lambda n: cost(shape.width, shape.height(n))
    )
    return evolve(shape, rows=max(lower.rows, enough - 1))


def _by_name(model: str) -> Shape:
    if "claude" in model:
        found = _CLAUDE_VERSION.search(model)
        version = (int(found[1]), int(found[2] or 0)) if found else _HIGH_FROM
        return CLAUDE_HIGH if version >= _HIGH_FROM else CLAUDE_STANDARD
    return next((shape for pattern, shape in _SHAPES if re.search(pattern, model)), UNKNOWN)


def parse(name: str) -> Shape:
    """The shape that a page's key names. Raises ValueError."""
    cell, page = name.split("-")
    advance, pitch = map(int, cell.split("x"))
    width, rows, lowest = map(int, page.split("x"))
    return Shape(advance, pitch, width, rows, lowest)
