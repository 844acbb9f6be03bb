"""Which window is in force, and who said so."""

from __future__ import annotations

from collections.abc import Sequence

from refold.values.sizes import Window

UNKNOWN = Window(None, "unknown")


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
