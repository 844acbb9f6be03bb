"""What a summarizer reads: labelled blocks, grouped in steps that are never parted."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

BlockKind = Literal["user", "assistant", "call", "result", "error", "fold", "text"]


@frozen
class Block:
    """One labelled piece of transcript text.

    `label` is what stands in brackets before the text (`user`, `call read`). The text is raw: escaping belongs to
    the prompt.
    """

    kind: BlockKind
    label: str
    text: str

    @property
    def told(self) -> str:
        """The text, behind the name of the tool where a tool was called."""
        return self.text if self.kind in ("user", "assistant", "text") else f"{self.label}\n{self.text}"

    def render(self) -> str:
        """The label in brackets, then the text."""
        return f"[{self.label}] {self.text}" if self.text else f"[{self.label}]"


@frozen
class Step:
    """Blocks that are read together: a call and its result, or one user text.

    `source` is the tokens of what it stands for, `size` the tokens of its blocks.
    """

    blocks: tuple[Block, ...]
    source: int = 0
    size: int = 0
