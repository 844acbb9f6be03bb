"""Reducers: rows on view that extensions shorten to one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs

from refold.values.inputs import Projection, Rows, Section
from refold.values.rows import Row, SourceRef

Reduce = Callable[[Sequence[Row]], Mapping[SourceRef, str]]
"""One extension's reducer, bound to its context and to this request."""


def reduced(shown: Sequence[Row], reducers: Iterable[Reduce]) -> dict[int, str]:
    """What the reducers shorten: seq to one line of text.

    Each reducer, in registry order, sees the rows that the strategy and the reducers before it left alone. Only tool
    results are shortened, so calls stay paired and the prompt stays whole.
    """
    results = {row.ref for row in shown if row.kind == "result"}
    elided: dict[int, str] = {}
    for reduce in reducers:
        rows = [row for row in shown if row.ref.seq not in elided]
        for ref, text in reduce(rows).items():
            if ref in results and ref.seq not in elided:
                elided[ref.seq] = " ".join(text.split())
    return elided


def with_elisions(projection: Projection, elided: Mapping[int, str]) -> Projection:
    """The projection with these rows (seq to text) elided too. What the strategy elided stays as it said."""
    if not elided:
        return projection
    return attrs.evolve(projection, sections=tuple(_section(section, elided) for section in projection.sections))


def _section(section: Section, elided: Mapping[int, str]) -> Section:
    inputs = tuple(
        attrs.evolve(part, elide={**{seq: text for seq, text in elided.items() if seq in part.range}, **part.elide})
        if isinstance(part, Rows)
        else part
        for part in section.inputs
    )
    return attrs.evolve(section, inputs=inputs)
