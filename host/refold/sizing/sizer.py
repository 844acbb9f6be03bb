"""Sizes for one model: the raw estimate times its family's factor and the learnt one."""

from __future__ import annotations

from attrs import Factory, field, frozen

from refold.sizing.estimate import tokens
from refold.sizing.families import Family, family
from refold.values.sizes import Model

UNKNOWN_SIDE = 1568
"""Pixels. A picture whose size nobody knows (0 x 0) counts as a square of this side, about the most a vendor's
standard resolution charges."""


@frozen
class Sizer:
    """What texts, pictures and stored totals cost the model at hand, in tokens.

    `learnt_percent` comes from `refold.sizing.learnt`; it scales text alone, since a picture's formula is the
    vendor's own.

    >>> Sizer(Model("gpt-5", "openai-chat", "")).scale(1000)
    1050
    """

    model: Model
    learnt_percent: int = 100
    _family: Family = field(
        init=False, eq=False, repr=False, default=Factory(lambda self: family(self.model.id), takes_self=True)
    )

    @property
    def family(self) -> str:
        """The name of the model's family, for people."""
        return self._family.name

    def scale(self, raw_tokens: int) -> int:
        """Raw tokens (one row's, or the difference of two running totals) as tokens of this model, rounded up."""
        return -(-raw_tokens * self._family.text_percent * self.learnt_percent // 10_000)

    def raw(self, tokens: int) -> int:
        """The raw tokens that are no more than so many of this model; at least 1. A model that counts less than the raw
        estimate gets no more for it.

        >>> Sizer(Model("claude-sonnet-4-5", "anthropic", "")).raw(1300)
        1000
        """
        return max(1, tokens * 10_000 // max(10_000, self._family.text_percent * self.learnt_percent))

    def text(self, text: str) -> int:
        """Tokens of a text."""
        return self.scale(tokens(text))

    def image(self, width: int, height: int) -> int:
        """Tokens of a picture of that size in pixels; a side that is not positive means that the size is unknown."""
        if width <= 0 or height <= 0:
            width = height = UNKNOWN_SIDE
        return self._family.image(width, height)
