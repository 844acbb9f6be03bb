"""What a provider's refusal means: a pure function from what it said to what may be done about it."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

RefusalKind = Literal[
    "too_large",
    "too_many_bytes",
    "output_cap",
    "rate",
    "overloaded",
    "auth",
    "quota",
    "not_found",
    "malformed",
    "other",
]


@frozen
class Refusal:
    """Why a provider did not answer.

    `limit` and `requested` are tokens as the provider gave them; None: it did not say. `requested_is_floor`: the
    request is at least, or about, that large, so it teaches nothing about our own estimate. `retry_after` is seconds.
    `words` are the provider's own, on one line, at most 300 characters.
    """

    kind: RefusalKind
    limit: int | None = None
    requested: int | None = None
    requested_is_floor: bool = False
    words: str = ""
    retry_after: float | None = None
