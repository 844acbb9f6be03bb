"""What a host app hears while a turn runs, in order. Every event has a `name`, for logs and wires."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from refold.prepare.measure import SizeSource
from refold.values.outcome import DemandKind, Outcome
from refold.values.rows import Call, RowRange, SourceRef


@frozen
class AnswerText:
    """A piece of the answer."""

    name: ClassVar[str] = "answer_text"
    text: str


@frozen
class ReasoningText:
    """A piece of readable reasoning; it is no part of the answer."""

    name: ClassVar[str] = "reasoning_text"
    text: str


@frozen
class CallStarted:
    """A tool call is about to run; its assistant row is durable."""

    name: ClassVar[str] = "call_started"
    call: Call


@frozen
class CallProgress:
    """A tool tells how far it is: `done` of `total` (None: it does not know), in units of its own, and a text."""

    name: ClassVar[str] = "call_progress"
    call: Call
    done: float
    total: float | None
    text: str


@frozen
class CallFinished:
    """A tool call ended; its result becomes durable together with those of the other calls of the step.

    `images` is how many pictures came with it.
    """

    name: ClassVar[str] = "call_finished"
    call: Call
    text: str
    ok: bool
    images: int = 0


@frozen
class RowsAppended:
    """Rows became durable."""

    name: ClassVar[str] = "rows_appended"
    refs: tuple[SourceRef, ...]


@frozen
class CompactionStarted:
    """A compaction begins; `size` is the request in tokens. It folds `rows`, which take `tokens` of it."""

    name: ClassVar[str] = "compaction_started"
    demand: DemandKind
    size: int
    rows: RowRange
    tokens: int


@frozen
class CompactionPass:
    """So many of so many passes are done."""

    name: ClassVar[str] = "compaction_pass"
    done: int
    total: int


@frozen
class CompactionFinished:
    """How a compaction ended; `failure` is set when it could not run to an outcome, and `stopped` when that is because
    somebody asked to stop. Sizes are tokens."""

    name: ClassVar[str] = "compaction_finished"
    outcome: Outcome | None
    before: int
    after: int
    failure: str = ""
    stopped: bool = False


@frozen
class UsageChanged:
    """The context in use: `used` of `size` tokens (None: the window is unknown), and who counted."""

    name: ClassVar[str] = "usage"
    used: int
    size: int | None
    source: SizeSource


@frozen
class Noticed:
    """Something that people should be told."""

    name: ClassVar[str] = "notice"
    text: str


@frozen
class TurnFinished:
    """The turn is over. `stop`: `end`, `cancelled`, `refusal`, `length` (cut off for good) or `steps` (too many).

    `text` is the last answer, all its parts.
    """

    name: ClassVar[str] = "turn_finished"
    stop: str
    text: str


Event = (
    AnswerText
    | ReasoningText
    | CallStarted
    | CallProgress
    | CallFinished
    | RowsAppended
    | CompactionStarted
    | CompactionPass
    | CompactionFinished
    | UsageChanged
    | Noticed
    | TurnFinished
)
