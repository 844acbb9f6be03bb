"""The extension `window`: the cheapest sufficient reduction, each one a recorded checkpoint."""

from __future__ import annotations

from refold import CompactionStrategy, Context, Fold, Manifest, hookimpl

from refold_window.settings import WindowSettings
from refold_window.strategy import WindowStrategy
from refold_window.tail import snapshot


@hookimpl
def manifest() -> Manifest:
    return Manifest(
        id="window",
        title="Window records",
        summary="Clears, collapses, then summarizes older rows: the cheapest that suffices, each step recorded",
        requires=("window-memory",),
        store="window",
        settings=WindowSettings,
    )


@hookimpl
def compaction_strategy() -> CompactionStrategy:
    return WindowStrategy()


@hookimpl
def tail_snapshot(context: Context) -> Fold | None:
    return snapshot(context)
