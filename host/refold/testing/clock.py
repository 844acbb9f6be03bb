"""Another day, for code that should not look at the clock."""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

_SECONDS = 200_000_003.0
"""Years, so that a year, a date and a time of day all differ."""


@contextmanager
def another_day(package: str) -> Iterator[None]:
    """Inside, `time` and `datetime` tell a time years ahead, also by the names that modules of `package` imported."""
    replaced = _replacements()
    modules = [module for name, module in sorted(sys.modules.items()) if name.partition(".")[0] == package]
    with ExitStack() as stack:
        for module in (time, datetime, *modules):
            for name, value in list(vars(module).items()):
                other = next((new for old, new in replaced if value is old), None)
                if other is not None:
                    stack.enter_context(patch.object(module, name, other))
        yield


def _replacements() -> list[tuple[Any, Any]]:
    """What tells the time, and what tells another; the old ones are held here, since they are patched away."""
    now, now_ns, monotonic = time.time, time.time_ns, time.monotonic
    localtime, gmtime, strftime = time.localtime, time.gmtime, time.strftime

    def moved(tell: Callable[..., Any]) -> Callable[..., Any]:
        return lambda seconds=None: tell(now() + _SECONDS if seconds is None else seconds)

    class Later(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return super().now(tz) + datetime.timedelta(seconds=_SECONDS)

        @classmethod
        def utcnow(cls) -> Any:
            return super().now(datetime.UTC).replace(tzinfo=None) + datetime.timedelta(seconds=_SECONDS)

    class LaterDate(datetime.date):
        @classmethod
        def today(cls) -> Any:
            return super().today() + datetime.timedelta(seconds=_SECONDS)

    return [
        (time.time, lambda: now() + _SECONDS),
        (time.time_ns, lambda: now_ns() + int(_SECONDS) * 10**9),
        (time.monotonic, lambda: monotonic() + _SECONDS),
        (time.localtime, moved(localtime)),
        (time.gmtime, moved(gmtime)),
        (time.strftime, lambda form, at=None: strftime(form, moved(localtime)() if at is None else at)),
        (datetime.datetime, Later),
        (datetime.date, LaterDate),
    ]
