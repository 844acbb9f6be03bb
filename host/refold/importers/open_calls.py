"""The calls of the newest answer that have no result yet: some formats leave it to the reader to pair them."""

from __future__ import annotations

from collections.abc import Iterable

from refold.values.rows import Call


class OpenCalls:
    """Ids of calls, oldest first, with the names of their tools."""

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}

    def __contains__(self, id: str) -> bool:
        return id in self._tools

    def make(self, calls: Iterable[Call]) -> None:
        """An answer made these calls; older ones find no result any more."""
        self._tools = {call.id: call.name for call in calls}

    def add(self, calls: Iterable[Call]) -> None:
        """The same answer made more calls."""
        self._tools.update((call.id, call.name) for call in calls)

    def answer(self, id: str) -> str:
        """Takes a call that is answered; returns its tool, empty for one that is not open."""
        return self._tools.pop(id, "")

    def answer_oldest(self, tool: str = "") -> str:
        """Takes the oldest call, of this tool if one is named; returns its id, empty when there is none."""
        found = next((id for id, name in self._tools.items() if not tool or name == tool), "")
        self._tools.pop(found, None)
        return found
