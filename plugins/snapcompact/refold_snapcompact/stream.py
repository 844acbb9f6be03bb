"""Stored text as the stream of cells that pages show, and how it breaks into rows and pages.

The stream wraps where a row ends, also inside a word: no cell is lost, and a longer text has the full pages of a
shorter one in front. Each line break is one solid cell. Where a page begins depends on the number of cells before it
alone, so it is found without reading them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from refold_snapcompact.glyphs import unseen_pattern, wide_pattern
from refold_snapcompact.shapes import Shape

BLOCK = "\u2588"
"""A solid cell: a line break."""

SECOND = "\0"
"""The second cell of a character that takes two. So the length of a stream is its width."""

_SHADE = "\u2593"
_SIGNS = {
    BLOCK: _SHADE,
    "\u2705": "[OK]",
    "\u274c": "[FAIL]",
    "\u26a0": "[WARN]",
    "\u2713": "√",
    "\u2714": "√",
    "\u2717": "×",
    "\u2718": "×",
}
"""What is drawn for signs that the font lacks and tools print all the time; a block of the text's own is a shade."""

_SIGN = re.compile(f"[{''.join(_SIGNS)}]")
_ASCII_UNSEEN = re.compile(r"[^ -~\n]")


@lru_cache(maxsize=256)  # the text of a part, asked for again by every request that shows it
def stream(text: str) -> str:
    """The cells of a text. A character without a glyph is written as its code, a run of them in one bracket.

    >>> stream("a\\nb"), stream("go 🔥🚀"), stream("日")
    ('a█b', 'go [U+1F525 1F680]', '日\\x00')
    """
    if not text.isascii():
        text = _SIGN.sub(lambda found: _SIGNS[found[0]], text)
        text = unseen_pattern().sub(_codes, text)
        text = wide_pattern().sub(_twice, text)
    elif _ASCII_UNSEEN.search(text):
        text = unseen_pattern().sub(_codes, text)
    return text.replace("\n", BLOCK)


def readable(cells: str) -> str:
    """The text that cells show, its line breaks as such."""
    return cells.replace(SECOND, "").replace(BLOCK, "\n")


def _codes(found: re.Match[str]) -> str:
    runs = [f"[U+{' '.join(f'{ord(char):04X}' for char in run)}]" if run else "" for run in found[0].split("\n")]
    return "\n".join(runs)


def _twice(found: re.Match[str]) -> str:
    return found[0] + SECOND


def rows(cells: str, columns: int) -> Iterator[str]:
    """The rows of a stream. A two-cell character that would cross the edge begins the next row.

    >>> list(rows("abcde", 2)), list(rows("a日\\0b", 2))
    (['ab', 'cd', 'e'], ['a', '日\\x00', 'b'])
    """
    at = 0
    while at < len(cells):
        end = at + columns
        if cells[end : end + 1] == SECOND:
            end -= 1
        yield cells[at:end]
        at = end


def window(cells: str, start: int, end: int) -> str:
    """The characters that begin in the cells from `start` to `end`, whole.

    >>> window("a日\\0b", 0, 2), window("a日\\0b", 2, 4)
    ('a日\\x00', 'b')
    """
    last = end + 1 if cells[end : end + 1] == SECOND else end
    return cells[start:last].removeprefix(SECOND)


def pages(cells: str, shape: Shape) -> list[str]:
    """The pages of a stream, all full but the last. No cell: no page."""
    return [window(cells, at, at + shape.capacity) for at in range(0, len(cells), shape.capacity)]


def row_count(page: str, shape: Shape) -> int:
    """How many rows a page fills."""
    if SECOND not in page:
        return -(-len(page) // shape.columns)
    return sum(1 for _ in rows(page, shape.columns))
