"""When pages cannot serve: rolling's text compaction for this request. The archive stays as it is."""

from __future__ import annotations

from attrs import evolve
from refold import Blocked, Context, Demand, Observation, Outcome, Projection, Rows, Section, Work

TEXT = "rolling"
MISSING = "refold-rolling is not installed, so older rows cannot be folded into text"


def project(context: Context, reason: str) -> Projection:
    """rolling's projection; without rolling the whole history. `/context` says why either way."""
    other = context.delegate(TEXT)
    if other is None:
        rows = context.history.range
        tail = (Section("tail", "the whole transcript", "tail", (Rows(rows),)),) if len(rows) else ()
        return Projection(tail, None, Observation("fallback", f"{reason}; {MISSING}: history goes out whole"))
    made = other.project()
    source = f"{reason}; {TEXT} text compaction: {made.observation.source}"
    return evolve(made, observation=evolve(made.observation, status="fallback", source=source))


def compact(context: Work, demand: Demand, reason: str) -> Outcome:
    """rolling's compaction, into rolling's own state. Raises CompactionFailed."""
    other = context.delegate(TEXT)
    if other is None:
        return Blocked("missing", f"{reason}, and {MISSING}; nothing was changed. Install refold-rolling")
    return other.compact(demand)
