"""What a preparation needs, from one look at a session: choices, model, window sources, summarizers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING

from attrs import field, frozen

from refold.agent.memory import Memory
from refold.agent.model_summarizer import ModelSummarizer
from refold.prepare.measure import message_tokens
from refold.prepare.request import Ask, Desk
from refold.prepare.work import Started
from refold.providers.bound_thinking import outdated
from refold.providers.reasoning import reasoning_level
from refold.sizing.learnt import learnt_percent
from refold.sizing.sizer import Sizer
from refold.summarize.offline import Offline
from refold.summarize.passes import Course
from refold.summarize.reply import Deadline
from refold.summarize.service import summarize
from refold.transcript import limits, requests, sessions, state
from refold.transcript.database import Database
from refold.transcript.encoding import legible
from refold.values.errors import NotFound, Refused
from refold.values.messages import Message, Request, ToolSpec
from refold.values.sizes import Model
from refold.values.tools import ToolTraits

if TYPE_CHECKING:
    from refold.agent.host import Host
    from refold.providers.exchange import Answer
    from refold.providers.models import ResolvedModel
    from refold.registry.composition import Composition
    from refold.summarize.reply import Summarizer

LARGEST = 2**53
"""Tokens: no window is larger, and every JSON reader takes the number exactly."""

UNHEEDED = "the offline summarizer follows no instructions and no level; a model of models.json would"

REPLY = 8_192
"""Tokens kept free for a reply, of a model that may give more."""

SUMMARY_SECONDS = 600.0
"""One deadline for all passes of one summary and all models of its chain."""


@frozen(eq=False)
class Wish:
    """How a request is wanted. None and empty: as the home and the session have it.

    `window` is tokens and goes before every other source; `protocol` is the wire format to prepare for; `summarizer`
    names a model and `reasoning` its level; `instructions` tell a summarizer what to keep. `beside` are messages that
    stand behind the history in this request alone. `elided` and `refused_in_turn` come from a refusal. `composition`
    are the extensions that a turn began with; None: those in force now.
    """

    window: int | None = None
    protocol: str | None = None
    summarizer: str | None = None
    instructions: str = ""
    reasoning: str | None = None
    beside: Sequence[Message] = ()
    tools: tuple[ToolSpec, ...] = ()
    traits: Mapping[str, ToolTraits] = field(factory=dict)
    refused_in_turn: bool = False
    elided: Mapping[int, str] = field(factory=dict)
    composition: Composition | None = None


@frozen(eq=False)
class Ears:
    """Who waits: hears a compaction begin and go on, may stop it, and holds the session meanwhile."""

    hold: Callable[[], AbstractContextManager[object]]
    started: Started
    progress: Callable[[int, int], None]
    cancelled: Callable[[], bool]


@frozen(eq=False)
class Standing:
    """A session as it stands. `resolved` is the model that can be asked; None: it cannot be."""

    desk: Desk
    ask: Ask
    resolved: ResolvedModel | None


def look(host: Host, session: str, system: str | None, memory: Memory, wish: Wish, ears: Ears) -> Standing:
    """One look. Raises NotFound for an unknown session or summarizer, Refused for one that cannot be used."""
    if wish.window is not None and not 1 <= wish.window <= LARGEST:
        raise Refused(f"a window of {wish.window!r} tokens cannot be; nothing was prepared; give at least 1")
    with host.database.read() as reader:
        record = sessions.find(reader, session)
        choices = state.choices(reader, session)
        memory.belongs_to(record.key)
        resolved = _resolved(host, record.model)
        learnt = learnt_percent(requests.reports(reader, resolved.id)) if resolved else 100
        refused = limits.learnt(reader, session, resolved.id) if resolved else None
    model = resolved.model if resolved else Model(id=record.model or "", protocol="openai-chat", owner="")
    if wish.protocol is not None and wish.protocol != model.protocol:
        model = Model(model.id, wish.protocol, "", model.inputs, model.max_edge, model.max_images)
    reasoning = reasoning_level(wish.reasoning)
    chain = _summarizers(host, session, resolved, wish.summarizer, reasoning)
    unheeded = (wish.instructions or wish.reasoning) and [each.name for each in chain] == [Offline().name]
    desk = Desk(
        database=host.database,
        composition=wish.composition or host.registry.composition(choices),
        summarize=partial(
            summarize,
            summarizers=chain,
            focus=wish.instructions,
            cache=memory.passes,
            deadline=Deadline.after(SUMMARY_SECONDS, ears.cancelled),
            reasoning=reasoning,
            course=Course(),
        ),
        hold=ears.hold,
        now=sessions.now,
        progress=ears.progress,
        cancelled=ears.cancelled,
        rows=memory.rows,
        started=ears.started,
        outdated=outdated,
        notices=[UNHEEDED] if unheeded else [],
    )
    ask = Ask(
        session,
        model,
        override=wish.window,
        windows=resolved.windows if resolved else (),
        refused=refused,
        reserve=_reserve(memory.output(resolved) if resolved else None),
        beside=tuple(wish.beside),
        system=None if system is None else legible(system),
        tools=wish.tools,
        traits=wish.traits,
        learnt_percent=learnt,
        booked=resolved.id if resolved else model.id,
        refused_in_turn=wish.refused_in_turn,
        elided=wish.elided,
    )
    return Standing(desk, ask, resolved)


def _resolved(host: Host, model: str | None) -> ResolvedModel | None:
    """The model that can be asked; None when the home names none that fits. An imported session may name any model."""
    try:
        return host.models.resolve(model)
    except (NotFound, Refused):
        return None


def _reserve(most: int | None) -> int:
    """Tokens that the reply gets at least: what the model can give, at most 8,192."""
    return 0 if most is None else min(most, REPLY)


def _summarizers(
    host: Host, session: str, resolved: ResolvedModel | None, wanted: str | None, reasoning: str | None
) -> Sequence[Summarizer]:
    """Who writes summaries: the model that somebody wants now or the host app's own, then those that the home names,
    then the session's model; the offline one only where there is no model at all."""
    if wanted is None and host.summarizers is not None:
        return host.summarizers
    file = host.models.file()
    names = dict.fromkeys(name for name in (wanted, file.summarizer.model, *file.summarizer.fallbacks) if name)
    chain = {name: host.models.resolve(name) for name in names}
    if resolved is not None:
        chain.setdefault(resolved.id, resolved)
    book = partial(_book, host.database, session)
    models = [ModelSummarizer(each, host.client(each.provider), book, reasoning) for each in chain.values()]
    return models or (Offline(),)


def _book(database: Database, session: str, model: str, request: Request, answer: Answer | None, outcome: str) -> None:
    """A summarizer's call in the record of requests, apart from the session's own."""
    sizer = Sizer(request.model)
    estimated = sizer.text(request.system) + sum(message_tokens(message, sizer) for message in request.messages)
    with database.write() as writer:
        number = requests.record(writer, session, "summary", model, 0, 0, estimated)
        usage = answer.usage if answer else None
        requests.settle(
            writer, number, outcome, usage.input_tokens if usage else None, usage.stored() if usage else None
        )
