"""A model's choice among users' lines that do not all fit: it answers with numbers, and the lines stay the host's.

The answer can drop nothing by itself. It only orders what the room leaves out anyway, and half of the room is not its
to give (`user_lines.CHOSEN_PERCENT`), so that a useless or hostile answer costs little and no answer costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from refold.sizing.estimate import tokens
from refold.summarize.lazy import Lazy
from refold.summarize.user_lines import Choice, Line, ranked

OFFERED = 12_000
"""Tokens of lines that are offered at most, or a quarter of the summarizer's window; of more, the highest in rank."""

ASKED = """\
The numbered lines in <lines> are what users said so far, oldest first. They do not all find room beside the summary.
Begin your answer with the numbers of those that whoever goes on with the work needs most: orders that last, limits,
goals, preferences, decisions, exact names and figures. Name each line whose place a later one takes. In this form, then
an empty line, then the summary:

keep 3 7 12-15
superseded 4 by 19"""

_KEEP = Lazy(r"\W*+keep\b:?([\d\s,;–-]++)$", re.IGNORECASE)
_SUPERSEDED = Lazy(r"\W*+superseded\b:? ++(\d{1,9}) ++by ++(\d{1,9})\W*+$", re.IGNORECASE)
_NUMBERS = Lazy(r"(\d{1,9})(?: ?[-–] ?(\d{1,9}))?")


def offered(lines: Sequence[Line], window: int | None) -> tuple[Line, ...]:
    """The lines that a summarizer with such a window may choose from, in their order."""
    room = OFFERED if window is None else min(OFFERED, window // 4)
    chosen: set[int] = set()
    for at in ranked(lines) if lines else ():
        room -= tokens(lines[at].text) + 4
        if room < 0:
            break
        chosen.add(at)
    return tuple(lines[at] for at in sorted(chosen))


def numbered(lines: Sequence[Line]) -> str:
    """The lines as a prompt shows them."""
    return "\n".join(f"{number}. {line.text}" for number, line in enumerate(lines, 1))


def parted(answer: str, lines: Sequence[Line]) -> tuple[Choice, str]:
    """The choice that an answer begins with, and the answer without it.

    What is no number of a line counts for nothing, and only a line of a later row takes the place of another.

    >>> parted("keep 1-2\\nsuperseded 1 by 2\\n\\nAll is done.", [Line(4, "a"), Line(9, "b")])[1]
    'All is done.'
    """
    keep: set[Line] = set()
    superseded: set[Line] = set()
    rest = answer.split("\n")
    begins = len(rest)
    for at, each in enumerate(rest):
        line = each.strip()
        if found := _KEEP.match(line):
            keep |= {lines[number - 1] for number in _numbers(found[1], len(lines))}
        elif found := _SUPERSEDED.match(line):
            old, new = int(found[1]), int(found[2])
            known = 0 < old <= len(lines) and 0 < new <= len(lines)
            if known and lines[old - 1].seq < lines[new - 1].seq:
                superseded.add(lines[old - 1])
        elif line:
            begins = at
            break
    return Choice(frozenset(keep), frozenset(superseded)), "\n".join(rest[begins:])


def _numbers(text: str, most: int) -> Iterator[int]:
    for found in _NUMBERS.finditer(text):
        first = int(found[1])
        yield from range(max(1, first), min(most, int(found[2] or first)) + 1)
