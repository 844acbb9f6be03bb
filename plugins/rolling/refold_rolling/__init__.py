"""refold's default strategy: one incremental summary, a recap of recent user words, the newest turns verbatim."""

from __future__ import annotations

from collections.abc import Sequence

from refold import CompactionStrategy, Manifest, hookimpl

from refold_rolling.settings import RollingSettings
from refold_rolling.state import MIGRATIONS
from refold_rolling.strategy import Rolling


@hookimpl
def manifest() -> Manifest:
    return Manifest(
        id="rolling",
        title="Rolling summary",
        summary="One incremental summary, a recap of recent user words, the newest turns verbatim",
        default=True,
        settings=RollingSettings,
    )


@hookimpl
def migrations() -> Sequence[str]:
    return MIGRATIONS


@hookimpl
def compaction_strategy() -> CompactionStrategy:
    return Rolling()
