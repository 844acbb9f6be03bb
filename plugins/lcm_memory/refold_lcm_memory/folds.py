"""lcm's nodes as folds, for whatever strategy is in force."""

from __future__ import annotations

from collections.abc import Sequence

from refold import Context, Fold, History

from refold_lcm_memory.node import OWNER
from refold_lcm_memory.tree import view


class Nodes:
    """The nodes that lcm itself would show, from the first row of the asked history on."""

    owner = OWNER

    def folds(self, context: Context, history: History) -> Sequence[Fold]:
        return [node.fold() for node in view(context).nodes if node.cut.seq > history.range.after]
