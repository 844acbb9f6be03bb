"""Durable rows to messages that any provider's ordering rules accept.

A row usually becomes one message. A blank row and an opaque item of another provider become none; a result that no
open call waits for becomes words in the user role. What one step of a turn becomes only grows at its end as rows are
appended, so a longer history extends the messages of a shorter one (unless a call was still waiting for its result).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence

from refold.values.messages import AssistantMessage, Message, ResultMessage, UserMessage
from refold.values.rows import Row, SourceRef
from refold.values.sizes import Model

UNANSWERED = "[no result: the call was not executed, or its result was not recorded]"
LATE = "[tool result without an open call: {call}]"

Sourced = tuple[Message, tuple[SourceRef, ...]]
"""A message and the rows it came from; synthetic messages have none."""


def for_model(rows: Iterable[Row], model: Model) -> list[Message]:
    """The messages that these rows become for `model`, in a legal order."""
    return [message for message, _ in for_model_with_sources(rows, model)]


def for_model_with_sources(rows: Iterable[Row], model: Model) -> list[Sourced]:
    """Like `for_model`, each message with its source rows.

    Every result directly follows the assistant message that made its call, in the calls' order, one per call; a call
    without a result gets a stub that says so. A `replay` row becomes a message only when `model` owns it and the
    assistant row that it belongs to follows.
    """
    messages: list[Sourced] = []
    waiting: list[Sourced] = []
    for step in _steps(rows):
        if step[0].kind == "assistant":
            answered = _answered(step[0], step[1:])
            if answered:
                messages += waiting
            messages += answered
            waiting = []
            rest = step[1:]
            taken = {ref for _, refs in answered for ref in refs}
        else:
            rest, taken = step, set()
        for row in rest:
            if row.kind == "replay":
                if row.replay is not None and row.replay.owner == model.owner:
                    waiting.append((row.replay, (row.ref,)))
            elif row.kind == "user":
                waiting = []
                if row.text.strip() or row.images:
                    messages.append((UserMessage(row.text, row.images), (row.ref,)))
            elif row.kind == "result" and row.ref not in taken:
                head = LATE.format(call=row.call_id or "unknown")
                messages.append((UserMessage(f"{head}\n{row.text}", row.images), (row.ref,)))
    return messages


def _steps(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Runs of rows, each begun by an assistant row or by a row that opens a turn."""
    step: list[Row] = []
    for row in rows:
        if row.kind == "event":
            continue
        if step and (row.kind == "assistant" or row.opens):
            yield step
            step = []
        step.append(row)
    if step:
        yield step


def _answered(row: Row, following: Sequence[Row]) -> list[Sourced]:
    """An assistant row and one result for each of its calls."""
    if not row.text.strip() and not row.calls:
        return []
    messages: list[Sourced] = [(AssistantMessage(row.text, row.calls), (row.ref,))]
    results: defaultdict[str | None, deque[Row]] = defaultdict(deque)
    for result in following:
        if result.kind == "result":
            results[result.call_id].append(result)
    for call in row.calls:
        if not results[call.id]:
            messages.append((ResultMessage(call.id, call.name, UNANSWERED, ok=False), ()))
            continue
        result = results[call.id].popleft()
        messages.append(
            (ResultMessage(call.id, call.name, result.text, result.ok, result.images), (result.ref,)),
        )
    return messages
