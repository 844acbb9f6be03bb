"""Session hooks: a raise costs this one call, and a notice says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def listen(notices: list[str], extension: str, hook: str, call: Callable[[], T | None]) -> T | None:
    """What the hook answers; None, and a notice, when it raised."""
    try:
        return call()
    except Exception as error:
        notices.append(f"{extension}: {hook} failed ({say(error)}); it was skipped this time")
        return None


def say(error: BaseException) -> str:
    """An error of an extension in one line: its type, and its words if it has any."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
