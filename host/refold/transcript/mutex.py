"""A lock that a Ctrl-C cannot leave locked."""

from __future__ import annotations

import contextlib
import inspect
import sys
import threading
import time
from types import FrameType

from attrs import frozen

_HOLD = "hold"
_PAUSING = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
POLL = 0.001
"""Seconds between two attempts, at first; later four times as long."""


@frozen(eq=False)
class Hold:
    """One `with` statement that holds, or wants to hold, a Mutex.

    `thread` is the one that it runs in, `frame` the identity of its frame: a reference would keep alive what is to end
    by itself. `pausing`: it stands in a generator or coroutine.
    """

    thread: int
    frame: int
    pausing: bool

    @classmethod
    def of_caller(cls) -> Hold:
        """That of the code that is entering a context manager; to be called in the context manager itself."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename == contextlib.__file__:
            frame = frame.f_back
        pausing = frame is None or bool(frame.f_code.co_flags & _PAUSING)
        return cls(threading.get_ident(), id(frame), pausing)

    @property
    def mine(self) -> bool:
        """Whether it is one of this thread's."""
        return self.thread == threading.get_ident()

    @property
    def left(self) -> bool:
        """Whether the code of the statement is certainly over, though it gave nothing back; asked in its own thread.

        An exception that comes between the statement and its context manager does that, until it is forgotten. What
        pauses is in no stack, so nothing certain is known of it.
        """
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and id(frame) != self.frame:
            frame = frame.f_back
        return frame is None and not self.pausing


class Mutex:
    """Has one Hold at a time.

    `threading.Lock.acquire` may take the lock and be interrupted before anybody noted it. Here taking and noting is one
    step, so a holder can always be told from others, and giving back what one does not hold does nothing: it can be
    done twice, and by any thread. Waiters ask again every few milliseconds, as writers of other processes do.
    """

    def __init__(self) -> None:
        self._held: dict[str, Hold] = {}

    @property
    def holder(self) -> Hold | None:
        """Who has it now."""
        return self._held.get(_HOLD)

    def take(self, hold: Hold, seconds: float) -> bool:
        """Waits at most so long; whether `hold` has it now."""
        deadline = time.monotonic() + seconds
        attempt = 0
        while self._held.setdefault(_HOLD, hold) is not hold:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL if attempt < 10 else POLL * 4)
            attempt += 1
        return True

    def give(self, hold: Hold) -> None:
        """Frees it if `hold` has it."""
        if self._held.get(_HOLD) is hold:
            self._held.pop(_HOLD, None)
