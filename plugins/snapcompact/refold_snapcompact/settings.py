"""The section `snapcompact` of extensions.json."""

from __future__ import annotations

from attrs import field, frozen, validators

MOST_FRAMES = 80

_TOKENS = validators.optional(validators.and_(validators.ge(1), validators.le(2**53)))


@frozen
class SnapcompactSettings:
    """`contextWindowTokens`: the window in tokens, before every other source but `--window`; leave it out to have it
    looked up. `triggerPercent`: the share of the window at which compaction is due. `tailPercent`: the share that the
    newest turns keep, verbatim. `archivePercent`: the share that pages may take. `maxFrames`: pages at most."""

    context_window_tokens: int | None = field(default=None, validator=_TOKENS)
    trigger_percent: int = field(default=90, validator=[validators.ge(2), validators.le(99)])
    tail_percent: int = field(default=10, validator=[validators.ge(1), validators.le(98)])
    archive_percent: int = field(default=20, validator=[validators.ge(1), validators.le(98)])
    max_frames: int = field(default=60, validator=[validators.ge(1), validators.le(MOST_FRAMES)])

    def __attrs_post_init__(self) -> None:
        if self.tail_percent >= self.trigger_percent:
            raise ValueError(f"tailPercent ({self.tail_percent}) must be below triggerPercent ({self.trigger_percent})")
