"""What a provider's reported usage teaches about our own estimates."""

from __future__ import annotations

from collections.abc import Iterable

from refold.sizing.believable import believable

LEAST, MOST = 50, 300
"""Percent. Beyond these a report is a cache artefact or another request, not a tokenizer."""

_SMALLEST = 256  # tokens: below this a provider's own wrapping outweighs what the request holds
_FINE = 10_000  # inner resolution, so that many small steps do not drift with rounding
_WEIGHT = 4  # the newest report moves the factor by a quarter of the difference


def learnt_percent(reports: Iterable[tuple[int, int]]) -> int:
    """The factor in percent for one provider and model, from (estimate, reported) pairs in tokens, oldest first.

    `estimate` is ours with the family's factor and without this one; `reported` is the provider's whole input, cached
    tokens included. The first usable report counts in full, later ones as an exponentially weighted average, each
    clamped to 50..300 percent. One that cannot be believed is not usable. Without a usable report it is 100. Integers
    only: equal reports, equal factor.

    >>> learnt_percent([]), learnt_percent([(1000, 1500)]), learnt_percent([(1000, 1000), (1000, 2000)])
    (100, 150, 125)
    """
    value: int | None = None
    for estimate, reported in reports:
        if estimate < _SMALLEST or reported <= 0 or not believable(estimate, reported):
            continue
        ratio = min(MOST * _FINE, max(LEAST * _FINE, 100 * _FINE * reported // estimate))
        value = ratio if value is None else value + (ratio - value) // _WEIGHT
    return 100 if value is None else -(-value // _FINE)
