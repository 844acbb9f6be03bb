"""What a session object keeps between requests to be quick; all of it can be had again."""

from __future__ import annotations

from attrs import define, field

from refold.prepare.request import Prepared
from refold.providers.models import ResolvedModel
from refold.summarize.passes import PassCache
from refold.values.inputs import Rows
from refold.values.rows import Row

_PASSES = 64


@define(eq=False)
class Memory:
    """Decoded rows by seq, accepted passes of summaries, the turn in which automatic compaction rests, and what
    providers said to be the most output of their models (tokens, by model)."""

    rows: dict[int, Row] = field(factory=dict)
    passes: PassCache = field(factory=lambda: PassCache(_PASSES))
    rested_turn: int = 0
    outputs: dict[str, int] = field(factory=dict)
    _key: int | None = None

    def belongs_to(self, key: int) -> None:
        """Forgets everything when the session was deleted and another one bears its name."""
        if self._key not in (None, key):
            self.rows = {}
            self.passes = PassCache(_PASSES)
            self.rested_turn = 0
        self._key = key

    def output(self, model: ResolvedModel) -> int | None:
        """The most output that a model gives, in tokens; None: nobody said."""
        known = [most for most in (self.outputs.get(model.id), model.max_output) if most is not None]
        return min(known, default=None)

    def learn_output(self, model: ResolvedModel, most: int | None) -> bool:
        """A provider refused to give more than `most` tokens. False when that is nothing new."""
        known = self.output(model)
        if most is None or most < 1 or (known is not None and known <= most):
            return False
        self.outputs[model.id] = most
        return True

    def took(self, prepared: Prepared, turn: int | None = None) -> None:
        """A request was prepared: rows stay while they are on view. One that `rests` does so for its whole `turn`."""
        inputs = [part for section in prepared.projection.sections for part in section.inputs]
        parts = [part.range for part in inputs if isinstance(part, Rows)]
        self.rows = {seq: row for seq, row in self.rows.items() if any(seq in part for part in parts)}
        if prepared.rests and turn is not None:
            self.rested_turn = turn
