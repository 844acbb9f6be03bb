"""The reducer: what the host shows it, to the lines that stand for collapsed results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from refold import Context, Row, SourceRef

from refold_eviction.decide import gate, verdicts
from refold_eviction.placeholders import placeholder
from refold_eviction.results import seen
from refold_eviction.settings import EvictionSettings

STANDS_BACK = frozenset(("window",))
"""Strategies that clear results by themselves, and heed `keep: true` on a call."""


class Eviction:
    """Collapses superseded results of tools that read, search or list."""

    def reduce(self, context: Context, rows: Sequence[Row], size: int, refused: bool) -> Mapping[SourceRef, str]:
        settings = context.settings(EvictionSettings)
        window = context.window.tokens
        if not active(context) or not gate(size, window, settings.start_percent, refused):
            return {}
        found = verdicts(seen(rows, cache(context.traits)), settings, listings=window is not None)
        lines = {ref: (placeholder(verdict), verdict.result) for ref, verdict in found.items()}
        return {ref: line for ref, (line, result) in lines.items() if len(line.encode()) < result.size}

    def pins(self, context: Context) -> bool:
        """Whether `keep: true` on a call is heeded."""
        return active(context) or context.strategy in STANDS_BACK


def active(context: Context) -> bool:
    """Whether results collapse at all in this session."""
    return context.settings(EvictionSettings).enable and context.strategy not in STANDS_BACK
