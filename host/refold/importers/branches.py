"""Which records of a tree-shaped session file are the conversation, and which were abandoned.

Editing or rewinding a prompt leaves the old continuation in the file. The newest leaf is where the conversation
stands; a record belongs to its parent's branch when the parent's newest leaf lies behind it, and starts a branch of its
own when not. Records are known by the order of their lines, and parents always stand before their children, so a file
of any shape gives a forest. About 40 bytes a line are kept.
"""

from __future__ import annotations

from array import array
from typing import Literal

Bond = Literal["follows", "adheres"]
"""`follows`: may be abandoned. `adheres`: belongs to its parent's branch whatever came later (a result, a notice)."""

MAIN = -1
"""The branch that the newest leaf of the file ends."""


class Tree:
    """Records in the order of the file."""

    def __init__(self) -> None:
        self._parents = array("q")
        self._groups = array("q")
        self._adheres = bytearray()

    def __len__(self) -> int:
        return len(self._parents)

    def add(self, parent: int | None, bond: Bond, group: str = "") -> int:
        """Adds the next record and returns its number.

        `parent` is the number of an earlier record, or None for a root. Records of one `group` (the parts of one
        response) stay in one branch.
        """
        self._parents.append(MAIN if parent is None else parent)
        self._groups.append(hash(group) if group else 0)
        self._adheres.append(bond == "adheres")
        return len(self._parents) - 1

    def link(self, record: int, parent: int) -> None:
        """Gives a root a parent after all; `parent` is an earlier record."""
        self._parents[record] = parent

    def parent(self, record: int) -> int:
        """The number of the parent, or `MAIN` for a root."""
        return self._parents[record]

    def branches(self) -> array[int]:
        """For each record the branch it belongs to: `MAIN`, or the number of the record that began the branch."""
        count = len(self._parents)
        newest = array("q", range(count))
        last = MAIN  # the newest leaf of all
        for record in range(count - 1, -1, -1):
            if self._adheres[record] and newest[record] == record:
                newest[record] = MAIN  # a notice at the end does not make its branch the newer one
            parent = self._parents[record]
            if parent == MAIN:
                last = max(last, newest[record])
            else:
                newest[parent] = max(newest[parent], newest[record])
        owners = array("q")
        groups: dict[int, int] = {}
        for record in range(count):
            parent, group = self._parents[record], self._groups[record]
            behind, above = (last, MAIN) if parent == MAIN else (newest[parent], owners[parent])
            if group and group in groups:
                owner = groups[group]
            elif self._adheres[record] or newest[record] == behind:
                owner = above
            else:
                owner = record
            if group:
                groups.setdefault(group, owner)
            owners.append(owner)
        return owners
