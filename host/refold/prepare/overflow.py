"""The last resort after a refusal: results of the turn being answered leave the view, oldest first."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from refold.prepare.draw import Drawn, shown_rows
from refold.prepare.window import reserved
from refold.sizing.estimate import row_tokens
from refold.values.rows import Row, RowRange, SourceRef


@frozen
class Figures:
    """What a refusal said, in the provider's tokens: its limit, and what it counted; None: it did not say."""

    limit: int | None = None
    counted: int | None = None


def recovery_limit(window: int | None, figures: Figures, estimate: int) -> int | None:
    """The size to get under, in tokens as they are estimated here; None: nobody said.

    When the provider counted more than was estimated, its limit shrinks by the same factor; one that counts less than
    the estimate is not believed. Never above what was just refused.

    >>> recovery_limit(None, Figures(limit=8_000, counted=10_000), estimate=5_000)
    4000
    """
    known = [] if window is None else [window]
    limit, counted = figures.limit, figures.counted
    if limit is not None and limit > 0:
        known.append(limit * estimate // counted if counted and counted > estimate > 0 else limit)
    return min(*known, estimate) if known else None


def elide_oldest(drawn: Drawn, limit: int | None, reserve: int = 0) -> dict[int, str]:
    """Results to show as one line each (seq to text), until the request leaves `reserve` of `limit` tokens free, or a
    quarter of them where that is less.

    Only results of the newest turn are taken, oldest first, and never those of its newest step: the model has not
    read them yet. All of them are taken without a limit, and under one that the refused request keeps already: how
    far the estimate is off is unknown then.
    """
    over = 0 if limit is None else drawn.size.tokens - (limit - reserved(limit, reserve))
    excess = over if over > 0 else None
    elided: dict[int, str] = {}
    for row in _candidates(shown_rows(drawn.view, drawn.projection.sections)):
        if excess is not None and excess <= 0:
            break
        text = _placeholder(row)
        saved = _saved(drawn, row, text)
        if saved > 0:
            elided[row.ref.seq] = text
            excess = None if excess is None else excess - saved
    return elided


def _candidates(rows: Sequence[Row]) -> list[Row]:
    newest = max((row.turn for row in rows), default=0)
    turn = [row for row in rows if row.turn == newest]
    step = max((row.step for row in turn), default=0)
    return [row for row in turn if row.kind == "result" and row.step < step]


def _placeholder(row: Row) -> str:
    return f"[elided: this result did not fit the model's window; row {row.ref.seq} of the transcript holds it]"


def _saved(drawn: Drawn, row: Row, text: str) -> int:
    ref, sizer = row.ref, drawn.view.sizing.sizer
    if ref.seq in drawn.elided:
        return 0
    held = drawn.view.history.size(RowRange(ref.session, ref.seq - 1, ref.seq))
    return held - sizer.scale(row_tokens(Row(SourceRef("", 0), "result", 0, 0, text=text, call_id=row.call_id)))
