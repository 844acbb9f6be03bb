"""What snapcompact archived, within reach of every other strategy; and tools that read the transcript itself."""

from __future__ import annotations

from collections.abc import Sequence

from refold import FoldPlugin, Fork, Manifest, Tool, hookimpl

from refold_snapcompact_memory.archive import MIGRATIONS, copy
from refold_snapcompact_memory.folds import ArchiveFolds
from refold_snapcompact_memory.tools import TOOLS


@hookimpl
def manifest() -> Manifest:
    return Manifest(
        id="snapcompact-memory",
        title="Snapcompact memory",
        summary="Archived history as text for other strategies, and tools that read the whole transcript",
        default=True,
        after=("lcm-memory",),
        store="snapcompact",
    )


@hookimpl
def migrations() -> Sequence[str]:
    return MIGRATIONS


@hookimpl
def fold_plugin() -> FoldPlugin:
    return ArchiveFolds()


@hookimpl
def tools() -> Sequence[Tool]:
    return TOOLS


@hookimpl
def session_forked(fork: Fork) -> None:
    copy(fork)
