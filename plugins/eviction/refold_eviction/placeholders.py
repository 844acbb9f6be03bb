"""The one line that stands for a collapsed result: `[evicted: WHAT, WHY; HOW TO GET IT BACK]`."""

from __future__ import annotations

from functools import lru_cache

from refold_eviction.decide import LISTING_STEPS, Verdict
from refold_eviction.paths import is_address
from refold_eviction.results import Lines, Result

OPENS = "[evicted: "
OLD = "an older result that was not marked useful"
OLD_LISTING = f"older than the last {LISTING_STEPS} steps that listed"
STALE = "stale since "

LONGEST = 120
"""Characters of a path, pattern or address."""


def placeholder(verdict: Verdict) -> str:
    """The line for a verdict. It depends on nothing that later rows change, but a later write may make it stale."""
    result = verdict.result
    if verdict.modified:
        why = f"{STALE}{clip(verdict.modified)} was modified"
    else:
        why = OLD_LISTING if result.kind == "listing" else OLD
    return f"{OPENS}{_what(result)}, {why}; call {clip(result.tool)} again]"


def _what(result: Result) -> str:
    if result.kind == "listing":
        count = "1 line" if result.text_lines == 1 else f"{result.text_lines:,} lines"
        return f"{clip(result.tool)} {clip(result.sought)} ({count})".replace("  ", " ")
    if result.kind == "search":
        folder = "".join(f" in {clip(target)}" for target in result.targets if target != ".")
        return f'results of {clip(result.tool)} "{clip(result.sought)}"{folder}'
    if any(is_address(target) for target in result.targets):
        return f"page {_several(result.targets)}"
    return f"{_range(result.lines)} of {_several(result.targets) or clip(result.tool)}"


def _range(lines: Lines | None) -> str:
    if lines is None:
        return "contents"
    return f"lines {lines.first}-{lines.last}" if lines.last is not None else f"lines from {lines.first} on"


def _several(targets: tuple[str, ...]) -> str:
    more = f" and {len(targets) - 2} more" if len(targets) > 2 else ""
    return ", ".join(clip(target) for target in targets[:2]) + more


@lru_cache(maxsize=4096)
def clip(text: str) -> str:
    """Text from the transcript on one line: no control characters, no brackets that could end the line, the middle
    of a long one left out."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    flat = flat.replace("[", "(").replace("]", ")")
    half = LONGEST // 2
    return flat if len(flat) <= LONGEST else f"{flat[:half]}…{flat[len(flat) - half + 1 :]}"
