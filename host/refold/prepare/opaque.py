"""Which opaque items of the model at hand go back to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from attrs import evolve

from refold.prepare.head import Pinned
from refold.prepare.messages import Sourced
from refold.values.messages import Request
from refold.values.rows import Replay

Outdated = Callable[[Request], Collection[int]]
"""The places of those messages of a request that are thinking made behind something else than they stand behind."""


def none_outdated(request: Request) -> Collection[int]:
    """For models whose thinking goes back anywhere."""
    return ()


def sendable(
    sections: Sequence[Sequence[Sourced]], request: Request, pinned: Pinned, outdated: Outdated
) -> list[list[Sourced]]:
    """The messages of each section without the items that the provider would refuse.

    Those are all items up to one that it refused, and thinking that is out of its place where that matters: for a model
    that is known to bind it, and for one that refused an item before. `request` is the request as it would be, less its
    messages.
    """
    upto = max((each.upto for each in pinned.left_out if each.owner == request.model.owner), default=0)
    kept = [[each for each in section if not _is_refused(each, upto)] for section in sections]
    flat = [message for section in kept for message, _ in section]
    if not (request.model.bound_thinking or upto) or not any(isinstance(each, Replay) for each in flat):
        return kept
    gone = frozenset(outdated(evolve(request, messages=tuple(flat))))
    places = iter(range(len(flat)))
    return [[each for each in section if next(places) not in gone] for section in kept]


def _is_refused(sourced: Sourced, upto: int) -> bool:
    message, refs = sourced
    return isinstance(message, Replay) and any(ref.seq <= upto for ref in refs)
