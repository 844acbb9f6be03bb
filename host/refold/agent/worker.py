"""Runs tools and approvals of a turn beside it, so that the turn can end while one of them hangs.

All of a turn run one after the other in one thread of their own, with the context variables of whoever began the turn.
What is awaitable is awaited on the event loop that the turn was begun from (`asend`, `astream`, `send(loop=...)`), else
on a private one that lives as long as the turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import math
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from attrs import define, field, frozen

from refold.agent.app_input import discard
from refold.agent.events import CallProgress
from refold.agent.hearing import Emit
from refold.values.rows import Call

GRACE = 1.0
"""Seconds that a call which was asked to stop may take to end by itself, before the turn ends without it."""

_LOOK = 0.05  # seconds between two looks at whether to stop
_LONGEST = 500  # characters of a progress text


@frozen(eq=False)
class Outcome:
    """How it ended: with a value, or with an error."""

    value: object = None
    error: BaseException | None = None


@define(eq=False)
class RunningCall:
    """`CallContext` of one call. `turn_stop` is set when the turn was asked to stop."""

    session: str
    call: Call
    turn_stop: threading.Event
    stop: threading.Event = field(factory=threading.Event, init=False)
    _changed: threading.Condition = field(factory=threading.Condition, init=False)
    _news: CallProgress | None = field(default=None, init=False)
    _outcome: Outcome | None = field(default=None, init=False)
    _left: bool = field(default=False, init=False)
    _cancel: Callable[[], object] | None = field(default=None, init=False)

    @property
    def call_id(self) -> str:
        return self.call.id

    def cancelled(self) -> bool:
        return self.stop.is_set() or self.turn_stop.is_set()

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        for number in (done, total):
            if number is not None and not (isinstance(number, (int, float)) and math.isfinite(number)):
                raise TypeError(f"progress takes numbers, not {number!r:.40}")
        with self._changed:
            self._news = CallProgress(self.call, done, total, str(text)[:_LONGEST])
            self._changed.notify_all()

    def wait(self, emit: Emit) -> Outcome | None:
        """Waits for the end, in the turn's thread, and tells of progress meanwhile; of what comes fast, the newest.

        None when the turn was asked to stop and the call did not end in time: then it is left to itself.
        """
        until: float | None = None
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._news or self._outcome, _LOOK)
                    news, self._news = self._news, None
                    outcome = self._outcome
                if news is not None:
                    emit(news)
                if outcome is not None:
                    return outcome
                if until is None and self.turn_stop.is_set():
                    self._ask_to_end()
                    until = time.monotonic() + GRACE
                elif until is not None and time.monotonic() >= until:
                    return self._leave()
        except BaseException:
            self._ask_to_end()
            self._leave()
            raise

    def ended(self, outcome: Outcome) -> bool:
        """It ended. False when nobody waits any more."""
        with self._changed:
            if self._left:
                return False
            self._outcome = outcome
            self._changed.notify_all()
            return True

    def cancel_with(self, cancel: Callable[[], object]) -> None:
        """It waits for an awaitable from now on, which `cancel` cancels, from any thread."""
        with self._changed:
            self._cancel = cancel
        if self.stop.is_set():
            cancel()

    def _ask_to_end(self) -> None:
        self.stop.set()
        with self._changed:
            cancel = self._cancel
        if cancel is not None:
            with contextlib.suppress(RuntimeError):  # its loop is closed already
                cancel()

    def _leave(self) -> Outcome | None:
        with self._changed:
            self._left = self._outcome is None
            return self._outcome


@define(eq=False)
class Worker:
    """The thread of one turn. Begun with the first work; `close` it when the turn ends."""

    name: str
    loop: asyncio.AbstractEventLoop | None = None
    _work: queue.SimpleQueue[Callable[[], object] | None] = field(factory=queue.SimpleQueue, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)
    _runner: asyncio.Runner | None = field(default=None, init=False)
    _left: bool = field(default=False, init=False)

    def run(
        self, running: RunningCall, work: Callable[[], object], emit: Emit, late: Callable[[Outcome], object]
    ) -> Outcome | None:
        """Runs the work and waits for its end. None when it was left to itself; `late` hears of its end then."""
        context = contextvars.copy_context()
        self._work.put(partial(context.run, _perform, running, work, late))
        if self._thread is None:
            self._thread = threading.Thread(target=self._live, name=self.name, daemon=True)
            self._thread.start()
        self._left = True  # unless it is known to have ended
        outcome = running.wait(emit)
        self._left = outcome is None
        return outcome

    def close(self) -> None:
        """No more work. Waits until the private loop is closed, unless something was left running."""
        self._work.put(None)
        if self._thread is not None and not self._left:
            self._thread.join(GRACE)

    def settle(self, running: RunningCall, value: object) -> object:
        """What a function of the work gave back; awaited, if it is to be. To be called by the work."""
        if not inspect.isawaitable(value):
            return value
        if self.loop is not None:
            outcome = _on_loop(self.loop, running, value)
        else:
            if self._runner is None:
                self._runner = asyncio.Runner()
            outcome = self._runner.run(_followed(running, value), context=contextvars.copy_context())
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    def _live(self) -> None:
        try:
            while (work := self._work.get()) is not None:
                work()
        finally:
            if self._runner is not None:
                self._runner.close()


def _perform(running: RunningCall, work: Callable[[], object], late: Callable[[Outcome], object]) -> None:
    try:
        outcome = Outcome(work())
    except BaseException as error:  # what ends the program ends it in the turn's own thread
        outcome = Outcome(error=error)
    if not running.ended(outcome):
        late(outcome)


async def _followed(running: RunningCall, awaitable: object) -> Outcome:
    """Awaits in a task that can be cancelled. No error leaves it: `sys.exit` would end a host app's loop."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    assert inspect.isawaitable(awaitable)
    running.cancel_with(lambda: loop.call_soon_threadsafe(task.cancel))
    try:
        return Outcome(await awaitable)
    except BaseException as error:
        return Outcome(error=error)


def _on_loop(loop: asyncio.AbstractEventLoop, running: RunningCall, awaitable: object) -> Outcome:
    """Awaits on the loop of a host app, from another thread."""
    done: Future[Outcome] = Future()

    def begin() -> None:
        loop.create_task(_followed(running, awaitable)).add_done_callback(end)

    def end(task: asyncio.Task[Outcome]) -> None:
        if task.cancelled():  # before it began: the loop is coming to its end
            discard(awaitable)
        done.set_result(Outcome(error=asyncio.CancelledError()) if task.cancelled() else task.result())

    try:
        loop.call_soon_threadsafe(begin)
    except RuntimeError:  # it is closed
        discard(awaitable)
        raise
    while True:
        with contextlib.suppress(TimeoutError):
            return done.result(1.0)
        if loop.is_closed():
            raise RuntimeError("its event loop was closed before it ended")
