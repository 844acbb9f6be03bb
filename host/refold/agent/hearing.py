"""One compaction as a listener hears it: begun, so many passes, ended."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from refold.agent import events
from refold.agent.events import Event
from refold.prepare.request import Prepared
from refold.values.errors import RefoldError
from refold.values.outcome import Applied, Demand
from refold.values.rows import RowRange

Emit = Callable[[Event], object]


def unheard(*event: object) -> None:
    """Nobody listens."""


def _never() -> bool:
    return False


@define(eq=False)
class Hearing:
    """Turns what a preparation tells into events. A compaction that has nothing to fold is not heard.

    `stopped`: whether somebody asked to stop. Then one that did not come to an outcome is no failure, and its notices
    are not heard: whoever stopped it knows.
    """

    emit: Emit = unheard
    stopped: Callable[[], bool] = _never
    _begun: Demand | None = field(default=None, init=False)

    def started(self, demand: Demand, rows: RowRange, tokens: int) -> None:
        """It has something to fold and begins."""
        self._begun = demand
        self.emit(events.CompactionStarted(demand.kind, demand.size, rows, tokens))

    def progress(self, done: int, total: int) -> None:
        """So many of so many passes are done."""
        self.emit(events.CompactionPass(done, total))

    def ended(self, prepared: Prepared) -> None:
        """The preparation around it is done."""
        attempted = prepared.attempted
        if self._begun is not None and attempted is not None:
            before, after = attempted.before.tokens, prepared.size.tokens
            self.emit(events.CompactionFinished(attempted.outcome, before, after))
        elif self._begun is not None:
            self._broken(prepared.size.tokens, "; ".join(prepared.notices))
        if attempted is None and self.stopped():
            return
        for notice in prepared.notices:
            self.emit(events.Noticed(notice))
        if attempted is not None and isinstance(attempted.outcome, Applied):
            self.emit(events.UsageChanged(prepared.size.tokens, prepared.window.tokens, prepared.size.source))

    def failed(self, error: RefoldError) -> None:
        """It ended with an error that goes to whoever asked for it."""
        if self._begun is not None:
            self._broken(self._begun.size, str(error))

    def _broken(self, after: int, failure: str) -> None:
        assert self._begun is not None
        self.emit(events.CompactionFinished(None, self._begun.size, after, failure, self.stopped()))
