"""What the lcm strategy stored, kept within reach of every strategy: the tree, its folds, tools to look behind them."""

from __future__ import annotations

from collections.abc import Sequence

from refold import Command, FoldPlugin, Fork, Manifest, Tool, hookimpl

from refold_lcm_memory.drawing import TREE
from refold_lcm_memory.folds import Nodes
from refold_lcm_memory.forking import copy_tree
from refold_lcm_memory.node import OWNER, Made, Node
from refold_lcm_memory.schema import MIGRATIONS
from refold_lcm_memory.tools import TOOLS
from refold_lcm_memory.tree import Draft, View, save, view

__all__ = ["OWNER", "Draft", "Made", "Node", "View", "save", "view"]


@hookimpl
def manifest() -> Manifest:
    return Manifest(
        id="lcm-memory",
        title="LCM memory",
        summary="Keeps lcm's summary tree for every strategy, with tools to search and expand it",
        default=True,
        store="lcm",
    )


@hookimpl
def migrations() -> Sequence[str]:
    return MIGRATIONS


@hookimpl
def fold_plugin() -> FoldPlugin:
    return Nodes()


@hookimpl
def tools() -> Sequence[Tool]:
    return TOOLS


@hookimpl
def commands() -> Sequence[Command]:
    return [TREE]


@hookimpl
def session_forked(fork: Fork) -> None:
    copy_tree(fork)
