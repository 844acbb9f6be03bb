"""One turn: the prompt is appended, the model is asked, its calls run, until it answers without one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from attrs import define, evolve, field

from refold.agent import events
from refold.agent.events import Event, TurnFinished
from refold.agent.recovery import overflow_message, recovery_limit
from refold.agent.tools import Returned
from refold.prepare.request import Prepared, Recovered
from refold.providers.exchange import Answer, Delta, ReasoningDelta, TextDelta, overran
from refold.providers.failures import Cancelled, ProviderError
from refold.providers.refusals import Refusal
from refold.values.errors import RefoldError, Vetoed
from refold.values.messages import AssistantMessage, Request, UserMessage
from refold.values.outcome import Applied
from refold.values.rows import Call, Replay, Row, SourceRef

CONTINUE = "[your answer was cut off by the output limit; go on exactly where it stopped, without repeating anything]"
PARTS = 4
"""Requests that one answer may take when the output limit cuts it."""

CUT = "[the answer was stopped here]"
STOPPED = "[not executed: the turn was stopped]"
INTERRUPTED = "[not executed: the process ended before this call was answered]"

_NEW = SourceRef("", 0)


class Overflow(RefoldError):
    """The provider refused the request as too large, and it could not be made small enough."""

    code = "context_overflow"


class TurnHost(Protocol):
    """What a turn needs of its session."""

    def append(self, rows: Sequence[Row]) -> Sequence[SourceRef]:
        """Makes rows durable in one transaction."""

    def open_calls(self) -> Sequence[Call]:
        """The calls of the newest step that have no result."""

    def prepare(self, emit: Callable[[Event], object]) -> Prepared:
        """The next request, compacted first when that is due."""

    def recover(self, limit: int | None, emit: Callable[[Event], object]) -> Recovered:
        """The request to ask again with after a refusal; `limit` is tokens as estimated here."""

    def ask(self, prepared: Prepared, request: Request, on_delta: Callable[[Delta], None]) -> Answer:
        """Asks the session's model and records the request. Raises ProviderError."""

    def answered(self, prepared: Prepared, rows: Sequence[Row], answer: Answer) -> Sequence[SourceRef]:
        """Makes an answer durable, and its usage known to the snapshot, in one transaction."""

    def call(self, call: Call, emit: Callable[[Event], object]) -> Returned:
        """Runs one tool call. It never raises for a tool's fault."""

    @property
    def recovers(self) -> bool:
        """Whether a refusal may be answered by compacting."""

    def cancelled(self) -> bool:
        """Whether somebody asked this turn to stop."""


@define
class Turn:
    """A turn under way. `host` is its session; `follow_ups` are user words to be appended before the next request."""

    host: TurnHost
    emit: Callable[[Event], object]
    follow_ups: deque[Row]
    max_steps: int | None = None
    _text: list[str] = field(factory=list, init=False)

    def run(self, prompt: Row | None) -> TurnFinished:
        """Runs the turn that `prompt` opens; None goes on with the newest one. Raises ProviderError, Overflow, Vetoed.

        Whatever ends it, everything appended so far is durable.
        """
        self._close_calls(INTERRUPTED)
        if prompt is not None:
            self._append([prompt])
        steps = 0
        while True:
            self._append(self._taken())
            try:
                prepared, answer = self._answer()
            except Cancelled:
                return self._finished("cancelled", "".join(self._text))
            calls = () if answer.stop == "length" else answer.calls  # cut-off calls must not run
            self._store(prepared, answer, calls)
            steps += 1
            if calls:
                self._run(calls)
            elif not self.follow_ups:
                return self._finished(answer.stop if answer.stop in ("length", "refusal") else "end", answer.text)
            if self.host.cancelled():
                return self._finished("cancelled", answer.text)
            if self.max_steps is not None and steps >= self.max_steps:
                return self._finished("steps", answer.text)

    def _taken(self) -> list[Row]:
        taken = []
        while self.follow_ups:
            taken.append(self.follow_ups.popleft())
        return taken

    def _append(self, rows: Sequence[Row]) -> None:
        if rows:
            self.emit(events.RowsAppended(tuple(self.host.append(rows))))

    def _finished(self, stop: str, text: str) -> TurnFinished:
        finished = TurnFinished(stop, text)
        self.emit(finished)
        return finished

    def _close_calls(self, text: str) -> None:
        self._append([_result(Returned(call, text, ok=False)) for call in self.host.open_calls()])

    def _answer(self) -> tuple[Prepared, Answer]:
        """The answer to the next request. A refusal that means "too large" is recovered from once."""
        prepared = self.host.prepare(self.emit)
        try:
            return prepared, self._whole(prepared)
        except ProviderError as error:
            if error.streamed or error.refusal.kind not in ("too_large", "too_many_bytes"):
                raise
            if not self.host.recovers:
                raise _overflow(prepared, error.refusal, retried=False) from error
            refused, first = prepared, error
        try:
            recovered = self.host.recover(_limit(refused, first.refusal), self.emit)
        except Vetoed as veto:
            raise Overflow(f"{_overflow(refused, first.refusal, retried=False)}; {veto}") from first
        if not recovered.helped:
            raise _overflow(refused, first.refusal, retried=False) from first
        try:
            return recovered.prepared, self._whole(recovered.prepared)
        except ProviderError as error:
            if error.streamed or error.refusal.kind not in ("too_large", "too_many_bytes"):
                raise
            raise _overflow(recovered.prepared, error.refusal, retried=True) from error

    def _whole(self, prepared: Prepared) -> Answer:
        """One answer, asked for again while the output limit cuts it; its parts are one."""
        self._text = []
        request, parts, replays = prepared.request, list[str](), list[Replay]()
        for _ in range(PARTS):
            answer = self._ask(prepared, request)
            parts.append(answer.text)
            replays += answer.replays
            if answer.stop != "length" or not answer.text.strip():
                break
            so_far = (AssistantMessage("".join(parts)), UserMessage(CONTINUE))
            request = evolve(prepared.request, messages=(*prepared.request.messages, *so_far))
        # An opaque item belongs to the text that it came with; parts glued together are no such text.
        return evolve(answer, text="".join(parts), replays=tuple(replays) if len(parts) == 1 else ())

    def _ask(self, prepared: Prepared, request: Request) -> Answer:
        try:
            answer = self.host.ask(prepared, request, self._heard)
        except Cancelled:
            self._keep_partial(prepared)
            raise
        if not answer.text and not answer.calls and overran(answer, prepared.window.tokens):
            raise ProviderError(
                "the provider answered nothing, because the request fills its window",
                Refusal("too_large", requested=answer.usage.input_tokens, words="an empty answer at the limit"),
            )
        return answer

    def _heard(self, delta: Delta) -> None:
        if isinstance(delta, TextDelta):
            self._text.append(delta.text)
            self.emit(events.AnswerText(delta.text))
        elif isinstance(delta, ReasoningDelta):
            self.emit(events.ReasoningText(delta.text))

    def _keep_partial(self, prepared: Prepared) -> None:
        """What a person has seen of a stopped answer stays in the transcript."""
        text = "".join(self._text)
        if text.strip():
            self._append([Row(_NEW, "assistant", 0, 0, text=f"{text}\n{CUT}")])

    def _store(self, prepared: Prepared, answer: Answer, calls: tuple[Call, ...]) -> None:
        rows = [Row(_NEW, "replay", 0, 0, replay=replay) for replay in answer.replays]
        rows.append(Row(_NEW, "assistant", 0, 0, text=answer.text, calls=calls))
        self.emit(events.RowsAppended(tuple(self.host.answered(prepared, rows, answer))))
        counted = answer.usage.input_tokens
        used = prepared.size.tokens if counted is None else counted + (answer.usage.output_tokens or 0)
        source = prepared.size.source if counted is None else "reported_usage"
        self.emit(events.UsageChanged(used, prepared.window.tokens, source))

    def _run(self, calls: Sequence[Call]) -> None:
        """Runs the calls in order; their results become durable together."""
        results = []
        for call in calls:
            if self.host.cancelled():
                results.append(Returned(call, STOPPED, ok=False))
                continue
            self.emit(events.CallStarted(call))
            returned = self.host.call(call, self.emit)
            self.emit(events.CallFinished(call, returned.text, returned.ok))
            results.append(returned)
        self._append([_result(returned) for returned in results])


def compaction_finished(prepared: Prepared) -> events.CompactionFinished:
    """The event for a preparation on whose way a compaction began."""
    attempted = prepared.attempted
    if attempted is None:
        return events.CompactionFinished(None, prepared.size.tokens, prepared.size.tokens, " ".join(prepared.notices))
    return events.CompactionFinished(attempted.outcome, attempted.before.tokens, prepared.size.tokens)


def applied(prepared: Prepared) -> bool:
    """Whether a compaction was committed on the way."""
    return prepared.attempted is not None and isinstance(prepared.attempted.outcome, Applied)


def _result(returned: Returned) -> Row:
    return Row(_NEW, "result", 0, 0, text=returned.text, call_id=returned.call.id, ok=returned.ok)


def _limit(prepared: Prepared, refusal: Refusal) -> int | None:
    counted = None if refusal.requested_is_floor else refusal.requested
    return recovery_limit(prepared.window.tokens, refusal.limit, counted, prepared.size.tokens)


def _overflow(prepared: Prepared, refusal: Refusal, *, retried: bool) -> Overflow:
    return Overflow(
        overflow_message(
            estimate=prepared.size.tokens,
            window=prepared.window,
            limit=refusal.limit,
            counted=refusal.requested,
            retried=retried,
            words=refusal.words,
        )
    )
