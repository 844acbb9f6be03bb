"""Which window is in force, and who said so."""

from __future__ import annotations

from collections.abc import Sequence

from refold.values.errors import Refused
from refold.values.sizes import Window

UNKNOWN = Window(None, "unknown")

RESERVE_PART = 4
"""At most so great a part of a window is kept free for the reply: one fourth."""

LEAST = 64
"""Tokens that a window holds at least beside the fixed parts: a few words of a summary, and a prompt."""


def resolve_window(candidates: Sequence[Window], refused: int | None = None) -> Window:
    """The first known window of `candidates`, which come in the order of their authority.

    A limit that a refusal revealed (`refused`, tokens) caps it.

    >>> resolve_window([Window(None, "configured"), Window(200_000, "catalog")])
    Window(tokens=200000, source='catalog')
    """
    found = next((window for window in candidates if window.tokens is not None), UNKNOWN)
    if refused is not None and (found.tokens is None or refused < found.tokens):
        return Window(refused, f"refused at {refused:,}")
    return found


def reserved(window: int, wanted: int) -> int:
    """Tokens of the window that stay free for a reply which may take `wanted` tokens.

    A model may give as much output as its window holds; then a request would be due however small it is.

    >>> reserved(200_000, 8_192), reserved(8_192, 8_192)
    (8192, 2048)
    """
    return min(wanted, window // RESERVE_PART)


def check_room(window: int, fixed: int) -> None:
    """Raises Refused for a window (tokens) that somebody asked for and that no request of this session can fit:
    whatever is folded, the fixed parts stay."""
    if window < fixed + LEAST:
        raise Refused(
            f"a window of {window:,} tokens holds no request of this session: its system prompt, context blocks and"
            f" tools take {fixed:,}; nothing was changed; give at least {fixed + LEAST:,}"
        )
