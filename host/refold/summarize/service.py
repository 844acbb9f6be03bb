"""Older history -> one summary: the one service of all strategies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from refold.summarize.passes import PassCache
from refold.summarize.reply import Deadline, Summarizer
from refold.values.contexts import Fold
from refold.values.outcome import Summary
from refold.values.rows import Row, SourceRef

Material = Row | Fold | str
"""What is summarized: durable rows, stored folds, texts of an extension, oldest first."""


def summarize(
    material: Sequence[Material],
    *,
    summarizers: Sequence[Summarizer],
    previous: str = "",
    context: str = "",
    instructions: str = "",
    focus: str = "",
    limit: int | None = None,
    source_tokens: int | None = None,
    chunk: int | None = None,
    elided: Mapping[SourceRef, str] | None = None,
    deadline: Deadline | None = None,
    progress: Callable[[int, int], None] | None = None,
    cache: PassCache | None = None,
) -> Summary:
    """See docs."""
    raise NotImplementedError
