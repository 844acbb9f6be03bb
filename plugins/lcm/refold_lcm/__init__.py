"""Summaries as a tree over durable rows: a strategy for refold that keeps every row within reach of the model."""

from __future__ import annotations

from refold import CompactionStrategy, Manifest, hookimpl

from refold_lcm.settings import LcmSettings
from refold_lcm.strategy import Lcm


@hookimpl
def manifest() -> Manifest:
    return Manifest(
        id="lcm",
        title="LCM",
        summary="Summaries as a tree over durable rows, and the newest units verbatim",
        requires=("lcm-memory",),
        settings=LcmSettings,
    )


@hookimpl
def compaction_strategy() -> CompactionStrategy:
    return Lcm()
