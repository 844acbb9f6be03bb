"""The section `eviction` of extensions.json."""

from __future__ import annotations

from attrs import field, frozen, validators


@frozen
class EvictionSettings:
    """`enable`: whether results collapse at all. `keepRecent`: how many of the newest read and search results stay.
    `minResultBytes`: smaller results are left alone. `startPercent`: the share of the window that a request reaches
    before anything collapses; 0: from the first result."""

    enable: bool = True
    keep_recent: int = field(default=2, validator=validators.ge(0))
    min_result_bytes: int = field(default=2000, validator=validators.ge(0))
    start_percent: int = field(default=50, validator=[validators.ge(0), validators.le(100)])
