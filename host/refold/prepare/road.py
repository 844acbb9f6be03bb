"""The road of one request: project, reduce, measure, compact when due, project again, record what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from attrs import evolve

from refold.prepare import head, limits, snapshot
from refold.prepare.capture import capture
from refold.prepare.compacting import attempt
from refold.prepare.context import BoundContext
from refold.prepare.draw import Drawn, draw, judge
from refold.prepare.listen import listen
from refold.prepare.measure import request_tokens
from refold.prepare.overflow import Figures, elide_oldest, recovery_limit
from refold.prepare.request import Ask, Attempted, Check, Desk, Prepared, Recovered
from refold.prepare.window import reserved
from refold.registry.answers import checked_all
from refold.registry.contributions import Extension
from refold.transcript import sessions, state
from refold.values.errors import Busy, CompactionFailed, Vetoed
from refold.values.inputs import Fact
from refold.values.messages import Request
from refold.values.outcome import Applied, Blocked, Demand
from refold.values.rows import SourceRef


def prepare(desk: Desk, ask: Ask, *, resting: bool = False) -> Prepared:
    """The next request of a session, compacted first when that is due.

    At most one compaction: the request drawn after it is the one that goes out. One that fails is told in a notice,
    and the request goes out as it was. `resting` leaves automatic compaction out. Once a refusal taught the window in
    this turn, oldest results of the turn are shown as one line each where the request would not fit: it would be
    refused again. Raises ProjectionFailed; then nothing was written.
    """
    with desk.database.read() as reader:
        drawn = draw(desk, ask, reader)
        judged = _judge(desk, ask, drawn)
        if not judged.due or resting:
            return _fitted(desk, ask, drawn, None, rests=judged.due)
        if ask.beside and drawn.view.sizing.fixed >= (drawn.view.window.tokens or 0):
            return _fitted(desk, ask, drawn, None, rests=False)  # the answer so far fills the window by itself
        attempted = _automatic(desk, drawn, Demand("automatic", judged.size))
        if attempted is not None and isinstance(attempted.outcome, Applied):
            reader.renew()
            drawn = draw(desk, ask, reader)
            if attempted.outcome.note:
                desk.notices.append(f"compaction: {attempted.outcome.note}")
        still = _judge(desk, ask, drawn)
        if still.due:
            desk.notices.append(limits.unrelieved(drawn, attempted))
        return _fitted(desk, ask, drawn, attempted, rests=still.due)


def _fitted(desk: Desk, ask: Ask, drawn: Drawn, attempted: Attempted | None, *, rests: bool) -> Prepared:
    """What goes out, under the window where a refusal taught it."""
    window = drawn.view.window.tokens
    elided: dict[int, str] = {}
    if ask.refused_in_turn and window is not None and drawn.size.tokens > window:
        over = drawn.size.tokens - (window - reserved(window, ask.reserve))
        elided = elide_oldest(drawn, -(-over * drawn.size.local // drawn.size.tokens))
    if elided:
        ask = evolve(ask, elided={**ask.elided, **elided})
        drawn = draw(desk, ask, drawn.view.reader)
    return _finish(desk, ask, drawn, _judge(desk, ask, drawn), attempted, rests=rests, elided=elided)


def compact(
    desk: Desk, ask: Ask, kind: Literal["manual", "model"] = "manual", protect: SourceRef | None = None
) -> Prepared:
    """Compacts because somebody or the model asked, and draws the request that follows.

    `protect` is a row that must stay in view. Raises CompactionFailed, ProjectionFailed or Busy; then nothing was
    written.
    """
    with desk.database.read() as reader:
        drawn = draw(desk, ask, reader)
        with desk.hold():
            attempted = attempt(desk, drawn, Demand(kind, drawn.size.tokens, protect=protect))
        if isinstance(attempted.outcome, Applied):
            reader.renew()
            drawn = draw(desk, ask, reader)
        return _finish(desk, ask, drawn, _judge(desk, ask, drawn), attempted)


def recover(desk: Desk, ask: Ask, figures: Figures, refused: Request | None = None) -> Recovered:
    """The request to ask again with after a refusal that meant "too large".

    `refused` is the request that was refused; reducers may take more off now than they did for that one (None: they do
    not). The strategy compacts once with demand `overflow`, under the limit that the refusal revealed. Where nothing
    became smaller by then, or the request still measures over the limit, the host shows the oldest results of the turn
    being answered as one line each, never those of the newest step, until the reply has room too.

    All sizes compared here, those of the demand too, are tokens as they are estimated now; what a provider counted of
    earlier requests is left out, and the limit is corrected by what it counted of this one. Raises Vetoed when an
    extension refused the compaction, ProjectionFailed.
    """
    with desk.database.read() as reader:
        drawn = draw(desk, ask, reader)
        sizer = drawn.view.sizing.sizer
        before = request_tokens(refused or drawn.request, sizer)
        limit = recovery_limit(drawn.view.window.tokens, figures, before)
        attempted = _automatic(desk, drawn, Demand("overflow", drawn.size.local, limit))
        if attempted is not None and isinstance(attempted.outcome, Blocked) and attempted.outcome.code == "veto":
            raise Vetoed(attempted.outcome.reason)
        folded = attempted is not None and isinstance(attempted.outcome, Applied)
        if folded:
            reader.renew()
            drawn = draw(desk, ask, reader)
        size = request_tokens(drawn.request, sizer)
        elided: dict[int, str] = {}
        smaller = folded or size < before
        if not smaller or (limit is not None and size > limit):
            told = limit is not None and (figures.limit is not None or limit < size)
            elided = elide_oldest(drawn, size - limit + reserved(limit, ask.reserve) if told and limit else None)
        if elided:
            ask = evolve(ask, elided={**ask.elided, **elided})
            drawn = draw(desk, ask, reader)
        prepared = _finish(desk, ask, drawn, _judge(desk, ask, drawn), attempted, elided=elided)
        return Recovered(prepared, smaller or bool(elided))


def plan(desk: Desk, ask: Ask) -> Attempted:
    """What `compact` would fold; no hook runs, no model is called, nothing is written."""
    with desk.database.read() as reader:
        drawn = draw(desk, ask, reader)
        return attempt(desk, drawn, Demand("manual", drawn.size.tokens), dry=True)


def _judge(desk: Desk, ask: Ask, drawn: Drawn) -> Check:
    return judge(desk.composition, drawn.projection, drawn.size, drawn.view.window, ask.reserve)


def _automatic(desk: Desk, drawn: Drawn, demand: Demand) -> Attempted | None:
    try:
        with desk.hold():
            return attempt(desk, drawn, demand)
    except (Busy, CompactionFailed) as error:
        desk.notices.append(f"automatic compaction: {error}")
        return None


def _finish(
    desk: Desk,
    ask: Ask,
    drawn: Drawn,
    judged: Check,
    attempted: Attempted | None,
    *,
    rests: bool = False,
    elided: Mapping[int, str] = MappingProxyType({}),
) -> Prepared:
    view = drawn.view
    if not rests and view.window.tokens is not None and drawn.size.tokens > view.window.tokens:
        desk.notices.append(
            f"the request is {drawn.size.tokens:,} tokens and does not fit the window of {view.window.tokens:,}"
            f" ({view.window.source})"
        )
    drawn = limits.told(drawn)
    applied = attempted is not None and isinstance(attempted.outcome, Applied)
    stored = state.snapshot(view.reader, view.session)
    taken = capture(
        drawn,
        judged,
        snapshot.load(stored) if stored else None,
        now=desk.now(),
        compacted=applied,
        facts=_facts(desk, drawn),
        notices=desk.notices,
    )
    with desk.database.write() as writer:
        sessions.find(writer, view.session)  # it may be gone since it was read
        state.set_snapshot(writer, view.session, snapshot.dump(taken))
        state.set_head(writer, view.session, head.dump(drawn.pinned))
        lines = view.user_lines.state(drawn.projection.sections)
        if lines is not None and lines != view.user_lines.stored:
            state.set_user_lines(writer, view.session, lines.dump())
    return Prepared(
        session=view.session,
        strategy=taken.strategy,
        request=drawn.request,
        projection=drawn.projection,
        size=drawn.size,
        window=view.window,
        upto=view.history.range.upto,
        attempted=attempted,
        rests=rests,
        snapshot=taken,
        notices=tuple(desk.notices),
        elided=elided,
    )


def _facts(desk: Desk, drawn: Drawn) -> Sequence[Fact]:
    observers = [each for each in drawn.view.composition.extensions if each.gives("observe")]
    return [fact for each in observers for fact in _observed(desk, drawn, each)]


def _observed(desk: Desk, drawn: Drawn, extension: Extension) -> Sequence[Fact]:
    context = BoundContext(drawn.view, extension)

    def call() -> Sequence[Fact]:
        return checked_all(extension.hook.observe(context=context, projection=drawn.projection), Fact)

    return listen(desk.notices, extension.id, "observe", call) or ()
