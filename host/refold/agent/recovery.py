"""What a refusal that means "too large" teaches, and how the last one is told."""

from __future__ import annotations

from refold.values.sizes import Window


def recovery_limit(window: int | None, limit: int | None, counted: int | None, estimate: int) -> int | None:
    """The size to get under, in tokens as they are estimated here; None: nobody said.

    `limit` and `counted` are the provider's figures. When it counted more than was estimated, its limit shrinks by the
    same factor; one that counts less than the estimate is not believed. Never above what was just refused.

    >>> recovery_limit(None, limit=8_000, counted=10_000, estimate=5_000)
    4000
    """
    known = [] if window is None else [window]
    if limit is not None and limit > 0:
        scaled = limit * estimate // counted if counted and counted > estimate > 0 else limit
        known.append(scaled)
    return min(*known, estimate) if known else None


def overflow_message(
    *, estimate: int, window: Window, limit: int | None, counted: int | None, retried: bool, words: str
) -> str:
    """The final error of a turn that does not fit: the figures, what to do, the provider's own words."""
    facts = [f"refold estimated about {estimate:,} tokens"]
    if window.tokens is not None:
        facts.append(f"the window is {window.tokens:,} tokens ({window.source})")
    if limit is not None and counted is not None:
        facts.append(f"the provider counted {counted:,} tokens against a limit of {limit:,}")
    elif limit is not None:
        facts.append(f"the provider's limit is {limit:,} tokens")
    elif counted is not None:
        facts.append(f"the provider counted {counted:,} tokens")
    tried = "; the request was made smaller and asked again, and refused again" if retried else ""
    advice = "run /compact, start a new session, or split the task into smaller steps"
    if limit is not None and (window.tokens is None or limit < window.tokens):
        advice += f"; set the model's window in models.json to {limit} so that compaction starts earlier"
    elif window.tokens is None:
        advice += "; set the model's window in models.json so that compaction starts earlier"
    return (
        f"the provider refused the request as larger than the model's context window ({'; '.join(facts)}){tried}; "
        f"the transcript is kept; {advice}: {words}"
    )
