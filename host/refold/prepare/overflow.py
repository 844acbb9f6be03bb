"""The last resort after a refusal: results of the turn being answered leave the view, oldest first."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from refold.prepare.draw import Drawn, shown_rows
from refold.sizing.estimate import row_tokens
from refold.values.rows import Row, RowRange, SourceRef


@frozen
class Figures:
    """What a refusal said, in the provider's tokens: its limit, and what it counted; None: it did not say."""

    limit: int | None = None
    counted: int | None = None


def recovery_limit(window: int | None, figures: Figures, estimate: int) -> int | None:
    """The size to get under, in tokens as they are estimated here; None: nobody said.

    `window` and `figures` are the provider's tokens, `estimate` is the refused request as it is estimated here now,
    with whatever its refusal taught. When the provider counted more than that, one token here is more than one there,
    and the limit shrinks by the same factor, once; one that counts less is not believed. Never above what was refused.

    >>> recovery_limit(None, Figures(limit=8_000, counted=10_000), estimate=5_000)
    4000
    >>> recovery_limit(8_000, Figures(limit=8_000, counted=10_000), estimate=10_000)  # the refusal was learnt from
    8000
    """
    known = [limit for limit in (window, figures.limit) if limit is not None and limit > 0]
    if not known:
        return None
    counted = figures.counted or 0
    return min(estimate, min(known) * estimate // counted if counted > estimate > 0 else min(known))


def elide_oldest(drawn: Drawn, over: int | None) -> dict[int, str]:
    """Results to show as one line each (seq to text), until the request is smaller by `over` tokens, as estimated here.

    Only results of the newest turn are taken, oldest first, and never those of its newest step: the model has not
    read them yet. None or nothing over: all of them are taken, since how far the estimate is off is unknown then.
    """
    excess = over if over is not None and over > 0 else None
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
