"""Which results collapse, and why: a pure decision over what stands on view."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from attrs import frozen
from refold import SourceRef

from refold_eviction.paths import same, touches
from refold_eviction.results import Lines, Mark, Result, Seen, touchable
from refold_eviction.settings import EvictionSettings

LISTING_STEPS = 3
"""Listings of so many of the newest steps that list stay."""


@frozen
class Verdict:
    """A result that collapses. `modified` is the path whose write made it stale; empty: it is only old."""

    result: Result
    modified: str = ""


def gate(size: int, window: int | None, start_percent: int, refused: bool) -> bool:
    """Whether results may collapse now: the request, as it is without any of this, reaches its share of the window.

    >>> gate(49, 100, 50, False), gate(50, 100, 50, False), gate(1, 100, 50, True)
    (False, True, True)
    """
    return refused or start_percent == 0 or window is None or size * 100 >= start_percent * window


def verdicts(seen: Seen, settings: EvictionSettings, *, listings: bool = True) -> dict[SourceRef, Verdict]:
    """Every result that collapses. In this order: one that the model has not seen yet stays; a stale one collapses,
    pinned or not; then one inside its window stays, and one that was marked useful; the others collapse. `listings`
    false: those wait."""
    candidates = [result for result in seen.results if result.size > settings.min_result_bytes]
    reads = [result for result in candidates if result.kind != "listing"]
    steps = sorted({result.step for result in candidates if result.kind == "listing"})[-LISTING_STEPS:]
    newest = {result.ref for result in reads[len(reads) - min(len(reads), settings.keep_recent) :]}
    written = _Written.of(seen)
    found: dict[SourceRef, Verdict] = {}
    for result in candidates:
        if result.step == seen.unread or (result.kind == "listing" and not listings):
            continue
        modified = written.first(result)
        inside = result.step in steps if result.kind == "listing" else result.ref in newest
        if modified:
            found[result.ref] = Verdict(result, modified)
        elif not (inside or _marked(seen, result)):
            found[result.ref] = Verdict(result)
    return found


@frozen
class _Written:
    """The paths that were written, each with the seqs of its writes in order."""

    seqs: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, seen: Seen) -> _Written:
        seqs: dict[str, list[int]] = {}
        for write in seen.writes:
            for path in write.paths:
                seqs.setdefault(path, []).append(write.seq)
        return cls(seqs)

    def first(self, result: Result) -> str:
        """The path whose write was the first to make the result stale (later ones do not change what stands for it);
        empty: it is fresh."""
        targets, folder = touchable(result), result.kind != "read"
        found, path = None, ""
        for written, seqs in self.seqs.items():
            at = bisect_right(seqs, result.ref.seq)
            if at == len(seqs) or (found is not None and found <= seqs[at]):
                continue
            if any(touches(written, target, folder=folder) for target in targets):
                found, path = seqs[at], written
        return path


def _marked(seen: Seen, result: Result) -> bool:
    if result.kind == "listing":
        return False
    return result.kept or any(mark.seq > result.ref.seq and _covers(mark, result) for mark in seen.marks)


def _covers(mark: Mark, result: Result) -> bool:
    if result.kind == "search":
        return mark.pattern == result.sought and (not mark.path or any(same(mark.path, at) for at in result.targets))
    if mark.pattern or not any(same(mark.path, path) for path in result.targets):
        return False
    return mark.lines is None or mark.lines.overlaps(result.lines or Lines())
