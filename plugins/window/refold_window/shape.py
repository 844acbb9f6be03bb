"""The view as the planner sees it: plain values, read once from the history."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from attrs import frozen
from refold import Call, Context, Demand, History, Row, RowRange, Rows, Section

from refold_window.receipts import ToolClass, exit_code, receipt, status, target, tool_class


@frozen
class Result:
    """A result on view that is not cleared yet. Sizes are tokens: as it stands, and as its receipt.

    `key` names what was read (None: nothing was), `seen` says that the model answered after it, `failed` that the
    call ended in an error, `pinned` that the call asked for its result to be kept.
    """

    seq: int
    tool: ToolClass
    tokens: int
    receipt: str
    receipt_tokens: int
    key: str | None = None
    seen: bool = True
    failed: bool = False
    pinned: bool = False


@frozen
class End:
    """A place where a cut may stand: the last row of a turn, the tokens on view up to it, and the raw ones. `said` are
    those that users' words in the folded rows take behind a cut there, at most."""

    seq: int
    tokens: int
    raw: int
    said: int = 0


@frozen
class Shape:
    """What is on view behind row `after`, oldest first.

    `ends` are turn ends but that of the newest turn; `tokens` is everything behind `after`. `summary_tokens` are
    those of the summary in force, `dropped_tokens` those of the rows between it and `after` that left without one,
    `notice_tokens` those of a notice. No cut passes `barrier` (None: none does); `join` says that an open child is the
    reason.
    """

    after: int
    tokens: int
    results: tuple[Result, ...] = ()
    ends: tuple[End, ...] = ()
    summary_tokens: int = 0
    dropped_tokens: int = 0
    notice_tokens: int = 0
    barrier: int | None = None
    join: bool = False


def describe(
    context: Context,
    demand: Demand,
    after: int,
    cleared: Mapping[int, str],
    *,
    summary_tokens: int,
    dropped_tokens: int,
    notice_tokens: int,
    user_lines: int,
) -> Shape:
    """The view behind row `after`, of which `cleared` rows (seq to text) show a receipt already. `user_lines` are the
    tokens by which users' words beside it may grow."""
    history, session = context.history, context.session
    view = RowRange(session, after, history.range.upto)
    rows = list(history.rows(view))
    receipts = {seq: text for seq, text in cleared.items() if seq in view}
    lost = _Totals(unsent(context, rows))
    saved = _Totals({seq: _held(context, seq) - shown_tokens(context, seq, text) for seq, text in receipts.items()})
    said = _Totals({row.ref.seq: _held(context, row.ref.seq) for row in rows if row.kind == "user"})
    join = history.open_join()
    protect = None if demand.protect is None else demand.protect.seq - 1
    barrier = min((each for each in (join, protect) if each is not None), default=None)
    return Shape(
        after=after,
        tokens=history.size(view) - lost.upto(view.upto) - saved.upto(view.upto),
        results=tuple(_results(context, rows, cleared)),
        ends=tuple(
            End(end, raw - saved.upto(end), raw, min(said.upto(end), user_lines))
            for end in _turn_ends(history, after)
            for raw in (history.size(RowRange(session, after, end)) - lost.upto(end),)
        ),
        summary_tokens=summary_tokens,
        dropped_tokens=dropped_tokens,
        notice_tokens=notice_tokens,
        barrier=barrier,
        join=join is not None and barrier == join,
    )


def _turn_ends(history: History, after: int) -> Iterator[int]:
    """The ends of all turns behind `after` but the newest."""
    ends = history.ends("turn")
    for place in range(bisect_right(ends, after), len(ends) - 1):
        yield ends[place]


def _results(context: Context, rows: list[Row], cleared: Mapping[int, str]) -> Iterator[Result]:
    answered = max((row.ref.seq for row in rows if row.kind == "assistant"), default=0)
    for row, call in paired(rows):
        traits = context.traits(call.name)
        tool = tool_class(traits)
        if traits is None or tool is None or row.ref.seq in cleared:
            continue
        seq = row.ref.seq
        tokens = _held(context, seq)
        code = exit_code(row.text) if tool == "action" else None
        line = receipt(seq, call, traits, status(row.ok, code), tokens)
        yield Result(
            seq=seq,
            tool=tool,
            tokens=tokens,
            receipt=line,
            receipt_tokens=shown_tokens(context, seq, line),
            key=target(call, traits) if traits.reads else None,
            seen=seq < answered,
            failed=not row.ok or bool(code),
            pinned=call.arguments.get(traits.pins or "keep") in (True, "true", "True"),
        )


def paired(rows: Iterable[Row]) -> Iterator[tuple[Row, Call]]:
    """Every result with the call that it answers: a call of its own step that is still open."""
    waiting: list[Call] = []
    for row in rows:
        if row.kind == "assistant":
            waiting = list(row.calls)
        elif row.opens:
            waiting = []
        elif row.kind == "result":
            call = next((call for call in waiting if call.id == row.call_id), None)
            if call is not None:
                waiting.remove(call)
                yield row, call


def shown_tokens(context: Context, seq: int, text: str) -> int:
    """Tokens of a result that shows `text`."""
    row = Rows(RowRange(context.session, seq - 1, seq), {seq: text})
    return context.sizing.request([Section("row", "row", "tail", (row,))]) - context.fixed


def unsent(context: Context, rows: Iterable[Row]) -> dict[int, int]:
    """Opaque items of other providers, which this model never gets: seq to tokens."""
    return {
        row.ref.seq: _held(context, row.ref.seq)
        for row in rows
        if row.replay is not None and row.replay.owner != context.model.owner
    }


def _held(context: Context, seq: int) -> int:
    return context.history.size(RowRange(context.session, seq - 1, seq))


class _Totals:
    """Tokens by row, summed up to a row."""

    def __init__(self, tokens: Mapping[int, int]) -> None:
        self._seqs = sorted(tokens)
        self._sums = [0, *accumulate(tokens[seq] for seq in self._seqs)]

    def upto(self, seq: int) -> int:
        return self._sums[bisect_right(self._seqs, seq)]
