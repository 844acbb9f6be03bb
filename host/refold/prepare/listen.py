"""Session hooks: a raise, or an answer of another shape, costs this one call, and a notice says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from refold.values.errors import RefoldError

T = TypeVar("T")


def listen(notices: list[str], extension: str, hook: str, call: Callable[[], T | None]) -> T | None:
    """What the hook answers; None, and a notice, when it raised, `sys.exit` included.

    `call` also checks the answer: what is wrong with it must show here, where its owner is known.
    """
    try:
        return call()
    except (Exception, SystemExit) as error:
        notice = f"{extension}: {hook} failed ({say(error)}); it was skipped this time"
        if notice not in notices:  # one request may ask a hook several times
            notices.append(notice)
        return None


def say(error: BaseException) -> str:
    """An error of an extension in one line: refold's own by its words, others by their type and their words."""
    words = one_line(str(error))
    if isinstance(error, RefoldError) and words:
        return words
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def one_line(text: str) -> str:
    """An extension's words for people, on one line.

    >>> one_line(" not\\n  now ")
    'not now'
    """
    return " ".join(text.split())
