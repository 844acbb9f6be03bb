"""What a mistyped word was probably meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near_miss(word: str, known: Iterable[str]) -> str | None:
    """The known word that is nearest; None when none is near.

    >>> near_miss("compcat", ["compact", "context"])
    'compact'
    """
    plain = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(word[:80].casefold(), plain, n=1, cutoff=0.6)
    return plain[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error's line; "" when no known word is near.

    >>> did_you_mean("compcat", ["compact", "context"])
    '; did you mean compact?'
    """
    near = near_miss(word, known)
    return f"; did you mean {near}?" if near else ""
