"""The last resort after a refusal: results of the turn being answered leave the view, oldest first."""

from __future__ import annotations

from collections.abc import Sequence

from refold.prepare.draw import Drawn, shown_rows
from refold.sizing.estimate import row_tokens
from refold.values.rows import Row, RowRange, SourceRef


def elide_oldest(drawn: Drawn, limit: int | None) -> dict[int, str]:
    """Results to show as one line each (seq to text), until the request measures at most `limit` tokens.

    Only results of the newest turn are taken, oldest first, and never those of its newest step: the model has not
    read them yet. Without a known limit all of them are taken.
    """
    excess = None if limit is None else drawn.size.tokens - limit
    elided: dict[int, str] = {}
    for row in _candidates(shown_rows(drawn.view, drawn.projection)):
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
