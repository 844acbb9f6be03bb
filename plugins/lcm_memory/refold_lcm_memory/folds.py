"""lcm's nodes as folds, for whatever strategy is in force."""

from __future__ import annotations

from collections.abc import Sequence

from refold import Context, Fold, History

from refold_lcm_memory.node import OWNER
from refold_lcm_memory.tree import offered


class Nodes:
    """The largest stored nodes from the first row of the asked history on."""

    owner = OWNER

    def folds(self, context: Context, history: History) -> Sequence[Fold]:
        return [node.fold() for node in offered(context).nodes if node.cut.seq > history.range.after]
