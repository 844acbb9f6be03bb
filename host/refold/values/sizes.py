"""Windows, models and how requests are measured. Every size is tokens unless it says pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from attrs import frozen

from refold.values.inputs import Section


@frozen
class Window:
    """The model's context window in tokens (None: unknown), and who said so."""

    tokens: int | None
    source: str

    def share(self, percent: int) -> int | None:
        """That percentage of the window, rounded up; None when the window is unknown.

        Rounding up makes `size >= share(p)` the integer rule `size * 100 >= window * p`.
        """
        return None if self.tokens is None else -(-self.tokens * percent // 100)


@frozen
class Model:
    """A model as strategies see it.

    `owner` identifies provider, account and model: a `Replay` goes to its owner alone. `inputs` are the kinds it
    reads (`text`, `image`); None: unknown. `max_edge` is in pixels, `max_images` counts a request's pictures.
    `bound_thinking`: its thinking goes back only behind exactly what it was made behind.
    """

    id: str
    protocol: str
    owner: str
    inputs: frozenset[str] | None = None
    max_edge: int | None = None
    max_images: int | None = None
    bound_thinking: bool = False


@frozen
class Measured:
    """A request that was sent: the newest row it held, its tokens as the provider counted them, the model, and how
    many compactions the session had seen."""

    upto: int
    tokens: int | None
    model: str
    compaction: int


class Sizing(Protocol):
    """Sizes for the model at hand, learnt factor included."""

    def text(self, text: str) -> int:
        """Tokens of a text."""

    def image(self, width: int, height: int) -> int:
        """Tokens of a picture of that size in pixels, by the model family's own formula."""

    def request(self, sections: Sequence[Section]) -> int:
        """Tokens of a whole request made of these sections: system prompt, context blocks and tools included, and what
        users said in the rows that the sections cover, which the host adds."""

    def user_lines(self, sections: Sequence[Section]) -> int:
        """What of that is what users said in the rows that the sections cover."""
