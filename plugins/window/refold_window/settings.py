"""The section `window` of extensions.json. Shares are of the usable part: window - output reserve - fixed parts."""

from __future__ import annotations

from attrs import field, frozen, validators

_PERCENT = [validators.ge(1), validators.le(99)]

_TOKENS = validators.optional(validators.and_(validators.ge(1), validators.le(2**53)))


@frozen
class WindowSettings:
    """`contextWindowTokens`: the window, before every other source but `--window`. `outputReserveTokens`: kept free for
    the reply, never more than a quarter of the window (left out: that quarter).

    `softPercent`: when a reduction is due; `targetPercent`: what it aims at. `keepRecentTokens` and
    `keepRecentPercent` (the smaller counts): the newest turns that a summary leaves. `keepResults`: the newest
    clearable results that stay; `clearAtLeastTokens`: smaller results are not worth clearing. `gainAtLeastTokens` and
    `gainAtLeastPercent` (the larger counts, but never more than an eighth of the usable part): a reduction that saves
    less is not made by itself. `summaryTokens` and `summaryPercent` (the smaller counts): the longest summary.
    `strikes`: summaries in a row without a request that fits, after which no further one is made by itself.
    """

    context_window_tokens: int | None = field(default=None, validator=_TOKENS)
    output_reserve_tokens: int | None = field(default=None, validator=validators.optional(validators.ge(0)))
    soft_percent: int = field(default=80, validator=_PERCENT)
    target_percent: int = field(default=50, validator=_PERCENT)
    keep_recent_tokens: int = field(default=20_000, validator=validators.ge(0))
    keep_recent_percent: int = field(default=25, validator=_PERCENT)
    keep_results: int = field(default=5, validator=validators.ge(0))
    clear_at_least_tokens: int = field(default=200, validator=validators.ge(1))
    gain_at_least_tokens: int = field(default=1_000, validator=validators.ge(1))
    gain_at_least_percent: int = field(default=2, validator=_PERCENT)
    summary_tokens: int = field(default=8_192, validator=validators.ge(64))
    summary_percent: int = field(default=10, validator=_PERCENT)
    strikes: int = field(default=2, validator=validators.ge(1))

    def __attrs_post_init__(self) -> None:
        if self.target_percent >= self.soft_percent:
            raise ValueError(f"targetPercent ({self.target_percent}) must be below softPercent ({self.soft_percent})")
        if self.keep_recent_percent >= self.target_percent:
            raise ValueError(
                f"keepRecentPercent ({self.keep_recent_percent}) must be below targetPercent ({self.target_percent})"
            )
