"""One turn: the prompt is appended, the model is asked, its calls run, until it answers without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from attrs import define, evolve, field

from refold.agent import events
from refold.agent.calls import HALTED, STOPPED
from refold.agent.events import Event, TurnFinished
from refold.agent.follow_ups import FollowUps
from refold.agent.hearing import Emit
from refold.agent.recovery import figures, overflow_message
from refold.agent.tools import Returned
from refold.prepare.measure import message_tokens
from refold.prepare.request import Prepared, Recovered
from refold.providers.decoding import joined
from refold.providers.exchange import Answer, Delta, ReasoningDelta, TextDelta, Usage
from refold.providers.failures import Cancelled, ProviderError
from refold.providers.refusals import Refusal
from refold.sizing.sizer import Sizer
from refold.values.errors import RefoldError, Refused, Vetoed
from refold.values.messages import AssistantMessage, Message, UserMessage
from refold.values.rows import Call, Row, SourceRef
from refold.values.sizes import Window

CONTINUE = "[your answer was cut off by the output limit; go on exactly where it stopped, without repeating anything]"
PARTS = 4
"""Requests that one answer may take when the output limit cuts it."""

CUT = "[the answer was stopped here]"
BROKEN = "[the answer broke off here]"
INTERRUPTED = "[no result: the process ended; this call may or may not have run]"

_NEW = SourceRef("", 0)


class Overflow(RefoldError):
    """The provider refused the request as too large, and it could not be made small enough."""

    code = "context_overflow"


class TurnHost(Protocol):
    """What a turn needs of its session."""

    def ready(self) -> None:
        """Raises NotFound or Refused when no model could be asked, before anything is appended."""

    def newest_message(self) -> Row | None:
        """The newest row that is sent; None in an empty session."""

    def how_to_go_on(self) -> str:
        """Words for somebody whose turn failed."""

    def append(self, rows: Sequence[Row]) -> Sequence[SourceRef]:
        """Makes rows durable in one transaction."""

    def open_calls(self) -> Sequence[Call]:
        """The calls of the newest step that have no result."""

    def prepare(self, emit: Emit, beside: Sequence[Message]) -> Prepared:
        """The next request, compacted first when that is due. `beside` stands behind the history in it alone."""

    def recover(self, refused: Prepared, refusal: Refusal, emit: Emit, beside: Sequence[Message]) -> Recovered:
        """The request to ask again with after a refusal. Raises Vetoed."""

    def ask(self, prepared: Prepared, on_delta: Callable[[Delta], None]) -> Answer:
        """Asks the session's model and records the request. Raises ProviderError."""

    def ran_out(self, prepared: Prepared, answer: Answer) -> bool:
        """Whether the server had no room left for the answer."""

    def is_too_large(self, prepared: Prepared, refusal: Refusal) -> bool:
        """Whether a smaller request may be answered."""

    def leave_out(self, refused: Prepared) -> bool:
        """Keeps the opaque items of a refused request out of every later one. False: it held none."""

    def gives_less(self, refusal: Refusal) -> bool:
        """Whether the provider refused for the output asked for, and less will be asked for from now on."""

    def answered(self, prepared: Prepared, rows: Sequence[Row], answer: Answer) -> Sequence[SourceRef]:
        """Makes an answer durable, and its usage known to the snapshot, in one transaction."""

    def call(self, call: Call, of: int, emit: Callable[[Event], object]) -> Returned:
        """Runs one of the `of` tool calls of a step. It never raises for a tool's fault."""

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
    follow_ups: FollowUps
    max_steps: int
    _text: list[str] = field(factory=list, init=False)
    _recovered: bool = field(default=False, init=False)
    _left_out: bool = field(default=False, init=False)
    _latest: Prepared | None = field(default=None, init=False)
    _before: str = field(default="", init=False)

    def run(self, prompt: Row | None) -> TurnFinished:
        """Runs the turn that `prompt` opens; None goes on with the newest one. Raises ProviderError, Overflow.

        Raises NotFound or Refused, with nothing appended, when no model could be asked or nothing waits for an answer.
        Whatever ends it later, everything that was said and done so far is durable, and the error says so.
        """
        self.host.ready()
        if prompt is None and not waits_for_answer(self.host.newest_message()):
            raise Refused("nothing in this session waits for an answer; nothing was sent; send a prompt")
        self.follow_ups.open()
        try:
            return self._steps(prompt)
        except BaseException as error:
            self._append(self.follow_ups.close())
            if isinstance(error, RefoldError):
                error.adding(self.host.how_to_go_on())
            raise

    def _steps(self, prompt: Row | None) -> TurnFinished:
        self._append([_result(Returned(call, INTERRUPTED, ok=False)) for call in self.host.open_calls()])
        if prompt is not None:
            self._append([prompt])
        steps = 0
        while True:
            self._append(self.follow_ups.take())
            try:
                prepared, answer = self._answer()
            except Cancelled:
                self._keep_partial(CUT)
                return self._finished("cancelled", self._said())
            except RefoldError:
                self._keep_partial(BROKEN)
                raise
            except BaseException:
                self._keep_partial(CUT)
                raise
            calls = () if answer.stop == "length" else answer.calls  # cut-off calls must not run
            self._store(prepared, answer, calls)
            steps += 1
            if calls:
                self._run(calls)
            elif self.follow_ups.close_if_empty():
                return self._finished(answer.stop if answer.stop in ("length", "refusal") else "end", answer.text)
            if self.host.cancelled():
                return self._finished("cancelled", answer.text)
            if steps >= self.max_steps:
                bound = f"all of its {steps:,} steps (max_steps, or maxSteps in models.json, says how many)"
                self.emit(events.Noticed(f"the turn took {bound}; {self.host.how_to_go_on()}"))
                return self._finished("steps", answer.text)

    def _append(self, rows: Sequence[Row]) -> None:
        if rows:
            self.emit(events.RowsAppended(tuple(self.host.append(rows))))

    def _finished(self, stop: str, text: str) -> TurnFinished:
        self._append(self.follow_ups.close())
        finished = TurnFinished(stop, text)
        self.emit(finished)
        return finished

    def _answer(self) -> tuple[Prepared, Answer]:
        """One answer, gone on with while the output limit cuts it; its parts are one."""
        self._text, self._recovered, self._left_out = [], False, False
        prepared, answer = self._part(())
        mark = ""
        for _ in range(PARTS - 1):
            if answer.stop != "length" or not answer.text.strip():
                break
            answer = evolve(answer, replays=())
            try:
                prepared, rest = self._part((AssistantMessage(self._said()), UserMessage(CONTINUE)))
            except Cancelled:
                raise
            except (ProviderError, Overflow) as error:
                self.emit(events.Noticed(f"the answer was cut off, and its rest did not come: {error}"))
                mark = f"\n{BROKEN}" if isinstance(error, ProviderError) and error.streamed else ""
                # Rows may have been folded since; then what was counted of the first part is out of date.
                prepared, answer = self._latest or prepared, evolve(answer, usage=Usage())
                break
            answer = self._rest(rest)
        return prepared, evolve(answer, text=self._said() + mark)

    def _part(self, beside: Sequence[Message]) -> tuple[Prepared, Answer]:
        """The answer to the next request. A refusal that means "too large" is recovered from, once in a step."""
        self._before = self._said()
        refused = self._latest = self.host.prepare(self.emit, beside)
        try:
            return refused, self._ask(refused)
        except ProviderError as error:
            if self._leaves_out(refused, error):
                return self._part(beside)
            if not self._overflows(refused, error):
                raise
            first = error
        if self._recovered or not self.host.recovers:
            raise _overflow(refused, first.refusal, refused.window) from first
        self._recovered = True
        if (going_on := self._going_on()) is not None:
            prepared, answer = self._smaller(refused, first, going_on)
            return prepared, self._rest(answer)
        return self._smaller(refused, first, beside)

    def _smaller(self, refused: Prepared, first: ProviderError, beside: Sequence[Message]) -> tuple[Prepared, Answer]:
        """The answer to a request that is smaller than a refused one."""
        try:
            recovered = self.host.recover(refused, first.refusal, self.emit, beside)
        except Vetoed as veto:
            raise Overflow(f"{_overflow(refused, first.refusal, refused.window)}; {veto}") from first
        self._latest = recovered.prepared
        if not recovered.helped:
            raise _overflow(refused, first.refusal, refused.window) from first
        try:
            return recovered.prepared, self._ask(recovered.prepared)
        except ProviderError as error:
            if self._leaves_out(recovered.prepared, error):
                return self._part(beside)
            if not self._overflows(recovered.prepared, error):
                raise
            raise _overflow(recovered.prepared, error.refusal, refused.window, retried=True) from error

    def _going_on(self) -> Sequence[Message] | None:
        """What stands behind the history where a server that was full had begun to answer; None: it had not."""
        said = self._said()
        if said == self._before or not said.strip():
            return None
        self._before = said
        return (AssistantMessage(said), UserMessage(CONTINUE))

    def _rest(self, answer: Answer) -> Answer:
        """The rest of an answer that was gone on with. An opaque item belongs to the text that it came with, and parts
        glued together are none; the reasoning of Chat Completions is plain text, and some servers ask for that of the
        calls."""
        chat = self._latest is not None and self._latest.request.model.protocol == "openai-chat"
        return answer if chat else evolve(answer, replays=())

    def _leaves_out(self, prepared: Prepared, error: ProviderError) -> bool:
        """Whether a request is asked again without opaque items, since one of them was refused: once in a step."""
        if error.streamed or error.refusal.kind != "opaque_item" or self._left_out:
            return False
        self._left_out = self.host.leave_out(prepared)
        if self._left_out:
            self.emit(
                events.Noticed(
                    "the provider refused thinking of earlier answers; it is left out from now on and was asked again"
                )
            )
        return self._left_out

    def _ask(self, prepared: Prepared) -> Answer:
        heard = len(self._text)
        try:
            answer = self.host.ask(prepared, self._heard)
        except ProviderError as error:
            if error.streamed or not self.host.gives_less(error.refusal):
                raise
            self.emit(
                events.Noticed(
                    f"the provider gives at most {error.refusal.limit:,} tokens of output and was asked again for as"
                    " many; lower maxOutput of the model in models.json"
                )
            )
            answer = self.host.ask(prepared, self._heard)
        if answer.text and len(self._text) == heard:  # a server that does not stream
            self._heard(TextDelta(answer.text))
        cut = bool(answer.text.strip() or answer.calls)
        if (self.host.recovers or not cut) and self.host.ran_out(prepared, answer):
            said = "broke off its answer" if cut else "answered nothing"
            raise ProviderError(
                f"the provider {said}, because the request fills its window",
                Refusal("too_large", requested=answer.usage.input_tokens, words=f"it {said} at the limit"),
            )
        return answer

    def _overflows(self, prepared: Prepared, error: ProviderError) -> bool:
        """Whether a smaller request may be answered, and no answer was seen that could not be gone on with."""
        return not error.streamed and self.host.is_too_large(prepared, error.refusal)

    def _heard(self, delta: Delta) -> None:
        if isinstance(delta, TextDelta):
            self._text.append(delta.text)
            self.emit(events.AnswerText(delta.text))
        elif isinstance(delta, ReasoningDelta):
            self.emit(events.ReasoningText(delta.text))

    def _said(self) -> str:
        """What came of the answer so far."""
        return joined(self._text)

    def _keep_partial(self, mark: str) -> None:
        """What a person has seen of an answer that did not come to its end stays in the transcript."""
        text = self._said()
        if text.strip():
            self._append([Row(_NEW, "assistant", 0, 0, text=f"{text}\n{mark}")])

    def _store(self, prepared: Prepared, answer: Answer, calls: tuple[Call, ...]) -> None:
        rows = [Row(_NEW, "replay", 0, 0, replay=replay) for replay in answer.replays]
        rows.append(Row(_NEW, "assistant", 0, 0, text=answer.text, calls=calls))
        self.emit(events.RowsAppended(tuple(self.host.answered(prepared, rows, answer))))
        if not answer.text.strip() and not answer.calls:
            self.emit(events.Noticed("the model answered nothing"))
        counted = answer.usage.input_tokens
        if counted is None:
            new = AssistantMessage(self._said().removeprefix(self._before), calls)
            used = prepared.size.tokens + message_tokens(new, Sizer(prepared.request.model))
        else:
            used = counted + (answer.usage.output_tokens or 0)
        source = prepared.size.source if counted is None else "reported_usage"
        self.emit(events.UsageChanged(used, prepared.window.tokens, source))

    def _run(self, calls: Sequence[Call]) -> None:
        """Runs the calls in order; their results become durable together, also when something stops the process."""
        results: list[Returned] = []
        begun = 0
        try:
            while begun < len(calls) and not self.host.cancelled():
                begun += 1
                results.append(self._call(calls[begun - 1], len(calls)))
        finally:
            results += [Returned(call, HALTED, ok=False) for call in calls[len(results) : begun]]
            results += [Returned(call, STOPPED, ok=False) for call in calls[begun:]]
            self._append([_result(returned) for returned in results])

    def _call(self, call: Call, of: int) -> Returned:
        self.emit(events.CallStarted(call))
        returned = self.host.call(call, of, self.emit)
        self.emit(events.CallFinished(call, returned.text, returned.ok, len(returned.images)))
        return returned


def waits_for_answer(newest: Row | None) -> bool:
    """Whether a session whose newest sent row this is waits for the model: for an answer, or for the rest of one."""
    if newest is None:
        return False
    broke_off = not newest.text.strip() or newest.text.endswith((CUT, BROKEN))
    return newest.kind != "assistant" or bool(newest.calls) or broke_off


def _result(returned: Returned) -> Row:
    call_id, ok, images = returned.call.id, returned.ok, returned.images
    return Row(_NEW, "result", 0, 0, text=returned.text, call_id=call_id, ok=ok, images=images)


def _overflow(prepared: Prepared, refusal: Refusal, window: Window, *, retried: bool = False) -> Overflow:
    """The last error. `window` is the one that the session had before any refusal taught otherwise."""
    return Overflow(
        overflow_message(
            estimate=prepared.size.tokens,
            window=window,
            said=figures(refusal, prepared.size.local),
            retried=retried,
            words=refusal.words,
        )
    )
