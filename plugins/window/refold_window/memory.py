"""The extension `window-memory`: the records, their summaries as folds for every strategy, and their commands."""

from __future__ import annotations

from collections.abc import Sequence

from refold import Command, FoldPlugin, Fork, Manifest, hookimpl

from refold_window import store
from refold_window.commands import COMMANDS
from refold_window.folds import WindowFolds


@hookimpl
def manifest() -> Manifest:
    return Manifest(
        id="window-memory",
        title="Window memory",
        summary="Keeps window's records, and offers their summaries to other strategies",
        default=True,
        store="window",
    )


@hookimpl
def migrations() -> Sequence[str]:
    return store.MIGRATIONS


@hookimpl
def fold_plugin() -> FoldPlugin:
    return WindowFolds()


@hookimpl
def commands() -> Sequence[Command]:
    return COMMANDS


@hookimpl
def session_forked(fork: Fork) -> None:
    store.copy(fork)
