"""The section `chain` of extensions.json."""

from __future__ import annotations

from attrs import field, frozen, validators

ASSUMED_WINDOW = 128_000
"""Tokens of the window when nobody knows it."""

_TOKENS = validators.optional(validators.and_(validators.ge(1), validators.le(2**53)))


@frozen
class ChainSettings:
    """`contextWindowTokens`: the window in tokens, before every other source but `--window`; leave it out to have it
    looked up. `thresholdPercent`: the share of the window at which compaction is due. `keepRecentTurns`: how many of
    the newest turns stay verbatim while the window holds them."""

    context_window_tokens: int | None = field(default=None, validator=_TOKENS)
    threshold_percent: int = field(default=80, validator=[validators.ge(1), validators.le(100)])
    keep_recent_turns: int = field(default=2, validator=validators.ge(0))
