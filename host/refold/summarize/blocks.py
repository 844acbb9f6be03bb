"""What a summarizer reads of one row, fold or text: a labelled block."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

BlockKind = Literal["user", "assistant", "call", "result", "error", "fold", "text"]


@frozen
class Block:
    """One labelled piece of transcript text.

    `label` is what stands in brackets before the text (`user`, `call read`). `group` numbers the steps of the
    material from 1: a pass never ends inside a group, so a call and its result are read together. The text is raw:
    escaping belongs to the prompt.
    """

    kind: BlockKind
    label: str
    text: str
    group: int

    def render(self) -> str:
        """The label in brackets, then the text."""
        return f"[{self.label}] {self.text}" if self.text else f"[{self.label}]"
