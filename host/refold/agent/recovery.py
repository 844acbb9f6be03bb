"""What a refusal that means "too large" teaches, and how the last one is told."""

from __future__ import annotations

from attrs import evolve

from refold.prepare.overflow import Figures
from refold.providers.exchange import Usage
from refold.providers.refusals import Refusal
from refold.sizing.believable import believable
from refold.values.sizes import Window


def believed(usage: Usage, estimate: int) -> Usage:
    """What a provider reported of a request of `estimate` tokens, its input left out where it cannot be."""
    counted = usage.input_tokens
    if counted is None or believable(estimate, counted):
        return usage
    return evolve(usage, input_tokens=None, cached_tokens=None)


def figures(refusal: Refusal, estimate: int) -> Figures:
    """What a refusal of a request of `estimate` tokens says of them; one that counts bytes says nothing.

    A count that cannot be is left out.
    """
    if refusal.kind != "too_large":
        return Figures()
    counted = refusal.requested
    if counted is not None:
        counted = None if refusal.requested_is_floor else counted - (refusal.requested_output or 0)
    if counted is not None and not believable(estimate, counted):
        counted = None
    return Figures(refusal.limit, counted)


def revealed_window(said: Figures, estimate: int) -> int:
    """The window that a refusal of a request of `estimate` tokens reveals: what the session is held to from now on.

    In the provider's tokens when it counted; then its count corrects later estimates. A limit alone that the estimate
    keeps already cannot be all, so the window is below what was refused.

    >>> revealed_window(Figures(8_192, 9_000), 5_000), revealed_window(Figures(8_192), 5_000)
    (8192, 5000)
    """
    if said.limit is None:
        return max(said.counted or 0, estimate)
    return said.limit if said.counted else min(said.limit, estimate)


def overflow_message(*, estimate: int, window: Window, said: Figures, retried: bool, words: str) -> str:
    """The final error of a turn that does not fit: the figures, what to do, the provider's own words."""
    limit, counted = said.limit, said.counted
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
