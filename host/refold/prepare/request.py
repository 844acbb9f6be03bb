"""How a request is asked for, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from contextlib import AbstractContextManager

from attrs import field, frozen

from refold.prepare.measure import Size
from refold.prepare.opaque import Outdated, none_outdated
from refold.prepare.snapshot import Snapshot
from refold.prepare.work import Started, Summarize
from refold.registry.composition import Composition
from refold.transcript.database import Database
from refold.values.inputs import Projection
from refold.values.messages import Message, Request, ToolSpec
from refold.values.outcome import Demand, Outcome
from refold.values.rows import Row, RowRange
from refold.values.sizes import Model, Window
from refold.values.tools import ToolTraits


@frozen
class Ask:
    """What a request is for: the session, the model, and what the host app puts before the history.

    `override` is the window of this one request, before every other source (tokens); `windows` are further sources
    in the order of their authority; `refused` caps them all. `reserve` are tokens that the reply may take, of which a
    quarter of the window at most is kept free for it; `beside` are messages that stand behind the history in this
    request alone. `system` is the host app's system prompt; None: it has none to offer, and what was sent before stays.
    `learnt_percent` corrects the local estimate for this provider and model, `booked` is its name in the record of
    requests. After a refusal, `refused_in_turn` is true until the turn ends, and `elided` are the results (seq to text)
    that the host itself shows as one line.
    """

    session: str
    model: Model
    override: int | None = None
    windows: tuple[Window, ...] = ()
    refused: int | None = None
    reserve: int = 0
    beside: tuple[Message, ...] = ()
    system: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    traits: Mapping[str, ToolTraits] = field(factory=dict)
    learnt_percent: int = 100
    booked: str = ""
    refused_in_turn: bool = False
    elided: Mapping[int, str] = field(factory=dict)


def _unheard(demand: Demand, rows: RowRange, tokens: int) -> None:
    """Nobody waits for a compaction to begin."""


@frozen(eq=False)
class Desk:
    """What a preparation works with; made for one operation.

    `hold` takes the session's lease around a compaction, and raises Busy. `started` hears that one has something to
    fold and begins. `count` has a request counted by the provider (None: it cannot be), `outdated` finds thinking in it
    that would be refused. `notices` collects what people should be told; `rows` keeps decoded rows of the session by
    seq; `now` is the time for the snapshot, which is never sent.
    """

    database: Database
    composition: Composition
    summarize: Summarize
    hold: Callable[[], AbstractContextManager[object]]
    now: Callable[[], str]
    progress: Callable[[int, int], None]
    cancelled: Callable[[], bool]
    rows: MutableMapping[int, Row]
    started: Started = _unheard
    count: Callable[[Request], int | None] | None = None
    outdated: Outdated = none_outdated
    notices: list[str] = field(factory=list)


@frozen
class Check:
    """Whether compaction is due, decided without decoding a row. Sizes are tokens; `why` says what spoke against."""

    size: int
    trigger: int | None
    window: Window
    due: bool
    why: str


@frozen
class Attempted:
    """A compaction that was tried. `planned` are the rows that a dry run would fold, `planned_tokens` their size."""

    outcome: Outcome
    before: Size
    planned: RowRange | None = None
    planned_tokens: int | None = None


@frozen
class Prepared:
    """A request that is ready to be sent, with everything that `/context` shows of it.

    `size` is the whole request in tokens; `attempted` the compaction on the way, if one was tried; `rests` says that
    automatic compaction should wait for the next turn. `elided` are results (seq to text) that the host shows as one
    line for the rest of the turn.
    """

    session: str
    strategy: str | None
    request: Request
    projection: Projection
    size: Size
    window: Window
    upto: int
    attempted: Attempted | None
    rests: bool
    snapshot: Snapshot
    notices: tuple[str, ...]
    elided: Mapping[int, str] = field(factory=dict)


@frozen
class Recovered:
    """The request after a refusal. `helped` is false when nothing could be made smaller, and then asking again is of
    no use."""

    prepared: Prepared
    helped: bool
