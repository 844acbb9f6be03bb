"""One node's text: a summary, a shorter one, or a pointer. Everything here calls models and stores nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen
from refold import Fold, RowRange, SummaryRejected, Work
from refold_lcm_memory import Made

LEAST_RETRY = 32
"""Tokens: a second try is never given less."""

POINTER = "(not summarized: what a model wrote was no smaller than these {rows:,} rows or over its limit)"


@frozen
class Written:
    """A node's text, how it came about, who wrote it in how many passes."""

    summary: str
    made: Made
    model: str
    passes: int


def written(
    work: Work, material: Sequence[RowRange | Fold], rows: RowRange, limit: int, fits: Callable[[str], bool]
) -> Written:
    """The text for a node of `rows`, made of `material`: at most `limit` tokens, and one that `fits`.

    A text that is over the limit or not smaller than its source is asked for once more with a third of the limit; if
    that fails too, a pointer says so. Raises SummaryFailed for everything else: then there is no node.
    """
    made: Made = "summary"
    for made, most in (("summary", limit), ("shorter", max(LEAST_RETRY, limit // 3))):
        try:
            summary = work.summarize(*material, limit=most)
        except SummaryRejected as error:
            if _is_failure(error):
                raise
            continue
        if fits(summary.text):
            return Written(summary.text, made, summary.model, summary.passes)
    return pointer(rows)


def pointer(rows: RowRange) -> Written:
    """Stands for rows without a summary; the lines around it say how to read them."""
    return Written(POINTER.format(rows=len(rows)), "pointer", "", 0)


def _is_failure(error: SummaryRejected) -> bool:
    """Whether no summary came at all: an empty reply, an error text, a refusal. Of a text that came, its size was
    wrong; rows in which nothing was said are best pointed at."""
    return error.reason not in ("too_long", "cut_off", "not_smaller", "nothing", "")
