"""The command `lcm tree`: every node of a session, each behind its parent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refold import Command, Work

from refold_lcm_memory import tree
from refold_lcm_memory.node import Node


def draw(context: Work, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """`nodes` in the order of a drawn tree, and `covered_seq`, the last row that leaves cover."""
    found = {node.id: node for node in tree.nodes(context)}
    below: dict[int | None, list[Node]] = {}
    for node in sorted(found.values(), key=lambda node: (node.cut.seq, node.depth)):
        below.setdefault(node.parent if node.parent in found else None, []).append(node)
    shown = {node.id for node in tree.view(context).nodes}
    drawn: list[dict[str, Any]] = []
    waiting = below.get(None, [])[::-1]
    while waiting:
        node = waiting.pop()
        children = below.get(node.id, [])
        waiting += children[::-1]
        drawn.append(
            {
                "id": node.id,
                "depth": node.depth,
                "first_seq": node.after + 1,
                "last_seq": node.cut.seq,
                "rows": len(node.range),
                "tokens": context.sizing.text(node.text()),
                "in_view": node.id in shown,
                "children": [child.id for child in children],
            }
        )
    return {"nodes": drawn, "covered_seq": tree.covered(context)}


TREE = Command("lcm tree", "Draw the summaries of a session as a tree.", {}, draw)
