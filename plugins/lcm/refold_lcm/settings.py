"""The section `lcm` of extensions.json."""

from __future__ import annotations

from attrs import field, frozen, validators

_TOKENS = validators.optional(validators.and_(validators.ge(1), validators.le(2**53)))


@frozen
class LcmSettings:
    """`contextWindowTokens`: the window in tokens, before every other source but `--window`; leave it out to have it
    looked up. `triggerPercent`: the share of the window at which compaction is due. `tailPercent`: the share that the
    newest units keep, verbatim."""

    context_window_tokens: int | None = field(default=None, validator=_TOKENS)
    trigger_percent: int = field(default=90, validator=[validators.ge(2), validators.le(99)])
    tail_percent: int = field(default=25, validator=[validators.ge(1), validators.le(98)])

    def __attrs_post_init__(self) -> None:
        if self.tail_percent >= self.trigger_percent:
            raise ValueError(f"tailPercent ({self.tail_percent}) must be below triggerPercent ({self.trigger_percent})")
