"""Which counts of input tokens can be of the request that they are said to be of."""

from __future__ import annotations

FACTOR = 4
"""How many times larger or smaller than the estimate a count may be. Of the content that was measured none is off by
more than 2.4 with any tokenizer (docs/sizes.md); beyond it a count is of another request, of a part, or made up."""

WRAPPING = 8_000
"""Tokens that it may be off besides: what a provider puts around a request, or leaves out of its count."""


def believable(estimated: int, counted: int) -> bool:
    """Whether a request estimated at so many tokens, with nothing learnt, can have been counted so.

    >>> believable(1_650, 14_000), believable(1_650, 5_000_000), believable(30_000, 12)
    (True, False, False)
    """
    return counted <= FACTOR * estimated + WRAPPING and estimated <= FACTOR * counted + WRAPPING
