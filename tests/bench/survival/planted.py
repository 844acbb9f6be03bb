"""The planted rows: who says them, and what of each must still stand in later requests.

The sets in `sets/` were written by somebody who had not read the code that makes summaries. They are for measuring
alone: whoever changes that code does not look at them, and no test asserts on them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from attrs import frozen

Role = Literal["user", "assistant", "result"]

SETS = Path(__file__).with_name("sets")
GROUPS = 15
"""Into how many sessions the sets are dealt: 60 rows of a kind give each session four."""

_MARKED = re.compile("⟦(.*?)⟧", re.DOTALL)


@frozen
class Planted:
    """A row, and what of it must stand: a whole sentence of a rule, goal, limit or preference, or one exact string.

    `tool` is the name of the tool that a result comes from, and its argument.
    """

    kind: str
    role: Role
    text: str
    mark: str
    tool: tuple[str, str] | None = None


def kinds() -> list[str]:
    """The kinds in the order of the report: what users set first, facts after it."""
    names = sorted(path.stem for path in SETS.glob("*.txt"))
    order = ("user-rules", "user-limits", "user-goals", "user-preferences", "user-facts")
    return [*order, *(name for name in names if name not in order)]


def load(kind: str) -> list[Planted]:
    """The set of a kind. Raises ValueError for an entry in which not exactly one place is marked."""
    entries = (SETS / f"{kind}.txt").read_text("utf-8").removeprefix("===\n").rstrip("\n").split("\n===\n")
    return [_entry(kind, entry) for entry in entries]


def group(number: int) -> list[Planted]:
    """What one session is told: a share of each kind, the kinds mixed as they come in real work."""
    shares = [load(kind)[number::GROUPS] for kind in kinds()]
    return [share[at] for at in range(max(map(len, shares))) for share in shares if at < len(share)]


def _entry(kind: str, entry: str) -> Planted:
    marks = _MARKED.findall(entry)
    if len(marks) != 1:
        raise ValueError(f"{kind}: {len(marks)} places are marked in {entry!r}")
    text = _MARKED.sub(lambda found: found[1], entry)
    if kind.startswith("result"):
        head, _, text = text.partition("\n")
        name, _, argument = head.partition(": ")
        return Planted(kind, "result", text, marks[0], (name, argument))
    return Planted(kind, "assistant" if kind.startswith("assistant") else "user", text, marks[0])
