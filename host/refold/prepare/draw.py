"""Rows to the request that a model would get, in one read snapshot. Nothing is written here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

from attrs import evolve, frozen

from refold.prepare import checks
from refold.prepare.assemble import assemble, shown
from refold.prepare.context import BoundContext, View
from refold.prepare.head import Head, Pinned, load, pin
from refold.prepare.keep import with_keep
from refold.prepare.listen import listen, say
from refold.prepare.measure import RequestSizing, Size, fixed_tokens, message_tokens, schema, size, unsent_tokens
from refold.prepare.messages import Sourced
from refold.prepare.opaque import sendable
from refold.prepare.reduce import reduced, with_elisions
from refold.prepare.request import Ask, Check, Desk
from refold.prepare.user_lines import Stored, UserLines, room
from refold.prepare.window import check_room, reserved, resolve_window
from refold.registry.answers import checked, checked_all, checked_map
from refold.registry.composition import Composition
from refold.registry.contributions import Extension
from refold.sizing.believable import believable
from refold.sizing.estimate import row_tokens
from refold.sizing.sizer import Sizer
from refold.transcript import compactions, requests, sessions, state
from refold.transcript.database import Reader
from refold.transcript.history import StoredHistory
from refold.transcript.rows import newest_seq
from refold.values.contexts import Context
from refold.values.errors import ProjectionFailed
from refold.values.inputs import Observation, Projection, Rows, Section
from refold.values.messages import Message, Request, ToolSpec
from refold.values.rows import Replay, Row, RowRange, SourceRef
from refold.values.sizes import Window
from refold.values.tools import ContextBlock
from refold.values.traits import traits_by_name

_fixed_tokens = lru_cache(maxsize=64)(fixed_tokens)
"""System prompts and schemas seldom change, and are the one text that every check would measure again."""


@frozen(eq=False)
class Drawn:
    """A request in the making: what the strategy projected, what reducers left of it, and its messages by section.

    `bound` is the projection before reducers; `elided` maps seqs to the texts that stand for their rows, `left_out` are
    the seqs of opaque items that the model at hand made and would refuse. `request` also holds what stands behind the
    history in this request alone.
    """

    view: View
    bound: Projection
    projection: Projection
    elided: dict[int, str]
    pinned: Pinned
    messages: list[list[Sourced]]
    request: Request
    size: Size
    left_out: frozenset[int] = frozenset()

    @property
    def beside(self) -> Sequence[Message]:
        """The messages of the request that no section holds."""
        return self.request.messages[sum(map(len, self.messages)) :]


def open_view(desk: Desk, ask: Ask, reader: Reader) -> tuple[View, Pinned]:
    """The session as it is in this snapshot, with the head that its next request carries."""
    session = sessions.find(reader, ask.session)
    sizer = Sizer(ask.model, ask.learnt_percent)
    upto = newest_seq(reader, session.key)
    history = StoredHistory(reader, session.id, 0, upto, sizer.scale, sizer.image, cache=desk.rows)
    window = resolve_window(_windows(desk.composition, ask), ask.refused)
    sizing = RequestSizing(sizer, history, 0)
    view = View(
        reader=reader,
        session=session.id,
        compactions=session.compactions,
        composition=desk.composition,
        model=ask.model,
        window=window,
        history=history,
        sizing=sizing,
        traits=dict(ask.traits),
        booked=ask.booked or ask.model.id,
        notices=desk.notices,
        user_lines=UserLines(history, room(window.tokens, desk.composition.compaction), ()),
    )
    blocks = [block for each in desk.composition.extensions for block in _blocks(desk, view, each)]
    stored = load(state.head(reader, session.id))
    system = ask.system if ask.system is not None else stored.current.system if stored else ""
    pinned = pin(stored, Head(system, tuple(blocks)), session.compactions, upto)
    tools = tools_of(desk, view, ask)
    schemas = tuple(schema(tool) for tool in tools)
    fixed = _fixed_tokens(pinned.sent.text(), schemas, sizer) + sum(message_tokens(each, sizer) for each in ask.beside)
    if ask.override is not None:
        check_room(ask.override, fixed)
    saved = Stored.load(state.user_lines(reader, session.id))
    lines = evolve(view.user_lines, tools=tools, stored=saved)
    return evolve(view, sizing=evolve(sizing, fixed=fixed), tools=tools, user_lines=lines), pinned


def tools_of(desk: Desk, view: View, ask: Ask) -> tuple[ToolSpec, ...]:
    """The tools of the host app, then those of enabled extensions in registry order; a taken name stays taken.

    Those that read or search take an optional `keep` while a reducer heeds it.
    """
    specs = {tool.name: tool for tool in ask.tools}
    for _, tool in view.composition.tools:
        specs.setdefault(tool.name, ToolSpec(tool.name, tool.description, tool.parameters))
    reducers = [each for each in view.composition.extensions if each.reducer is not None]
    if not any(listen(desk.notices, each.id, "pins", partial(_pins, view, each)) for each in reducers):
        return tuple(specs.values())
    given = {**{tool.name: tool.traits for _, tool in view.composition.tools}, **ask.traits}
    return tuple(
        with_keep(spec, given.get(name) or traits_by_name(name, spec.parameters)) for name, spec in specs.items()
    )


def _pins(view: View, extension: Extension) -> bool:
    """Whether a reducer heeds the wish to keep a result; one without `pins` does not."""
    pins: Callable[[Context], bool] | None = getattr(extension.reducer, "pins", None)
    return pins is not None and pins(BoundContext(view, extension))


def check(desk: Desk, ask: Ask, reader: Reader) -> Check:
    """Whether compaction is due. It costs what the strategy looks up, whatever the session's length."""
    view, _ = open_view(desk, ask, reader)
    projection = _project(view)
    held = _size(view, view.sizing.request(view.complete(projection.sections)))
    return judge(desk.composition, projection, held, view.window, ask.reserve)


def judge(composition: Composition, projection: Projection, held: Size, window: Window, reserve: int) -> Check:
    """The trigger rule: the size reaches the projection's trigger, or leaves no room for the reply.

    `reserve` is how long that may be (tokens); at most a quarter of the window is kept free for it.
    """
    why = ""
    if composition.strategy is None:
        why = "no strategy is enabled"
    elif not composition.compaction.enable:
        why = "compaction.enable is false"
    elif not composition.compaction.auto:
        why = "compaction.auto is false"
    elif window.tokens is None:
        why = "the window is unknown"
    elif projection.trigger is None:
        why = f"{composition.strategy.id} never asks by itself"
    due = False
    if not why and projection.trigger is not None and window.tokens is not None:
        room = window.tokens - reserved(window.tokens, reserve)
        due = held.tokens >= projection.trigger or held.tokens > room
    return Check(held.tokens, projection.trigger, window, due, why)


def draw(desk: Desk, ask: Ask, reader: Reader) -> Drawn:
    """The next request as it stands. Raises ProjectionFailed when the strategy fails or its view breaks a rule."""
    view, pinned = open_view(desk, ask, reader)
    bound = _project(view)
    if view.composition.strategy is not None:
        checks.check(view.composition.strategy.id, bound, _facts(view), view.model)
    before = view.sizing.request(view.complete(bound.sections))
    elided = _reduce(desk, ask, view, bound, before)
    projection = with_elisions(bound, elided)
    projection = evolve(projection, sections=view.complete(projection.sections))
    request = Request(view.model, pinned.sent.text(), view.tools, ())
    assembled = assemble(view.history, projection.sections, view.model, pinned.notes)
    messages = sendable(assembled, request, pinned, desk.outdated)
    exact = view.sizing.request(projection.sections) - unsent(view, projection.sections, messages)
    flat = tuple(message for section in messages for message, _ in section)
    request = evolve(request, messages=(*flat, *ask.beside))
    counted = _counted(desk, view, request, exact)
    held = Size(counted, 0, "count_endpoint", exact) if counted is not None else _size(view, exact)
    left_out = _replays(assembled) - _replays(messages)
    return Drawn(view, bound, projection, elided, pinned, messages, request, held, left_out)


def _replays(sections: Sequence[Sequence[Sourced]]) -> frozenset[int]:
    return frozenset(
        ref.seq for section in sections for message, refs in section if isinstance(message, Replay) for ref in refs
    )


def _project(view: View) -> Projection:
    strategy = view.composition.strategy
    if strategy is None or strategy.strategy is None:
        return _whole(view)
    try:
        return checked(strategy.strategy.project(BoundContext(view, strategy)), Projection)
    except (Exception, SystemExit) as error:
        raise ProjectionFailed(
            f"strategy {strategy.id}: {say(error)}; nothing was sent and the transcript is untouched. "
            "Select another strategy with 'refold extensions enable NAME'"
        ) from error


def _whole(view: View) -> Projection:
    """What is sent when no strategy is enabled: the history."""
    rows = view.history.range
    tail = (Section("history", "the whole transcript", "tail", (Rows(rows),)),) if len(rows) else ()
    return Projection(tail, None, Observation("whole", "no strategy is enabled"))


def _reduce(desk: Desk, ask: Ask, view: View, projection: Projection, before: int) -> dict[int, str]:
    """What reducers shorten, and what the host itself shows as one line after a refusal."""
    reducers = [each for each in view.composition.extensions if each.reducer is not None]
    if not reducers and not ask.elided:
        return {}
    strategy = _elided_by_strategy(projection)
    rows = [row for row in shown_rows(view, projection.sections) if row.ref.seq not in strategy]
    on_view = {row.ref.seq for row in rows}
    forced = {seq: text for seq, text in ask.elided.items() if seq in on_view}
    rows = [row for row in rows if row.ref.seq not in forced]
    return forced | reduced(rows, [partial(_ask_reducer, desk, ask, view, each, before) for each in reducers])


def _ask_reducer(
    desk: Desk, ask: Ask, view: View, extension: Extension, before: int, rows: Sequence[Row]
) -> Mapping[SourceRef, str]:
    def call() -> Mapping[SourceRef, str]:
        assert extension.reducer is not None
        answer = extension.reducer.reduce(BoundContext(view, extension), rows, before, ask.refused_in_turn)
        return checked_map(answer, SourceRef, str)

    return listen(desk.notices, extension.id, "reduce", call) or {}


def _blocks(desk: Desk, view: View, extension: Extension) -> Sequence[ContextBlock]:
    if not extension.gives("context_blocks"):
        return ()

    def call() -> Sequence[ContextBlock]:
        return checked_all(extension.hook.context_blocks(context=BoundContext(view, extension)), ContextBlock)

    return listen(desk.notices, extension.id, "context_blocks", call) or ()


def sent_history(drawn: Drawn) -> StoredHistory:
    """The history as large as it is sent: `size` and `tail` leave out what reducers took off, and rows that become no
    message, such as another provider's opaque items. `rows` stays as durable."""
    history, sizer = drawn.view.history, drawn.view.sizing.sizer
    refs = {ref for section in drawn.messages for _, sources in section for ref in sources}
    saved = {
        row.ref.seq: history.size(RowRange(row.ref.session, row.ref.seq - 1, row.ref.seq))
        for row in shown_rows(drawn.view, drawn.projection.sections)
        if row.ref not in refs and row.kind != "event"
    }
    for seq, text in drawn.elided.items():
        shown_as = sizer.scale(row_tokens(Row(SourceRef(drawn.view.session, seq), "result", 0, 0, text=text)))
        saved[seq] = history.size(RowRange(drawn.view.session, seq - 1, seq)) - shown_as
    return history.saving(saved)


def shown_rows(view: View, sections: Sequence[Section]) -> list[Row]:
    """The rows on view in these sections, oldest first, as they are shown."""
    parts = [part for section in sections for part in section.inputs if isinstance(part, Rows)]
    return [row for part in parts for row in shown(view.history, part)]


def _elided_by_strategy(projection: Projection) -> set[int]:
    parts = [part for section in projection.sections for part in section.inputs if isinstance(part, Rows)]
    return {seq for part in parts for seq in part.elide}


def unsent(view: View, sections: Sequence[Section], messages: Sequence[Sequence[Sourced]]) -> int:
    """Tokens of rows that these sections show and their messages do not hold."""
    return unsent_tokens(shown_rows(view, sections), [each for part in messages for each in part], view.history)


def _counted(desk: Desk, view: View, request: Request, estimate: int) -> int | None:
    """What the provider counts of a request, where it can and where that can be believed."""
    counted = desk.count(request) if desk.count else None
    bare = estimate * 100 // view.sizing.sizer.learnt_percent
    return counted if counted is not None and believable(bare, counted) else None


def _size(view: View, estimate: int) -> Size:
    sent = requests.newest(view.reader, view.session)
    if sent is None or not believable(sent.estimated, sent.measured.tokens or 0):
        return Size(0, estimate, "estimate", estimate)
    # It is booked as it was estimated before anything was learnt, so that what is learnt since counts on both sides.
    before = -(-sent.estimated * view.sizing.sizer.learnt_percent // 100)
    return size(estimate, sent.measured, before, view.booked, view.compactions)


def _facts(view: View) -> checks.Facts:
    prompt = view.history.prompt() if _answering(view) else None
    limit = view.window.share(10)
    tokens = view.history.size(RowRange(view.session, prompt.seq - 1, prompt.seq)) if prompt else 0
    return checks.Facts(
        view.history.range,
        view.history.kind,
        prompt.seq if prompt else None,
        tokens,
        limit,
        compactions.asked_upto(view.reader, view.session),
    )


def _answering(view: View) -> bool:
    """Whether the newest turn waits for the model: its last words are the user's, or results, or open calls."""
    rows = view.history.range
    for seq in range(rows.upto, rows.after, -1):
        kind = view.history.kind(seq)
        if kind in ("user", "result"):
            return True
        if kind == "assistant":
            row = next(view.history.rows(RowRange(rows.session, seq - 1, seq)))
            return bool(row.calls)
    return False


def _windows(composition: Composition, ask: Ask) -> list[Window]:
    strategy = composition.strategy
    settings = composition.settings(strategy.id) if strategy else None
    assumed = strategy.manifest.assumed_window if strategy else None
    return [
        Window(ask.override, "--window"),
        Window(getattr(settings, "context_window_tokens", None), "configured contextWindowTokens"),
        *ask.windows,
        Window(assumed, f"assumed by {strategy.id}" if strategy else ""),
    ]
