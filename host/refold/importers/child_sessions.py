"""The sessions of one file: the conversation, the work of its sub-agents, and the branches that were abandoned.

A child is announced in the session where it begins, just before its first row.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterator

from refold.importers.branches import MAIN, Bond, Tree
from refold.importers.lines import as_name
from refold.importers.steps import Steps
from refold.values.rows import Row
from refold.values.tools import SessionFacts

Begun = Generator[Row | SessionFacts, None, Steps]
"""Gives the announcement of a session that is new, and returns its steps."""


class SubAgents:
    """The sub-agents of a conversation, by whatever the file calls them."""

    def __init__(self, main: Steps) -> None:
        self._main = main
        self._agents: dict[str, Steps] = {}

    def of(self, agent: str, created: str | None = None) -> Begun:
        """The session of an agent; the conversation itself for an empty name."""
        if not agent:
            return self._main
        if agent not in self._agents:
            known = self._agents[agent] = Steps(f"{self._main.session}/agent-{as_name(agent)}")
            yield SessionFacts(known.session, parent=self._main.session, created=created)
            yield from self._main.child(known.session)
        return self._agents[agent]

    def __iter__(self) -> Iterator[Steps]:
        return iter(self._agents.values())

    def close(self) -> Iterator[Row]:
        """The file is over."""
        for steps in (self._main, *self._agents.values()):
            yield from steps.close()


class Links:
    """Which record follows which, told from ids and the ids of parents. Records are numbered in the order of the file.

    A record whose parent is not in the file follows the one before it.
    """

    def __init__(self) -> None:
        self._tree = Tree()
        self._numbers: dict[str, int] = {}
        self._before: int | None = None
        self.parents = array("q")

    def unlinked(self) -> None:
        """Counts a record that stands in no conversation."""
        self._add(self._before, "adheres")

    def add(self, id: object, parent: object, bond: Bond) -> None:
        """Counts a record. `parent` None begins anew; anything but an id of the file follows the record before."""
        above = self._numbers.get(parent, self._before) if isinstance(parent, str) else self._before
        if parent is None and bond == "follows" and self._before is not None:
            above = None  # the first prompt, or a new beginning in its place
        number = self._add(above, bond)
        if isinstance(id, str):
            self._numbers[id] = number
        self._before = number

    def branches(self) -> array[int]:
        """For each record the branch that it belongs to (`Tree.branches`)."""
        return self._tree.branches()

    def _add(self, parent: int | None, bond: Bond) -> int:
        self.parents.append(MAIN if parent is None else parent)
        return self._tree.add(parent, bond)


class Branches:
    """The conversation of a file whose records were linked, and the branches off it."""

    def __init__(self, name: str, links: Links) -> None:
        self._name = name
        self._branches = links.branches()
        self._parents = links.parents
        self._sessions: dict[int, Steps] = {}

    def of(self, number: int, id: object, created: str | None = None) -> Begun:
        """The session that a record belongs to; `id` is the record's own and names a branch that it begins."""
        branch = self._branches[number]
        if branch not in self._sessions:
            if branch == MAIN:
                return self.main()
            known = Steps(f"{self._name}/branch-{as_name(id) or number}")
            above = self._parents[branch]
            home = self._sessions.get(self._branches[above]) if above != MAIN else None
            home = home or self.main()
            yield SessionFacts(known.session, parent=home.session, created=created)
            yield from home.event("excursion", known.session)
            self._sessions[branch] = known
        return self._sessions[branch]

    def close(self) -> Iterator[Row]:
        """The file is over."""
        for steps in self._sessions.values():
            yield from steps.close()

    def main(self) -> Steps:
        """The conversation itself."""
        return self._sessions.setdefault(MAIN, Steps(self._name))
