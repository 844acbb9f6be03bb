"""One compaction: leaves for older rows, parents for nodes that outgrew their share, all of it stored together."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import field, mutable
from refold import Applied, CompactionFailed, Cut, Demand, Fold, Nothing, Outcome, RowRange, Summary, Work
from refold_lcm_memory import OWNER, Draft, Node, View, save, view

from refold_lcm.plan import FRAME, LARGEST_LEAF, LEAST_LEAF, WRAPPING, Shares, chunks, group
from refold_lcm.sections import sections, size
from refold_lcm.summaries import Written, pointer, written

BATCH = 16
"""Leaves of one commit: of a very long first compaction that is interrupted, what was summarized before is kept."""


@mutable(eq=False)
class Compaction:
    """A compaction under way. `nodes` are those in view, drafts that are not stored yet among them."""

    work: Work
    demand: Demand
    plan: Shares
    before: View
    nodes: list[Node] = field(init=False)
    drafts: list[Draft] = field(factory=list, init=False)
    texts: list[Written] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.nodes = list(self.before.nodes)

    def run(self, upto: int) -> Outcome:
        """Folds the rows behind the nodes up to seq `upto`. Raises what `Work.summarize` raises, CompactionFailed."""
        room = self.plan.nodes(self.work.history.since(upto).size())
        rows = self._worth_a_node(RowRange(self.work.session, self.before.upto, upto))
        if not len(rows) and not self._crowded(room):
            return self._idle(rows)
        folded = rows if len(rows) else _span(self._oldest())
        self.work.begin(folded)
        leaves = list(chunks(self.work.history, rows, self.plan.chunk))
        for first in range(0, max(1, len(leaves)), BATCH):
            before = self._request()
            for place, leaf in enumerate(leaves[first : first + BATCH], first):
                self.work.progress(place, len(leaves))
                free = max(0, room - size(self.work, self.nodes)) // (len(leaves) - place + 1)
                self._add_leaf(leaf, max(self.plan.leaf, min(LARGEST_LEAF, free - WRAPPING - FRAME)))
            while self._crowded(room):
                self._join(self._oldest())
            after = self._request()
            if after >= before:
                return self._no_smaller(folded, before, after)
            self._commit()
        self.work.progress(len(leaves), len(leaves))
        return self._applied(folded)

    def _worth_a_node(self, rows: RowRange) -> RowRange:
        """The rows, or none of them when even a pointer would be no smaller."""
        least = self._draft(0, rows.after, Cut(rows.upto, 0), pointer(rows))
        enough = len(rows) > 0 and self.work.history.size(rows) > size(self.work, [least])
        return rows if enough else RowRange(rows.session, rows.after, rows.after)

    def _crowded(self, room: int) -> bool:
        """Whether nodes hold more than their share, and can be joined."""
        return len(self.nodes) > 1 and size(self.work, self.nodes) > room

    def _oldest(self) -> list[Node]:
        """The nodes that become a parent next."""
        return [self.nodes[place] for place in group([node.depth for node in self.nodes])]

    def _add_leaf(self, rows: RowRange, limit: int) -> None:
        """A leaf of at most `limit` tokens. It reads its own rows alone, so that it holds what they add and nothing
        else."""
        cut, source = self.work.history.cut(rows.upto), self.work.history.size(rows)

        def fits(text: str) -> bool:
            node = self._draft(0, rows.after, cut, Written(text, "summary", "", 0))
            return size(self.work, [node]) < source

        text = written(self.work, [rows], rows, limit, fits)
        self._put(self._draft(0, rows.after, cut, text), (), text)

    def _join(self, children: Sequence[Node]) -> None:
        """A parent of neighbours takes their place; they stay stored behind it."""
        rows, source = _span(children), size(self.work, children)
        depth, cut = max(child.depth for child in children) + 1, children[-1].cut

        def fits(text: str) -> bool:
            return size(self.work, [self._draft(depth, rows.after, cut, Written(text, "summary", "", 0))]) < source

        limit = max(LEAST_LEAF, min(self.plan.parent, source // 2))
        if all(child.made == "pointer" for child in children):
            text = pointer(rows)
        else:
            text = written(self.work, [_material(child) for child in children], rows, limit, fits)
        self._put(self._draft(depth, rows.after, cut, text), children, text)

    def _draft(self, depth: int, after: int, cut: Cut, text: Written) -> Node:
        id = -len(self.drafts) - 1
        return Node(id, self.work.session, depth, after, cut, text.made, text.model, text.summary)

    def _put(self, node: Node, children: Sequence[Node], text: Written) -> None:
        at = self.nodes.index(children[0]) if children else len(self.nodes)
        self.nodes[at : at + len(children)] = [node]
        self.drafts.append(Draft(node, tuple(child.id for child in children)))
        self.texts.append(text)

    def _request(self) -> int:
        return self.work.sizing.request(sections(self.work, self.nodes))

    def _commit(self) -> None:
        """Nodes, links and cursor in one transaction; then the view is what is stored."""
        session, before, drafts, cut = self.work.session, self.before, tuple(self.drafts), self.nodes[-1].cut
        self.work.commit(lambda writer: save(writer, session, before, cut, drafts))
        self.drafts.clear()
        self.before = view(self.work)
        self.nodes = list(self.before.nodes)

    def _idle(self, rows: RowRange) -> Outcome:
        newest = self.work.history.since(rows.after).size()
        if self.nodes:
            return Nothing(f"behind the summary nodes there is little but the newest unit ({newest:,} tokens)")
        return Nothing(f"there is no older unit worth a summary; the transcript takes {newest:,} tokens")

    def _no_smaller(self, rows: RowRange, before: int, after: int) -> Outcome:
        folded = f"folding rows {rows.after + 1}-{rows.upto}"
        reason = f"{folded} would not make the request smaller: {before:,} tokens now, {after:,} then"
        if self.demand.kind == "manual" and self.before.upto <= rows.after:
            return Nothing(reason)
        raise CompactionFailed(f"{reason}; nothing more was changed")

    def _applied(self, rows: RowRange) -> Outcome:
        made = [text for text in self.texts if text.model]
        models = " + ".join(dict.fromkeys(text.model for text in made))
        summary = Summary(made[-1].summary, models, sum(text.passes for text in made)) if made else None
        missing = len(self.texts) - len(made)
        note = f"{missing} of {len(self.texts)} nodes hold no summary but a pointer to their rows" if missing else ""
        return Applied(rows, summary=summary, note=note)


def _material(node: Node) -> Fold:
    """A child as a summarizer reads it; an id is of no use there."""
    return Fold(OWNER, str(node.id), f"of rows {node.after + 1}-{node.cut.seq}", node.summary, node.range)


def _span(nodes: Sequence[Node]) -> RowRange:
    """The rows that neighbours stand for together."""
    return RowRange(nodes[0].session, nodes[0].after, nodes[-1].cut.seq)
