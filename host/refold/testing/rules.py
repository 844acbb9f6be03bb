"""The rules that every strategy keeps, as pure checks: each returns what is wrong in a few words, or None."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import pairwise

from refold.prepare.messages import LATE, UNANSWERED
from refold.values.inputs import Projection, Rows
from refold.values.messages import AssistantMessage, Message, ResultMessage, UserMessage
from refold.values.rows import Replay, Row, RowRange
from refold.values.sizes import Window


class Rule(Enum):
    """What holds after every step of every history."""

    ANSWERS = "the strategy answers: project never raises, compact raises CompactionFailed or what summarize raised"
    GROWS = "the transcript only grows, and its bytes stay"
    PAIRED = "every result directly follows its call"
    ROLES = "roles are legal, no message is blank, and every protocol encodes"
    ACCOUNTED = "every absent row is covered or announced"
    PROMPT = "the prompt being answered is shown once and verbatim"
    READS = "project writes nothing"
    REPEATS = "an unchanged session gives the same bytes"
    EXTENDS = "appending extends the previous request"
    FAILURE = "a failure changes nothing"
    REOPENS = "reopening gives the same bytes"
    FORKS = "a fork holds the same rows"
    CHANCE = "neither clock nor chance reaches a request"
    LOSSY = "what leaves without a summary is announced"


def accounted(projection: Projection, history: RowRange) -> str | None:
    """Rows are shown at most once, in order; every other one is covered."""
    shown = [seq for part in row_inputs(projection) for seq in range(part.range.after + 1, part.range.upto + 1)]
    if any(later <= earlier for earlier, later in pairwise(shown)):
        return "rows are shown twice or out of order"
    known = set(range(history.after + 1, history.upto + 1))
    covers = [section.covers for section in projection.sections if section.covers is not None]
    covered = {seq for each in covers for seq in range(each.after + 1, each.upto + 1)}
    if strange := sorted((covered | set(shown)) - known):
        return f"row {strange[0]} is not in the history, whose rows are {history.after + 1}-{history.upto}"
    lost = sorted(known - covered - set(shown))
    return f"row {lost[0]} is neither shown nor covered" if lost else None


def paired(projection: Projection, rows: Sequence[Row]) -> str | None:
    """A call and its result are both shown, one behind the other, or neither is."""
    sections = [set(_seqs(section.inputs)) for section in projection.sections]
    for call, result in pairs(rows):
        if any((call in seqs) != (result in seqs) for seqs in sections):
            return f"row {call} makes a call and row {result} answers it, but they are not shown in one section"
    return None


def pairs(rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """Every result with the call that it answers, as seqs; a result answers calls of its own step alone."""
    caller, waiting = 0, list[str]()
    for row in rows:
        if row.kind == "event":
            continue
        if row.kind == "assistant":
            caller, waiting = row.ref.seq, [call.id for call in row.calls]
        elif row.opens:
            waiting = []
        elif row.kind == "result" and row.call_id in waiting:
            waiting.remove(row.call_id)
            yield caller, row.ref.seq


def in_legal_order(messages: Sequence[Message]) -> str | None:
    """Each answer is followed by one result for each of its calls, in their order, and no result stands elsewhere."""
    at = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        if isinstance(message, ResultMessage):
            return f"message {at} is a result without its call"
        for call in message.calls if isinstance(message, AssistantMessage) else ():
            answer = messages[at] if at < len(messages) else None
            at += 1
            if not isinstance(answer, ResultMessage) or answer.call_id != call.id:
                return f"message {at} should be the result of call {call.id}"
    return None


def results_kept(messages: Sequence[Message], projection: Projection, rows: Sequence[Row]) -> str | None:
    """No stub stands where a shown call has its result, and no shown result lost its call."""
    shown = set(_seqs(row_inputs(projection)))
    on_view = [row for row in rows if row.ref.seq in shown]
    answered = [result for call, result in pairs(rows) if call in shown]
    stubs = sum(len(row.calls) for row in on_view) - len(answered)
    orphans = sum(row.kind == "result" for row in on_view) - len(answered)
    if sum(isinstance(each, ResultMessage) and each.text == UNANSWERED for each in messages) > stubs:
        return "a stub stands where the result of a call is known"
    late = LATE.partition("{")[0]
    if sum(isinstance(each, UserMessage) and each.text.startswith(late) for each in messages) > orphans:
        return "a result was parted from its call"
    return None


def not_blank(messages: Sequence[Message], owner: str) -> str | None:
    """No blank message; an opaque item goes to its owner."""
    for at, message in enumerate(messages, 1):
        if isinstance(message, UserMessage) and not message.text.strip() and not message.images:
            return f"message {at} is blank"
        if isinstance(message, AssistantMessage) and not message.text.strip() and not message.calls:
            return f"message {at} is a blank answer"
        if isinstance(message, Replay) and message.owner != owner:
            return f"message {at} is an opaque item of {message.owner}"
    return None


def prompt_shown(
    projection: Projection, rows: Sequence[Row], folded: int, window: Window, sizes: Sequence[int]
) -> str | None:
    """The row that opened the turn being answered stands there once, shortened only when it is longer than a tenth of
    the window.

    `folded` is the last row that a manual compaction covered; `sizes` are tokens by row.
    """
    prompt = answering(rows)
    if prompt is None or prompt.ref.seq <= folded:
        return None
    seq = prompt.ref.seq
    parts = [part for part in row_inputs(projection) if seq in part.range]
    if len(parts) != 1:
        return f"row {seq}, the prompt being answered, is shown {len(parts)} times"
    shortened = parts[0].elide.get(seq)
    if shortened is None:
        return None
    limit = window.share(10)
    if limit is None or sizes[seq - 1] <= limit:
        return f"row {seq}, the prompt being answered, is shortened though it is no longer than a tenth of the window"
    begins = prompt.text[:8]
    if not shortened.startswith(begins) or len(shortened) >= len(prompt.text):
        return f"row {seq}, the prompt being answered, is replaced, not shortened"
    return None


def prompt_verbatim(
    messages: Sequence[Message], projection: Projection, rows: Sequence[Row], folded: int
) -> str | None:
    """The words of the prompt stand in the request as they were said."""
    prompt = answering(rows)
    if prompt is None or prompt.ref.seq <= folded or not prompt.text.strip():
        return None
    if any(prompt.ref.seq in part.elide for part in row_inputs(projection)):
        return None
    if UserMessage(prompt.text, prompt.images) in messages:
        return None
    return f"the words of row {prompt.ref.seq}, the prompt being answered, are not in the request"


def answering(rows: Sequence[Row]) -> Row | None:
    """The row that opened the newest turn, while that turn waits for the model."""
    newest = next((row for row in reversed(rows) if row.kind not in ("event", "replay")), None)
    if newest is None or (newest.kind == "assistant" and not newest.calls):
        return None
    return next((row for row in reversed(rows) if row.opens), None)


def waiting(messages: Sequence[Message]) -> bool:
    """Whether a call of the newest answer has no result yet, so that a stub stands for it."""
    newest = max((at for at, each in enumerate(messages) if isinstance(each, AssistantMessage)), default=len(messages))
    return any(isinstance(each, ResultMessage) and each.text == UNANSWERED for each in messages[newest:])


def elisions(projection: Projection, upto: int) -> dict[int, str]:
    """What stands for rows up to `upto` that are shown shortened."""
    return {seq: text for part in row_inputs(projection) for seq, text in part.elide.items() if seq <= upto}


def row_inputs(projection: Projection) -> list[Rows]:
    """The durable rows that a projection shows."""
    return [part for section in projection.sections for part in section.inputs if isinstance(part, Rows)]


def _seqs(inputs: Sequence[object]) -> Iterator[int]:
    for part in inputs:
        if isinstance(part, Rows):
            yield from range(part.range.after + 1, part.range.upto + 1)
