"""What stands behind the last block: turns, steps, and the rows that may not be folded now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from attrs import frozen
from refold import Demand, History, Row, RowRange


@frozen
class Layout:
    """The rows `after < seq <= upto`. `turns` and `steps` are the last seqs of the turns, and of the steps of the
    newest turn, oldest first. `prompt` opened the newest turn (None: it is folded already), and `prompt_upto` is the
    last row that must be shown with it. The last `held` steps stay as they are; `foldable` is the last row that may
    go when no turn is kept."""

    after: int
    upto: int
    turns: Sequence[int]
    steps: tuple[int, ...]
    prompt: int | None
    prompt_upto: int
    held: int
    foldable: int


def read(history: History, after: int, demand: Demand) -> Layout:
    """The layout of the rows behind `after`; of all rows only those at its edges are decoded."""
    rest = history.since(after)
    upto = rest.range.upto
    opened = history.prompt()
    prompt = opened.seq if opened is not None and opened.seq > after else None
    shown = prompt_end(history, prompt) if prompt is not None else 0
    begins = max(after, shown)
    steps = tuple(end for end in history.ends("step") if end > begins)
    if steps and not any(
        row.kind == "assistant" for row in history.rows(RowRange(rest.range.session, begins, steps[0]))
    ):
        steps = steps[1:]  # a late result behind a step that is folded already
    held, foldable = _held(history, steps, begins, demand)
    return Layout(after, upto, rest.ends("turn"), steps, prompt, shown, held, min(upto, foldable))


def prompt_end(history: History, prompt: int) -> int:
    """The last row that is shown with a prompt: results that came late, right behind it, belong to no step."""
    end = prompt
    while end < history.range.upto and _row(history, end + 1).kind == "result":
        end += 1
    return end


def answered(history: History, upto: int) -> bool:
    """Whether nobody waits for the model at a row: the last words before it are an answer without a call."""
    for seq in range(upto, history.range.after, -1):
        row = _row(history, seq)
        if row.kind not in ("event", "replay"):
            return row.kind == "assistant" and not row.calls
    return True


def tail_start(history: History, cut: int) -> int:
    """The row behind which the tail begins: the cut, or the step before it when a result came after the cut.

    That result answers nobody, but no view may begin with one; so the step that it followed is shown once more.
    """
    if cut >= history.range.upto or _row(history, cut + 1).kind != "result":
        return cut
    seq = cut
    while seq > history.range.after:
        row = _row(history, seq)
        seq -= 1
        if row.kind == "assistant" or row.opens:
            break
    return seq


def _held(history: History, steps: Sequence[int], begins: int, demand: Demand) -> tuple[int, int]:
    """How many of the newest steps stay, and the last row before them.

    A step with an open call stays, and so does the one that holds the protected row, with all behind it. While a
    request is to be made by itself, answers without a call at the very end are parts of one that is being continued.
    """
    protect = demand.protect.seq if demand.protect is not None else None
    edges = (begins, *steps[:-1], history.range.upto)
    held, foldable, last = 0, history.range.upto, True
    continues = demand.kind in ("automatic", "overflow")
    for index in range(len(steps) - 1, -1, -1):
        rows = list(history.rows(RowRange(history.range.session, edges[index], edges[index + 1])))
        assistant = _assistant(rows)
        continues = continues and not rows[assistant].calls and not _spoke(rows[assistant:])
        protected = protect is not None and protect <= steps[index]
        if not (protected or continues or (last and _open(rows[assistant:]))):
            break
        held, foldable, last = held + 1, _begins(rows, assistant), False
        continues = continues and not _spoke(rows[:assistant])
    return held, foldable


def _open(rows: Sequence[Row]) -> bool:
    calls = Counter(call.id for row in rows for call in row.calls)
    calls.subtract(row.call_id or "" for row in rows if row.kind == "result")
    return any(count > 0 for count in calls.values())


def _spoke(rows: Sequence[Row]) -> bool:
    return any(row.kind == "user" for row in rows)


def _assistant(rows: Sequence[Row]) -> int:
    return next(index for index, row in enumerate(rows) if row.kind == "assistant")


def _begins(rows: Sequence[Row], assistant: int) -> int:
    """The row before the step: before its assistant row, and before opaque items that belong to that."""
    while assistant > 0 and rows[assistant - 1].kind == "replay":
        assistant -= 1
    return rows[assistant].ref.seq - 1


def _row(history: History, seq: int) -> Row:
    return next(iter(history.rows(RowRange(history.range.session, seq - 1, seq))))
