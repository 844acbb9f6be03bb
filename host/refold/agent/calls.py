"""Runs one tool call: asks for approval where the tool wants it, waits beside the tool, and says what came of it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from attrs import define

from refold.agent import events
from refold.agent.extension_calls import BoundToolContext
from refold.agent.hearing import Emit
from refold.agent.results import content, shown
from refold.agent.tools import Cap, HostTool, Returned, capped
from refold.agent.worker import Outcome, RunningCall, Worker
from refold.prepare.context import BoundContext
from refold.prepare.keep import without_keep
from refold.prepare.listen import say
from refold.transcript import sessions
from refold.transcript.append import append
from refold.values.rows import Call, Row, SourceRef
from refold.values.tools import Tool

if TYPE_CHECKING:
    from refold.agent.session import Session

NO_APPROVAL = "[not executed: this call needs approval, and it was not given]"
STOPPED = "[not executed: the turn was stopped]"
HALTED = "[stopped while it ran: it may have had effects]"
LEFT = "[stopped while it ran: it may have had effects, and may still run]"

LATE_LINES, LATE_BYTES = 20, 2_000
"""What is kept of the result of a call that ended after its turn."""


@define(eq=False)
class Calls:
    """The tool calls of one turn; `stop` is set when the turn was asked to stop. `key` is that of the session's record:
    another one may bear its name when a call ends late."""

    session: Session
    key: int
    stop: threading.Event
    worker: Worker

    def own(self, tool: HostTool, call: Call, cap: Cap, emit: Emit) -> Returned:
        """What came of a call of the host app's tool. It never raises for a fault of the tool."""
        if tool.approval and (refused := self._refused(call, cap, emit)) is not None:
            return refused
        running, arguments = self._running(call), without_keep(call.arguments, tool.parameters)
        if tool.run is not None:
            work = self._settled(running, tool.run, running, arguments)
        else:
            assert tool.call is not None
            work = self._settled(running, tool.call, arguments)
        return self._run(running, work, cap, emit)

    def extension(
        self, tool: Tool, call: Call, cap: Cap, emit: Emit, view: Callable[[], AbstractContextManager[BoundContext]]
    ) -> Returned:
        """What came of a call of an extension's tool, which sees the session through `view`."""
        running, arguments = self._running(call), without_keep(call.arguments, tool.parameters)

        def work() -> object:
            with view() as context:
                bound = BoundToolContext(context.view, context.extension, running)
                return self.worker.settle(running, tool.call(bound, arguments))

        return self._run(running, work, cap, emit)

    def _running(self, call: Call) -> RunningCall:
        return RunningCall(self.session.id, call, self.stop)

    def _settled(self, running: RunningCall, function: Callable[..., object], *given: object) -> Callable[[], object]:
        return lambda: self.worker.settle(running, function(*given))

    def _run(self, running: RunningCall, work: Callable[[], object], cap: Cap, emit: Emit) -> Returned:
        def late(outcome: Outcome) -> None:
            self._tell_late(running.call, _returned(running, outcome, cap))

        outcome = self.worker.run(running, work, emit, late)
        if outcome is None:
            return Returned(running.call, LEFT, ok=False)
        if outcome.error is not None and not _is_fault(outcome.error):
            raise outcome.error
        return _returned(running, outcome, cap)

    def _refused(self, call: Call, cap: Cap, emit: Emit) -> Returned | None:
        """Why a call must not run; None: the host app said `True`, and nothing else is consent."""
        approve, running = self.session.approve, self._running(call)
        if approve is None:
            return Returned(call, NO_APPROVAL, ok=False)
        outcome = self.worker.run(running, self._settled(running, approve, call), emit, _unheard)
        if outcome is None or running.cancelled():
            return Returned(call, STOPPED, ok=False)
        if outcome.error is not None and not _is_fault(outcome.error):
            raise outcome.error
        if outcome.error is not None:
            words = f"[not executed: whether it is approved could not be asked: {say(outcome.error)}]"
            return Returned(call, cap.cut(words), ok=False)
        if outcome.value is True:
            return None
        if outcome.value is False:
            return Returned(call, NO_APPROVAL, ok=False)
        words = f"approve gave back {type(outcome.value).__name__}, and only True approves"
        emit(events.Noticed(f"{call.name} was not run: {words}"))
        return Returned(call, f"[not executed: {words}]", ok=False)

    def _tell_late(self, call: Call, returned: Returned) -> None:
        """A call that was left running has ended: one event row tells it, which is never sent."""
        text = capped(returned.text, LATE_LINES, LATE_BYTES)
        if returned.images:
            text += f"\n[its {len(returned.images)} pictures are not kept]"
        told = f"{call.name} (call {call.id}) was left running when its turn was stopped; it has ended:\n{text}"
        row = Row(SourceRef("", 0), "event", 0, 0, event="notice", text=told)
        # The session may be deleted by now, the host closed.
        with contextlib.suppress(Exception), self.session.host.database.write() as writer:
            if sessions.find(writer, self.session.id).key == self.key:
                append(writer, self.session.id, [row])


def _returned(running: RunningCall, outcome: Outcome, cap: Cap) -> Returned:
    call, error = running.call, outcome.error
    if isinstance(error, asyncio.CancelledError):
        text = HALTED if running.cancelled() else f"{call.name} failed: it was cancelled"
        return Returned(call, text, ok=False)
    if error is None:
        try:
            result = content(outcome.value)
            text, images = shown(result, cap)
            return Returned(call, text, result.ok, images)
        except Exception as fault:
            error = fault
    words = (not isinstance(error, SystemExit) and str(error)) or say(error)
    return Returned(call, cap.cut(f"{call.name} failed: {words}"), ok=False)


def _is_fault(error: BaseException) -> bool:
    """Whether it is a fault of what ran, which costs one result; anything else ends the turn."""
    return isinstance(error, (Exception, SystemExit, asyncio.CancelledError))


def _unheard(outcome: Outcome) -> None:
    """An approval that comes too late approves nothing."""
