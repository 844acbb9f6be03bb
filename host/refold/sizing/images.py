"""What a picture costs, by its size in pixels. One pure function a rule; sources are the vendors' vision pages.

A base64 length says nothing about a picture's tokens, and every vendor first shrinks what is too large, so a formula
is a resize followed by a count of tiles or patches. Sides are at least one pixel. No formula enlarges a picture.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

Formula = Callable[[int, int], int]
"""Tokens of a picture of that width and height in pixels."""

_CLAUDE_PATCH = 28
_OPENAI_PATCH = 32
_OPENAI_TILE = 512


def _cells(side: int, cell: int) -> int:
    return -(-side // cell)


def claude(width: int, height: int, *, edge: int, cap: int) -> int:
    """Claude: patches of 28 pixels after the largest resize whose padded sides and patch count are allowed.

    The short side is rounded half to even, so the long side that fits is found by bisection: patches grow with it.

    >>> claude(1920, 1080, edge=1568, cap=1568)
    1560
    """
    long, short = max(width, height), min(width, height)

    def patches(side: int) -> tuple[int, int]:
        scaled = max(1, _half_even(side * short, long))
        return _cells(side, _CLAUDE_PATCH), _cells(scaled, _CLAUDE_PATCH)

    def fits(side: int) -> bool:
        across, down = patches(side)
        return across * _CLAUDE_PATCH <= edge and across * down <= cap

    if fits(long):
        side = long
    else:
        low, high = 1, long
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        side = low
    across, down = patches(side)
    return across * down


def _half_even(numerator: int, denominator: int) -> int:
    whole, rest = divmod(numerator, denominator)
    double = 2 * rest
    return whole + (double > denominator or (double == denominator and whole % 2 == 1))


def openai_tiles(width: int, height: int, *, base: int, tile: int) -> int:
    """OpenAI's older rule: into 2048 x 2048, short side to 768, then a base and so much for each 512-pixel tile.

    >>> openai_tiles(4096, 8192, base=85, tile=170)
    1105
    """
    # Both resizes keep the aspect, so together they are the smaller of two scales: exact in integers.
    to, of = min(((1, 1), (2048, max(width, height)), (768, min(width, height))), key=lambda scale: scale[0] / scale[1])
    return base + tile * _cells(width * to, _OPENAI_TILE * of) * _cells(height * to, _OPENAI_TILE * of)


def openai_patches(width: int, height: int, *, edge: int, budget: int, percent: int) -> int:
    """OpenAI's newer rule: patches of 32 pixels, shrunk to an edge and a budget of patches, times a percentage.

    >>> openai_patches(1800, 2400, edge=2048, budget=1536, percent=100)
    1452
    """
    wide, high = float(width), float(height)
    if max(wide, high) > edge:
        scale = edge / max(wide, high)
        wide, high = wide * scale, high * scale
    patches = _patches(wide, high)
    if patches > budget:
        scale = math.sqrt(_OPENAI_PATCH**2 * budget / (wide * high))
        across, down = wide * scale / _OPENAI_PATCH, high * scale / _OPENAI_PATCH
        scale *= min(math.floor(across) / across, math.floor(down) / down) or 1.0
        patches = min(budget, _patches(wide * scale, high * scale))
    return -(-patches * percent // 100)


def _patches(wide: float, high: float) -> int:
    # The shrunk side is a whole number of patches on paper; the slack keeps a float's last bit from adding one.
    return math.ceil(wide / _OPENAI_PATCH - 1e-6) * math.ceil(high / _OPENAI_PATCH - 1e-6)


def gemini_tiles(width: int, height: int) -> int:
    """Gemini up to 2.5: 258 for a small picture, else 258 for each crop.

    >>> gemini_tiles(384, 384), gemini_tiles(960, 540)
    (258, 1548)
    """
    if width <= 384 and height <= 384:
        return 258
    unit = min(768, max(256, min(width, height) * 2 // 3))
    return 258 * _cells(width, unit) * _cells(height, unit)


def gemini_flat(width: int, height: int) -> int:
    """Gemini 3 and later: one budget for every picture, at the default media resolution."""
    return 1120


def qwen(width: int, height: int, *, cell: int) -> int:
    """Qwen-VL: sides to multiples of a cell, the area into the processor's bounds, a token a cell and two marks."""
    least, most = 4 * cell * cell, 16_384 * cell * cell
    wide, high = (max(cell, round(side / cell) * cell) for side in (width, height))
    if wide * high > most:
        scale = math.sqrt(width * height / most)
        wide, high = (max(cell, math.floor(side / scale / cell) * cell) for side in (width, height))
    elif wide * high < least:
        scale = math.sqrt(least / (width * height))
        wide, high = (math.ceil(side * scale / cell) * cell for side in (width, height))
    return (wide // cell) * (high // cell) + 2


def mistral(width: int, height: int, *, edge: int, cell: int) -> int:
    """Mistral: shrunk to an edge, then rows of cells, each row closed by a mark."""
    ratio = max(width / edge, height / edge)
    if ratio > 1:
        width, height = max(1, round(width / ratio)), max(1, round(height / ratio))
    return (_cells(width, cell) + 1) * _cells(height, cell)


CLAUDE_STANDARD: Formula = partial(claude, edge=1568, cap=1568)
CLAUDE_HIGH: Formula = partial(claude, edge=2576, cap=4784)
