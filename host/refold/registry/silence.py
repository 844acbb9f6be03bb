"""Reload waits until nothing runs, and nothing starts while it works. There is one `sys.modules`, so one lock."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from refold.values.errors import Busy, Refused


class Silence:
    """Many may run at once, or one may change the code.

    Whoever runs may start more that runs, in any thread, even while a reload waits: blocking those would lock a turn
    against its own worker. A reload that waits too long is `Busy`.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: dict[int, int] = {}
        self._alone: int | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """A turn, compaction, command or importer runs inside; it may be nested."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: self._alone in (None, me))
            self._running[me] = self._running.get(me, 0) + 1
        try:
            yield
        finally:
            with self._changed:
                self._running[me] -= 1
                if not self._running[me]:
                    del self._running[me]
                self._changed.notify_all()

    @contextmanager
    def alone(self, seconds: float) -> Iterator[None]:
        """The code is changed inside. Raises Busy after that many seconds, Refused when this thread itself runs."""
        me = threading.get_ident()
        until = time.monotonic() + seconds
        with self._changed:
            if me in self._running or self._alone == me:
                raise Refused("reload was asked for from inside a turn; nothing was changed; reload when it is done")
            quiet = self._changed.wait_for(
                lambda: not self._running and self._alone is None, max(0.0, until - time.monotonic())
            )
            if not quiet:
                raise Busy(
                    f"something still runs in this process after {seconds:g} s; nothing was reloaded; try again later"
                )
            self._alone = me
        try:
            yield
        finally:
            with self._changed:
                self._alone = None
                self._changed.notify_all()


PROCESS = Silence()
"""The one of this process."""
