"""A strategy that appends summary blocks and never rewrites them, so that a provider's prompt cache stays warm."""

from __future__ import annotations

from refold import CompactionStrategy, Manifest, hookimpl

from refold_chain.settings import ASSUMED_WINDOW, ChainSettings
from refold_chain.strategy import Chain


@hookimpl
def manifest() -> Manifest:
    return Manifest(
        id="chain",
        title="Chain of summaries",
        summary="Summary blocks that are only appended, folds inside one long turn, the newest turns verbatim",
        assumed_window=ASSUMED_WINDOW,
        requires=("chain-memory",),
        store="chain",
        settings=ChainSettings,
    )


@hookimpl
def compaction_strategy() -> CompactionStrategy:
    return Chain()
