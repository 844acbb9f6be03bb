"""SIGTERM and SIGHUP end a turn as Ctrl-C in a console does: what came of it is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from attrs import define, field

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals by which a system asks a process to end; Windows has one of them."""


@define
class Ending:
    """`stop` is set once the process was asked to end, by the signal `by`."""

    stop: threading.Event = field(factory=threading.Event)
    by: int | None = None

    @property
    def exit(self) -> int:
        """The exit code that says so, as shells count; 0 while nobody asked."""
        return 0 if self.by is None else 128 + self.by


@contextmanager
def ending() -> Iterator[Ending]:
    """Listens while the block runs. A second signal ends the process at once. Signals reach the main thread alone;
    in another one nothing is heard."""
    heard = Ending()
    before = {}

    def end(number: int, frame: FrameType | None) -> None:
        heard.by = number
        heard.stop.set()
        signal.signal(number, signal.SIG_DFL)

    if threading.current_thread() is threading.main_thread():
        before = {each: signal.signal(each, end) for each in ENDING}
    try:
        yield heard
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
