"""What a session object keeps between requests to be quick; all of it can be had again."""

from __future__ import annotations

from attrs import define, field

from refold.prepare.request import Prepared
from refold.summarize.passes import PassCache
from refold.values.inputs import Rows
from refold.values.rows import Row

_PASSES = 64


@define(eq=False)
class Memory:
    """Decoded rows by seq, accepted passes of summaries, and the turn in which automatic compaction rests."""

    rows: dict[int, Row] = field(factory=dict)
    passes: PassCache = field(factory=lambda: PassCache(_PASSES))
    rested_turn: int = 0
    _key: int | None = None

    def belongs_to(self, key: int) -> None:
        """Forgets everything when the session was deleted and another one bears its name."""
        if self._key not in (None, key):
            self.rows = {}
            self.passes = PassCache(_PASSES)
            self.rested_turn = 0
        self._key = key

    def took(self, prepared: Prepared, turn: int | None = None) -> None:
        """A request was prepared: rows stay while they are on view. One that `rests` does so for its whole `turn`."""
        inputs = [part for section in prepared.projection.sections for part in section.inputs]
        parts = [part.range for part in inputs if isinstance(part, Rows)]
        self.rows = {seq: row for seq, row in self.rows.items() if any(seq in part for part in parts)}
        if prepared.rests and turn is not None:
            self.rested_turn = turn
