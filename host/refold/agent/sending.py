"""A session's half of a turn: rows, requests, answers and calls, each durable when its step is done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from attrs import define, evolve, field

from refold.agent import events
from refold.agent.calls import Calls
from refold.agent.compact_tool import COMPACT_TOOL, compact_tool_spec
from refold.agent.hearing import Emit, Hearing
from refold.agent.recovery import believed, figures, revealed_window
from refold.agent.standing import Ears, Standing, Wish
from refold.agent.tools import Cap, HostTool, Returned, share
from refold.prepare import head, road, snapshot
from refold.prepare.context import BoundContext
from refold.prepare.draw import open_view
from refold.prepare.request import Desk, Prepared, Recovered
from refold.providers.anthropic import MAX_TOKENS
from refold.providers.bound_thinking import stamped
from refold.providers.exchange import Answer, Delta, cut_short, overran, unparsed
from refold.providers.failures import ProviderError
from refold.providers.provider import key
from refold.providers.refusals import Refusal, may_be_too_large, may_fill
from refold.providers.telling import stopped
from refold.sizing.sizer import Sizer
from refold.transcript import limits, requests, rows, state
from refold.transcript.append import append
from refold.transcript.leases import Lease
from refold.values.errors import RefoldError
from refold.values.messages import Message, ToolSpec
from refold.values.outcome import Applied
from refold.values.rows import Call, Image, Replay, Row, SourceRef

if TYPE_CHECKING:
    from refold.agent.session import Session
    from refold.registry.composition import Composition
    from refold.registry.contributions import Extension

LEAST_OUTPUT = 512
"""Tokens that an answer may take however full the window is."""

RENEWAL = 60.0
"""Seconds after which the lease is renewed before a request."""


@define(eq=False)
class Sending:
    """`TurnHost` over a session that this turn holds. `composition` are the extensions from its first to its last
    request, whatever is chosen or reloaded meanwhile; `read_only` offers read-only tools alone."""

    session: Session
    lease: Lease
    stop: threading.Event
    composition: Composition
    calls: Calls
    read_only: bool = False
    _refused: bool = field(default=False, init=False)
    _elided: dict[int, str] = field(factory=dict, init=False)
    _standing: Standing | None = field(default=None, init=False)
    _window: int | None = field(default=None, init=False)
    _number: int = field(default=0, init=False)
    _renewed: float = field(factory=time.monotonic, init=False)

    @property
    def recovers(self) -> bool:
        return self.composition.compaction.enable and self.composition.compaction.auto

    def cancelled(self) -> bool:
        return self.stop.is_set()

    def ready(self) -> None:
        key(self.session.host.models.resolve(self.session.record.model).provider)

    def newest_message(self) -> Row | None:
        with self.session.host.database.read() as reader:
            return rows.newest_message(reader, self.session.id)

    def how_to_go_on(self) -> str:
        return f"the prompt is kept: 'refold resume {self.session.id}' answers it"

    def append(self, rows: Sequence[Row]) -> Sequence[SourceRef]:
        return self.session.append(rows)

    def open_calls(self) -> Sequence[Call]:
        with self.session.host.database.read() as reader:
            return rows.open_calls(reader, self.session.id)

    def prepare(self, emit: Emit, beside: Sequence[Message] = ()) -> Prepared:
        self._renew()
        hearing = Hearing(emit, self.cancelled)
        standing = self._standing = self._look(hearing, beside=beside)
        turn, memory = self.session.newest_turn(), self.session.memory
        prepared = road.prepare(self._counting(standing), standing.ask, resting=turn == memory.rested_turn)
        hearing.ended(prepared)
        self._go_on()
        memory.took(prepared, turn)
        self._elided |= prepared.elided
        self._window = prepared.window.tokens
        return prepared

    def _go_on(self) -> None:
        """Raises Cancelled when somebody asked to stop, before anything is booked or sent."""
        if self.cancelled():
            resolved = self._standing.resolved if self._standing else None
            raise stopped(resolved.provider.name if resolved else "of this session")

    def _renew(self) -> None:
        """The lease lives for many minutes: it is renewed by the minute, not with every request."""
        if time.monotonic() - self._renewed > RENEWAL:
            self.lease.renew()
            self._renewed = time.monotonic()

    def recover(self, refused: Prepared, refusal: Refusal, emit: Emit, beside: Sequence[Message] = ()) -> Recovered:
        self._renew()
        self._refused = True
        said, hearing = figures(refusal, refused.size.local), Hearing(emit, self.cancelled)
        if refusal.kind == "too_large" and self._standing is not None and self._standing.resolved is not None:
            with self.session.host.database.write() as writer:
                window = revealed_window(said, refused.size.tokens)
                limits.learn(writer, self.session.id, self._standing.resolved.id, window)
        standing = self._standing = self._look(hearing, beside=beside)
        recovered = road.recover(self._counting(standing), standing.ask, said, refused.request)
        hearing.ended(recovered.prepared)
        self._go_on()
        self._elided |= recovered.prepared.elided
        self._window = recovered.prepared.window.tokens
        self.session.memory.took(recovered.prepared)
        if recovered.helped:
            size = recovered.prepared.size.tokens
            emit(
                events.Noticed(
                    f"the provider refused the request as too large; it is {size:,} tokens now and asked again"
                )
            )
        return recovered

    def ask(self, prepared: Prepared, on_delta: Callable[[Delta], None]) -> Answer:
        standing, database = self._standing or self._look(Hearing()), self.session.host.database
        resolved = standing.resolved
        if resolved is None:
            resolved = self.session.host.models.resolve(self.session.record.model)  # says what is missing
        self._go_on()
        client = self.session.host.client(resolved.provider)
        request = evolve(prepared.request, max_output=_output(self.session.memory.output(resolved), prepared))
        goes_on = bool(standing.ask.beside)
        local = prepared.size.local
        estimated = local * 100 // standing.ask.learnt_percent
        with database.write() as writer:
            number = self._number = requests.record(
                writer,
                self.session.id,
                "answer",
                resolved.id,
                prepared.upto,
                prepared.snapshot.compaction,
                estimated,
            )
        answer: Answer | None = None
        outcome, counted = "interrupted", None
        try:
            for piece in client.stream(request, self._image_bytes, cancelled=self.cancelled):
                if isinstance(piece, Answer):
                    answer = piece
                else:
                    on_delta(piece)
            outcome = "ok"
        except ProviderError as error:
            outcome = error.code if error.code == "cancelled" else error.refusal.kind
            counted = figures(error.refusal, estimated).counted or 0
            counted = counted if counted > local else None  # one that counts less than the estimate is not believed
            raise
        except RefoldError:  # no key, or nothing that a provider could read: it never left
            outcome = "unsent"
            raise
        finally:
            usage = answer.usage if answer else None
            tokens = believed(usage, estimated).input_tokens if usage else counted
            with database.write() as writer:
                requests.settle(
                    writer,
                    number,
                    outcome,
                    None if goes_on and not answer else tokens,
                    usage.stored() if usage else None,
                )
                if outcome == "unsent":
                    requests.forget(writer, number)
                elif goes_on or outcome != "ok":
                    requests.replace(writer, number)
        assert answer is not None
        return stamped(request, evolve(answer, usage=believed(answer.usage, estimated)))

    def ran_out(self, prepared: Prepared, answer: Answer) -> bool:
        model = prepared.request.model
        resolved = self._standing.resolved if self._standing else None
        asked = _output(self.session.memory.output(resolved) if resolved else None, prepared)
        if asked is None and model.protocol == "anthropic":
            asked = MAX_TOKENS
        if not answer.text.strip() and not answer.calls and overran(answer, prepared.window.tokens):
            return True
        if not cut_short(answer, asked):
            return False
        size, window, answered = self._room(prepared)
        return may_fill(size, window, None if answer.usage.output_tokens is None else answered)

    def is_too_large(self, prepared: Prepared, refusal: Refusal) -> bool:
        if refusal.kind in ("too_large", "too_many_bytes"):
            return True
        return refusal.blank and may_be_too_large(refusal, *self._room(prepared))

    def _room(self, prepared: Prepared) -> tuple[int, int | None, int]:
        """The newest request as it was estimated, the window in force, and the largest request that was answered."""
        ask = (self._standing or self._look(Hearing())).ask
        with self.session.host.database.read() as reader:
            largest = requests.largest(reader, self.session.id, ask.booked, self._number)
        return prepared.size.local, prepared.window.tokens, largest * ask.learnt_percent // 100

    def leave_out(self, refused: Prepared) -> bool:
        upto, owner = refused.upto, refused.request.model.owner
        if not any(isinstance(message, Replay) for message in refused.request.messages):
            return False
        with self.session.host.database.write() as writer:
            pinned = head.load(state.head(writer, self.session.id))
            if pinned is None:
                return False
            state.set_head(writer, self.session.id, head.dump(pinned.refused(owner, upto)))
        return True

    def gives_less(self, refusal: Refusal) -> bool:
        resolved = self._standing.resolved if self._standing else None
        if refusal.kind != "output_cap" or resolved is None:
            return False
        return self.session.memory.learn_output(resolved, refusal.limit)

    def answered(self, prepared: Prepared, rows: Sequence[Row], answer: Answer) -> Sequence[SourceRef]:
        usage = answer.usage
        measured = evolve(prepared.snapshot, reported=usage.input_tokens, reported_cached=usage.cached_tokens)
        with self.session.host.database.write() as writer:
            state.set_snapshot(writer, self.session.id, snapshot.dump(measured))
            return append(writer, self.session.id, rows)

    def call(self, call: Call, of: int, emit: Emit) -> Returned:
        broken = unparsed(call)
        if broken is not None:
            return Returned(call, f"the arguments are no JSON object: {broken[:500]}", ok=False)
        own = self.session.tool(call.name)
        if own is None and call.name == COMPACT_TOOL and self._compact_spec():
            return self._compact(call, emit)
        if own is not None and (own.read_only or not self.read_only):
            cap = evolve(self._cap(of), max_lines=own.max_lines, max_bytes=own.max_bytes)
            return self.calls.own(own, call, cap, emit)
        for extension, tool in self.composition.tools:
            if tool.name == call.name:
                return self.calls.extension(tool, call, self._cap(of), emit, partial(self._view, extension))
        offered = ", ".join(self._offered()) or "none"
        return Returned(call, f"no tool is named {call.name!r}; the tools are: {offered}", ok=False)

    def _cap(self, of: int) -> Cap:
        """What the result of one of `of` calls may take."""
        standing = self._standing or self._look(Hearing())
        return Cap(share(self._window, of), Sizer(standing.ask.model, standing.ask.learnt_percent))

    @contextmanager
    def _view(self, extension: Extension) -> Iterator[BoundContext]:
        """The session as an extension's tool sees it, in one snapshot."""
        standing = self._look(Hearing())
        with self.session.host.database.read() as reader:
            view, _ = open_view(standing.desk, standing.ask, reader)
            yield BoundContext(view, extension)

    def _compact(self, call: Call, emit: Emit) -> Returned:
        """The model asked for a compaction: the row of its call stays."""
        hearing = Hearing(emit, self.cancelled)
        instructions, model = (str(call.arguments.get(name) or "") for name in ("instructions", "model"))
        try:
            standing = self._look(hearing, instructions, model or None)
            newest = SourceRef(self.session.id, self.session.newest_seq())
            prepared = road.compact(standing.desk, standing.ask, "model", newest)
        except RefoldError as error:
            hearing.failed(error)
            return Returned(call, str(error), ok=False)
        hearing.ended(prepared)
        self.session.memory.took(prepared)
        outcome = prepared.attempted.outcome if prepared.attempted else None
        if isinstance(outcome, Applied):
            covered = f"rows {outcome.covers.after + 1}-{outcome.covers.upto}"
            return Returned(call, f"context compacted: {covered} folded, {prepared.size.tokens:,} tokens now")
        return Returned(call, f"nothing was compacted: {outcome.reason if outcome else 'it failed'}", ok=False)

    def _look(
        self,
        hearing: Hearing,
        instructions: str = "",
        summarizer: str | None = None,
        beside: Sequence[Message] = (),
    ) -> Standing:
        wish = Wish(
            instructions=instructions,
            beside=beside,
            summarizer=self.session.host.model_id(summarizer) if summarizer else None,
            tools=tuple(tool.spec for tool in self._own_tools()) + self._compact_spec(),
            traits={tool.name: tool.traits for tool in self.session.tools if tool.traits is not None},
            refused_in_turn=self._refused,
            elided=self._elided,
            composition=self.composition,
        )
        return self.session.look(wish, Ears(_held, hearing.started, hearing.progress, self.cancelled))

    def _counting(self, standing: Standing) -> Desk:
        """The desk, with requests counted by the provider where it can."""
        resolved = standing.resolved
        if resolved is None or not resolved.provider.count:
            return standing.desk
        client, pictures = self.session.host.client(resolved.provider), self._image_bytes
        return evolve(standing.desk, count=lambda request: client.count(request, pictures, cancelled=self.cancelled))

    def _image_bytes(self, image: Image) -> bytes:
        return self.session.picture(image, self.composition)

    def _own_tools(self) -> Iterable[HostTool]:
        return [tool for tool in self.session.tools if tool.read_only or not self.read_only]

    def _compact_spec(self) -> tuple[ToolSpec, ...]:
        taken = self.session.tool(COMPACT_TOOL) is not None
        if self.read_only or taken or self.composition.strategy is None or not self.composition.compaction.enable:
            return ()
        return (compact_tool_spec(sorted(self.session.host.models.file().models)),)

    def _offered(self) -> list[str]:
        own = [*(tool.spec for tool in self._own_tools()), *self._compact_spec()]
        return sorted({*(tool.name for tool in own), *(tool.name for _, tool in self.composition.tools)})


def _held() -> AbstractContextManager[object]:
    """The turn holds the session's lease already."""
    return nullcontext()


def _output(most: int | None, prepared: Prepared) -> int | None:
    """Tokens that the answer may take: what the model can give, as far as the window has room for it behind the
    request. Some are asked for in any case: a refusal is better than an answer of one word."""
    if most is None or prepared.window.tokens is None:
        return most
    return min(most, max(LEAST_OUTPUT, prepared.window.tokens - prepared.size.tokens))
