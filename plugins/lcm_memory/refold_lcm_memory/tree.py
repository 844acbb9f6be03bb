"""Reads and writes the tree. SQL on nodes and cursors stands here, and for forks in `forking`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen
from refold import Context, Cut, History, RowRange, Writer

from refold_lcm_memory.node import Node
from refold_lcm_memory.schema import FORMAT

_COLUMNS = "id, session, depth, after, upto, tokens, made, model, summary, parent"


@frozen
class View:
    """The nodes that stand for older rows in a request, oldest first and without a hole from row 1 on.

    `stored` is the last row that the stored cursor covers (None: nothing is stored); it lies behind `upto` only in a
    fork.
    """

    nodes: tuple[Node, ...]
    stored: int | None

    @property
    def upto(self) -> int:
        """The last row that the nodes cover; 0: none."""
        return self.nodes[-1].cut.seq if self.nodes else 0


@frozen
class Draft:
    """A node that is not stored yet: its id is a negative number of the maker's, and `children` may name such ids."""

    node: Node
    children: tuple[int, ...] = ()


def view(context: Context) -> View:
    """The roots; in a fork that ends inside covered rows, the largest nodes that still end with a turn.

    A node that reaches into the newest turn stands in no request of lcm: the newest turn is shown as it is. Nor does
    one whose last turn went on afterwards (a fork answers open calls). Its children take its place.
    """
    history = context.history
    prompt = history.prompt()
    last = prompt.seq - 1 if prompt else 0
    return _largest(context, lambda seq: _ends_turn(history, seq, last))


def offered(context: Context) -> View:
    """The nodes for other strategies: the roots, as long as a row or the newest turn is left to be shown.

    The host shows the whole turn of the first row that they leave, so that they may end inside a turn.
    """
    rows, prompt = context.history.range, context.history.prompt()
    last = prompt.seq - 1 if prompt else 0
    return _largest(context, lambda seq: seq < rows.upto or seq <= last)


def save(writer: Writer, session: str, before: View, cut: Cut, drafts: Sequence[Draft]) -> None:
    """Stores drafts, links and cursor; the cursor must still be where `before` saw it.

    Stored nodes behind `before.upto` are of no use in this session any more and go. Fails, and with it the whole
    transaction, when the cursor moved or a child has a parent already.
    """
    writer.execute(
        # A cursor that moved becomes NULL here, which the table forbids.
        "INSERT INTO lcm_cursor VALUES(?1, ?2, ?3, ?4) ON CONFLICT(session) DO UPDATE SET format=excluded.format,"
        " upto=CASE WHEN upto=?5 THEN excluded.upto END, tokens=excluded.tokens",
        session,
        FORMAT,
        cut.seq,
        cut.tokens,
        before.stored,
    )
    if before.stored is not None and before.stored > before.upto:
        writer.execute("DELETE FROM lcm_node WHERE session=? AND upto>?", session, before.upto)
    ids: dict[int, int] = {}
    for draft in drafts:
        node = draft.node
        ids[node.id] = writer.execute(
            "INSERT INTO lcm_node(session, format, depth, after, upto, tokens, made, model, summary, folded)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            session,
            FORMAT,
            node.depth,
            node.after,
            node.cut.seq,
            node.cut.tokens,
            node.made,
            node.model,
            node.summary,
            node.summary.casefold(),
        )
        for child in draft.children:
            writer.execute("UPDATE lcm_node SET parent=? WHERE id=?", ids[node.id], ids.get(child, child))


def node(context: Context, id: int) -> Node | None:
    """The node of this session; None: there is none, or it belongs to another session."""
    found = _select(context, "id=?", id)
    return found[0] if found else None


def children(context: Context, id: int) -> list[Node]:
    """The nodes that the parent was made of, oldest first; none for a leaf."""
    return _children(context, id)


def nodes(context: Context, after: int = 0, limit: int = 2**62) -> list[Node]:
    """Nodes of the session with an id above `after`, by id."""
    return _select(context, "id>? ORDER BY id LIMIT ?", after, limit)


def nodes_with(context: Context, text: str, within: RowRange, after: int, limit: int) -> list[Node]:
    """Nodes with an id above `after` whose rows all lie within the range and whose summary holds the text, whatever
    its case, by id."""
    where = "id>? AND after>=? AND upto<=? AND instr(folded, ?)>0 ORDER BY id LIMIT ?"
    return _select(context, where, after, within.after, within.upto, text.casefold(), limit)


def leaf_of(context: Context, seq: int) -> int | None:
    """The id of the leaf that covers the row; None: no leaf does."""
    found = context.read(
        "SELECT id FROM lcm_node WHERE session=? AND depth=0 AND upto>=? AND after<? AND format=?"
        " ORDER BY upto LIMIT 1",
        context.session,
        seq,
        seq,
        FORMAT,
    )
    return found[0][0] if found else None


def covered(context: Context) -> int:
    """The last row that the stored leaves cover; 0: none."""
    found = context.read("SELECT upto FROM lcm_cursor WHERE session=? AND format=?", context.session, FORMAT)
    return found[0][0] if found else 0


def _largest(context: Context, fits: Callable[[int], bool]) -> View:
    """The roots; the last is replaced by its children while its last row does not fit."""
    found = context.read("SELECT upto, tokens, format FROM lcm_cursor WHERE session=?", context.session)
    if not found:
        return View((), None)
    upto, tokens, format = found[0]
    if format != FORMAT or not context.history.holds(Cut(upto, tokens)):
        return View((), upto)
    nodes = _children(context, None)
    while nodes and not fits(nodes[-1].cut.seq):
        nodes += _children(context, nodes.pop().id)
    return View(tuple(nodes), upto)


def _ends_turn(history: History, seq: int, last: int) -> bool:
    """Whether a turn older than the newest ends with the row; `last` is the end of the last such turn."""
    if seq >= last:
        return seq == last
    following = next(history.rows(RowRange(history.range.session, seq, seq + 1)))
    return following.opens


def _children(context: Context, parent: int | None) -> list[Node]:
    return _select(context, "parent IS ? ORDER BY upto", parent)


def _select(context: Context, where: str, *values: object) -> list[Node]:
    sql = f"SELECT {_COLUMNS} FROM lcm_node WHERE session=? AND format=? AND {where}"
    return [_node(*each) for each in context.read(sql, context.session, FORMAT, *values)]


def _node(id: int, session: str, depth: int, after: int, upto: int, tokens: int, *rest: Any) -> Node:
    return Node(id, session, depth, after, Cut(upto, tokens), *rest)
