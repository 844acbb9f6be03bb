"""Whether the calls of a file find their results, told from its rows in passing.

An importer that takes a file for what it is not reads calls and loses their results; a person must hear of it.
"""

from __future__ import annotations

from refold.importers.steps import NO_CALL
from refold.values.rows import Row


class Pairing:
    """Calls and results by now. A call that nobody answered before the file ended is no fault."""

    def __init__(self) -> None:
        self.calls = 0
        self._open: dict[str, set[str]] = {}
        self._last: dict[str, set[str]] = {}
        self._results = 0
        self._lost = 0

    def see(self, row: Row) -> None:
        """Takes the next row of the file."""
        session = row.ref.session
        if row.kind == "assistant":
            made = {call.id for call in row.calls}
            self.calls += len(row.calls)
            self._last[session] = made
            if made:
                self._open.setdefault(session, set()).update(made)
        elif row.kind == "result":
            waiting = self._open.get(session, set())
            self._results += 1
            self._lost += row.call_id not in waiting
            waiting.discard(row.call_id or "")
        elif row.event == "notice" and row.text.startswith(NO_CALL):
            self._results += 1
            self._lost += 1

    @property
    def unanswered(self) -> int:
        """Calls without a result, those of each session's last answer left out."""
        return sum(len(ids - self._last.get(session, set())) for session, ids in self._open.items())

    def warning(self, format: str) -> str:
        """What is wrong when most calls or results stand alone, in one line; else empty."""
        settled = self.calls - sum(len(ids & self._last.get(name, set())) for name, ids in self._open.items())
        if self.unanswered * 2 > settled:
            fault = f"{self.unanswered:,} of {self.calls:,} calls find no result"
        elif self._lost * 2 > self._results:
            fault = f"{self._lost:,} of {self._results:,} results name no call that the file makes"
        else:
            return ""
        return f"{fault}: the file may be a relative of {format} that this importer misreads; look at its rows"
