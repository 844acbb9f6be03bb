"""The four tools by which a model looks behind summaries. They only read, and every answer is bounded."""

from __future__ import annotations

from refold import Context, NotFound, Refused, RowRange, SourceRef, Tool, ToolTraits

from refold_lcm_memory import tree
from refold_lcm_memory.arguments import Arguments, answer, cursor, number, searched_text, the_node, whole
from refold_lcm_memory.node import Node
from refold_lcm_memory.passages import cut, one_line, snippet
from refold_lcm_memory.rows import page

LISTED = 20
"""Nodes, or hits of one kind, of one page at most."""
PREVIEW = 200
NEEDLE = 1_000
"""Characters of a text to look for at most."""
CHARACTERS = 8_000
"""Characters of rows or of a summary in one page at most: below what a turn cuts, however they are escaped."""

_NUMBER = {"type": "integer"}
_CURSOR = {"type": "string", "description": "`next` of the page before"}


def lcm_list(context: Context, arguments: Arguments) -> str:
    """Nodes in the order in which they were made: `nodes`, and `next` while there are more."""
    (after,) = cursor(arguments, "lN") or (0,)
    limit = number(arguments, "limit", LISTED, 1, LISTED)
    found = tree.nodes(context, after, limit + 1)
    shown = {node.id for node in tree.view(context).nodes}
    listed = [
        {**_facts(node), "in_view": node.id in shown, "preview": one_line(node.summary, PREVIEW)}
        for node in found[:limit]
    ]
    return answer(nodes=listed, next=f"l{found[limit - 1].id}" if len(found) > limit else None)


def lcm_grep(context: Context, arguments: Arguments) -> str:
    """Rows and summaries that hold a text, whatever its case: `rows` and `nodes` in their order, each list paged by
    the one `next`. A row's `node` is the leaf that covers it; none: no summary covers the row."""
    text = searched_text(arguments, "text", NEEDLE)
    node = the_node(context, arguments)
    limit = number(arguments, "limit", 10, 1, LISTED)
    row_after, node_after = cursor(arguments, "gN.N") or (0, 0)
    scope = node.range if node else RowRange(context.session, 0, context.history.range.upto)
    rows = list(context.search(text, row_after, limit + 1, within=scope))
    nodes = tree.nodes_with(context, text, scope, node_after, limit + 1)
    more = len(rows) > limit or len(nodes) > limit
    del rows[limit:], nodes[limit:]
    reached = (rows[-1][0].seq if rows else row_after, nodes[-1].id if nodes else node_after)
    return answer(
        rows=[_row_hit(context, ref, words) for ref, words in rows],
        nodes=[{**_facts(found), "snippet": snippet(found.summary, text)} for found in nodes],
        next=f"g{reached[0]}.{reached[1]}" if more else None,
    )


def lcm_describe(context: Context, arguments: Arguments) -> str:
    """One node: its rows, how it was made, its children, and its summary, which a `next` continues."""
    node = the_node(context, arguments)
    if node is None:
        raise Refused("node must name a node; lcm_list names them; nothing was looked up")
    (offset,) = cursor(arguments, "dN") or (0,)
    offset = min(offset, len(node.summary))
    end = cut(node.summary, offset, CHARACTERS)
    return answer(
        **_facts(node),
        parent=node.parent,
        made=node.made,
        model=node.model or None,
        source_tokens=context.history.size(node.range),
        in_view=node.id in {shown.id for shown in tree.view(context).nodes},
        children=[child.id for child in tree.children(context, node.id)],
        summary=node.summary[offset:end],
        next=f"d{end}" if end < len(node.summary) else None,
    )


def lcm_expand(context: Context, arguments: Arguments) -> str:
    """The rows behind a node, word for word, from `seq` on; without a node, the transcript from `seq` on.

    A `next` continues, if need be inside a row; a picture is told by type and size."""
    node = the_node(context, arguments)
    seq = whole(arguments, "seq")
    if node is None and seq is None and not arguments.get("cursor"):
        raise Refused("node or seq must say which rows to show; lcm_list names the nodes; nothing was looked up")
    rows = node.range if node else context.history.range
    at, offset = cursor(arguments, "xN.N") or (seq if seq is not None else rows.after + 1, 0)
    if at not in rows:
        raise NotFound(f"row {at} not found: there are rows {rows.after + 1}-{rows.upto}")
    content, rest = page(context.history, rows, at, offset, number(arguments, "characters", 4_000, 1, CHARACTERS))
    return answer(
        node=node.id if node else None,
        first_seq=rows.after + 1,
        last_seq=rows.upto,
        content=content,
        next=f"x{rest[0]}.{rest[1]}" if rest else None,
    )


def _row_hit(context: Context, ref: SourceRef, words: str) -> dict[str, object]:
    row = next(context.history.rows(RowRange(ref.session, ref.seq - 1, ref.seq)))
    return {"seq": ref.seq, "kind": row.kind, "node": tree.leaf_of(context, ref.seq), "snippet": words}


def _facts(node: Node) -> dict[str, object]:
    return {"id": node.id, "depth": node.depth, "first_seq": node.after + 1, "last_seq": node.cut.seq}


def _schema(*required: str, **properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


TOOLS = (
    Tool(
        "lcm_list",
        "List the summary nodes of this conversation and the rows each stands for.",
        _schema(limit=_NUMBER, cursor=_CURSOR),
        lcm_list,
        ToolTraits(lists="cursor"),
    ),
    Tool(
        "lcm_grep",
        "Find a literal text, any case, in all rows and summaries of this conversation, also in rows no longer shown.",
        _schema("text", text={"type": "string"}, node=_NUMBER, limit=_NUMBER, cursor=_CURSOR),
        lcm_grep,
        ToolTraits(searches="text"),
    ),
    Tool(
        "lcm_describe",
        "Show one summary node: rows, children, whole summary.",
        _schema("node", node=_NUMBER, cursor=_CURSOR),
        lcm_describe,
        ToolTraits(reads="node"),
    ),
    Tool(
        "lcm_expand",
        "Read the original rows behind a summary node, or from row seq on, word for word.",
        _schema(node=_NUMBER, seq=_NUMBER, characters=_NUMBER, cursor=_CURSOR),
        lcm_expand,
        ToolTraits(reads="node"),
    ),
)
