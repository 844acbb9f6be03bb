"""How the records of a Claude Code file hang together: the first of two passes.

Missing and dangling links never lose a record: it follows the record before it. A prompt without a parent restarts the
conversation, unless the file links nothing at all (then answers stand without parents, too) and is one line of talk.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any, BinaryIO

from refold.importers.agents.claude_records import Role, role_of
from refold.importers.branches import MAIN, Tree
from refold.importers.lines import as_map, as_name, as_text, as_time, as_title, json_text, records

_FOLLOWS: set[Role] = {"prompt", "answer"}
_SAID: set[Role] = {"prompt", "queued", "answer", "results", "command", "reply", "shell", "output", "summary"}


class Links:
    """Where each record belongs. Records that are not `unknown` are numbered from 0 in the order of the file."""

    def __init__(self, stream: BinaryIO) -> None:
        self.name = ""
        self.title: str | None = None
        """The newest that a person gave it, else the newest of the program's own."""
        self.created: str | None = None
        self.agents: dict[int, str] = {}
        """The sidechains: the record that began one, to its name."""
        self.repeats: set[int] = set()
        """Records that repeat an earlier one, link and content."""
        self.has_main = False
        """Whether there is more than sidechains (a sub-agent's own file has nothing else)."""
        self._given: str | None = None
        self._tree = Tree()
        self._sides = array("q")
        self._numbers: dict[str, int] = {}
        self._digests = array("q")
        self._by_agent: dict[str, int] = {}
        self._newest_main: int | None = None
        self._newest_side = MAIN
        restarts: list[tuple[int, int]] = []
        linked = True
        for record in records(stream):
            self._learn(as_map(record))
            role = role_of(record) if isinstance(record, dict) else "unknown"
            if role == "unknown":
                continue
            number = len(self._tree)
            self._sides.append(MAIN)
            self._identify(record, number)
            if number in self.repeats:
                self._tree.add(self._newest_main, "adheres")
                continue
            if record.get("isSidechain"):
                self._tree.add(self._newest_main, "adheres")
                self._side(record, number)
                continue
            link = record.get("parentUuid") or record.get("logicalParentUuid")
            parent = self._main(link)
            if link is None and "parentUuid" in record and role == "prompt" and self._newest_main is not None:
                restarts.append((number, self._newest_main))
                parent = None
            elif link is None and role in ("answer", "results"):
                linked = False
            group = as_text(as_map(record.get("message")).get("id")) if role == "answer" else ""
            self._tree.add(parent, "follows" if role in _FOLLOWS else "adheres", group)
            self.has_main = self.has_main or role in _SAID
            if role in _SAID or isinstance(record.get("uuid"), str):
                self._newest_main = number
        if not linked:
            for number, parent in restarts:
                self._tree.link(number, parent)
        self._branches = self._tree.branches()
        del self._numbers, self._digests

    def agent(self, number: int) -> int:
        """The record that began the sidechain of this one; `MAIN` when it is in none."""
        return self._sides[number]

    def branch(self, number: int) -> int:
        """The record that began the abandoned branch of this one; `MAIN` for the conversation itself."""
        return self._branches[number]

    def above(self, branch: int) -> int:
        """The branch from which this one branches off."""
        parent = self._tree.parent(branch)
        return MAIN if parent == MAIN else self._branches[parent]

    def _learn(self, record: Mapping[str, Any]) -> None:
        """Facts of the session, which any record may hold."""
        self.name = self.name or as_name(record.get("sessionId"))
        self.created = self.created or as_time(record.get("timestamp"))
        kind = record.get("type")
        if kind == "custom-title":
            self.title = self._given = as_title(record.get("customTitle"))
        elif kind in ("ai-title", "summary") and not self._given:
            self.title = as_title(record.get("aiTitle" if kind == "ai-title" else "summary")) or self.title

    def _identify(self, record: Mapping[str, Any], number: int) -> None:
        uuid = record.get("uuid")
        self._digests.append(hash(json_text(record)) if isinstance(uuid, str) else 0)
        if isinstance(uuid, str):
            earlier = self._numbers.get(uuid)
            if earlier is not None and self._digests[earlier] == self._digests[number]:
                self.repeats.add(number)
            else:
                self._numbers[uuid] = number

    def _main(self, link: Any) -> int | None:
        parent = self._numbers.get(link) if isinstance(link, str) else None
        if parent is None or parent == len(self._tree) or self._sides[parent] != MAIN:
            return self._newest_main
        return parent

    def _side(self, record: Mapping[str, Any], number: int) -> None:
        link, agent = record.get("parentUuid"), as_name(record.get("agentId"))
        parent = self._numbers.get(link) if isinstance(link, str) else None
        if agent:
            root = self._by_agent.setdefault(agent, number)
        elif parent is not None and parent != number and self._sides[parent] != MAIN:
            root = self._sides[parent]
        elif link is not None and parent is None and self._newest_side != MAIN:
            root = self._newest_side
        else:
            root = number
        self._sides[number] = self._newest_side = root
        if root == number:
            self.agents[root] = f"agent-{agent or as_name(record.get('uuid')) or number}"
