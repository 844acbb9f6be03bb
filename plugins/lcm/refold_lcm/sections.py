"""What a request of lcm is made of: the nodes in view, oldest first, then the rows behind them."""

from __future__ import annotations

from collections.abc import Sequence

from refold import Context, Note, Rows, Section
from refold_lcm_memory import Node

from refold_lcm.plan import FRAME


def sections(context: Context, nodes: Sequence[Node]) -> tuple[Section, ...]:
    """The sections with these nodes in view: every row stands in one node or in the tail, and never in both."""
    tail = context.history.since(nodes[-1].cut.seq if nodes else 0).range
    newest = (Section("tail", "newest units", "tail", (Rows(tail),)),) if len(tail) else ()
    return (*(_section(node) for node in nodes), *newest)


def size(context: Context, nodes: Sequence[Node]) -> int:
    """Tokens of the nodes in a request, without what users said behind them, but for the frames of that."""
    shown = [_section(node) for node in nodes]
    bare = context.sizing.request(shown) - context.sizing.user_lines(shown) - context.fixed
    return bare + FRAME * len(nodes)


def _section(node: Node) -> Section:
    """`/context` shows a node as the rows that it stands for."""
    return Section(f"node-{node.id}", node.label, "summary", (Note(node.text()),), node.range)
