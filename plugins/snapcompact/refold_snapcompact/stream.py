"""Stored text as the stream of cells that pages show, and how it breaks into rows and pages.

The stream wraps where a row ends, also inside a word: no cell is lost, and a longer text has the pages of a shorter one
in front. Each line break is one solid cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from refold_snapcompact.glyphs import unseen_pattern, wide, wide_pattern
from refold_snapcompact.shapes import Shape

BLOCK = "\u2588"
"""A solid cell: a line break."""

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

    >>> stream("a\\nb"), stream("go 🔥🚀")
    ('a█b', 'go [U+1F525 1F680]')
    """
    if not text.isascii():
        text = _SIGN.sub(lambda found: _SIGNS[found[0]], text)
        text = unseen_pattern().sub(_codes, text)
    elif _ASCII_UNSEEN.search(text):
        text = unseen_pattern().sub(_codes, text)
    return text.replace("\n", BLOCK)


def _codes(found: re.Match[str]) -> str:
    runs = [f"[U+{' '.join(f'{ord(char):04X}' for char in run)}]" if run else "" for run in found[0].split("\n")]
    return "\n".join(runs)


def has_wide(cells: str) -> bool:
    """Whether a stream holds a two-cell character, so that its length is not its width."""
    return not cells.isascii() and wide_pattern().search(cells) is not None


def rows(cells: str, columns: int) -> Iterator[str]:
    """The rows of a stream. A two-cell character that would cross the edge begins the next row.

    >>> list(rows("abcde", 2)), list(rows("a日b", 2))
    (['ab', 'cd', 'e'], ['a', '日', 'b'])
    """
    if not has_wide(cells):
        yield from (cells[at : at + columns] for at in range(0, len(cells), columns))
        return
    at = 0
    while at < len(cells):
        row = _fitting(cells[at : at + columns], columns)
        yield row
        at += len(row)


def _fitting(row: str, columns: int) -> str:
    twice, used = wide(), 0
    if has_wide(row):
        for place, char in enumerate(row):
            used += 2 if char in twice else 1
            if used > columns:
                return row[:place]
    return row


def pages(cells: str, shape: Shape) -> list[str]:
    """The pages of a stream, all full but the last. No cell: no page."""
    if not has_wide(cells):
        return [cells[at : at + shape.capacity] for at in range(0, len(cells), shape.capacity)]
    broken = list(rows(cells, shape.columns))
    return ["".join(broken[at : at + shape.rows]) for at in range(0, len(broken), shape.rows)]


def row_count(page: str, shape: Shape) -> int:
    """How many rows a page fills."""
    if has_wide(page):
        return sum(1 for _ in rows(page, shape.columns))
    return -(-len(page) // shape.columns)
