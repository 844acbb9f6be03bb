"""The strategy: older units become leaves, the oldest nodes become parents, the newest units stand verbatim."""

from __future__ import annotations

from collections.abc import Sequence

from refold import CompactionFailed, Context, Demand, Fact, Observation, Outcome, Projection, Work
from refold_lcm_memory import Node, view

from refold_lcm.compaction import Compaction
from refold_lcm.plan import shares
from refold_lcm.sections import sections, size
from refold_lcm.settings import LcmSettings


class Lcm:
    """Sections: the nodes in view, oldest first, then the tail. It reads its own nodes and the transcript alone."""

    def project(self, context: Context) -> Projection:
        settings = context.settings(LcmSettings)
        nodes = view(context).nodes
        trigger = context.window.share(settings.trigger_percent)
        return Projection(sections(context, nodes), trigger, _observation(nodes))

    def compact(self, context: Work, demand: Demand) -> Outcome:
        if context.window.tokens is not None and context.fixed >= context.window.tokens:
            raise CompactionFailed(
                f"system prompt, context and tools take {context.fixed:,} tokens of a window of "
                f"{context.window.tokens:,}; nothing was changed. Shorten them, or use a model with a larger window"
            )
        before = view(context)
        rest = context.history.since(before.upto)
        held = size(context, before.nodes) + rest.size()
        fixed = context.fixed + context.user_lines()
        plan = shares(demand, context.window.tokens, context.settings(LcmSettings), held, fixed)
        upto = rest.tail(plan.tail, demand.protect)
        return Compaction(context, demand, plan, before).run(before.upto if upto is None else upto)


def _observation(nodes: Sequence[Node]) -> Observation:
    if not nodes:
        return Observation("whole", "the whole transcript")
    pointers = sum(node.made == "pointer" for node in nodes)
    facts = [
        Fact("summarized rows", f"1-{nodes[-1].cut.seq}"),
        Fact("nodes in view", str(len(nodes))),
        Fact("depth", str(max(node.depth for node in nodes))),
        *([Fact("nodes without a summary", str(pointers))] if pointers else []),
    ]
    return Observation("compacted", "summary nodes with their source rows, and the newest units", tuple(facts))
