"""What the host hands to an extension, and what it expects of one. Everything here is a protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

from attrs import frozen

from refold.values.inputs import Projection
from refold.values.outcome import Demand, Outcome, Summary
from refold.values.rows import Cut, Image, Replay, Row, RowRange, SourceRef
from refold.values.sizes import Measured, Model, Sizing, Window
from refold.values.tools import CallContext, ToolTraits

T = TypeVar("T")


class History(Protocol):
    """The durable rows of a session up to a boundary.

    Only `rows` and `users` decode; everything else is a look-up that costs O(log n) and measures raw rows.
    """

    @property
    def range(self) -> RowRange:
        """Which rows this history holds."""

    def rows(self, within: RowRange | None = None) -> Iterator[Row]:
        """The rows, oldest first, decoded as they are taken."""

    def users(self, upto: int, count: int) -> Sequence[Row]:
        """The newest `count` user rows at or before seq `upto`, oldest first. Event rows never count."""

    def size(self, within: RowRange | None = None) -> int:
        """Tokens of the rows for the model at hand; inside `compact`, of what the reducers left of them."""

    def images(self, within: RowRange | None = None) -> Sequence[Image]:
        """The pictures in the rows, oldest first."""

    def since(self, seq: int) -> History:
        """The history of the rows after `seq`."""

    def cut(self, seq: int) -> Cut:
        """A cut at `seq`, to be stored. Raises NotFound when the row is not in this history."""

    def holds(self, cut: Cut) -> bool:
        """Whether the cut's row is in this history and carries the same total."""

    def ends(self, at: Literal["turn", "step"]) -> Sequence[int]:
        """The last seq of every turn, or of every step of the newest turn, oldest first; looked up as it is read."""

    def tail(self, budget: int, protect: SourceRef | None = None) -> int | None:
        """The earliest turn end that leaves at most `budget` tokens after it, else the last one before the newest
        turn: it never cuts into the newest turn, nor at or behind `protect`. None: nothing is older."""

    def prompt(self) -> SourceRef | None:
        """The row that opened the newest turn."""

    def open_join(self) -> int | None:
        """The last seq before the oldest `spawned` event without its `joined`; None when no child is open."""


@frozen
class Fold:
    """A stored summary, or an archive page, that stands for a range of older rows."""

    owner: str
    id: str
    label: str
    text: str
    covers: RowRange


@frozen
class Prior:
    """Folds that other extensions stored, oldest first, and the history that they leave.

    `rest` starts with the whole unit of the first uncovered row, so it may overlap the newest fold.
    """

    folds: tuple[Fold, ...]
    rest: History


class Context(Protocol):
    """One extension's view of one session in one read snapshot. It cannot write and cannot call a model."""

    @property
    def session(self) -> str: ...
    @property
    def strategy(self) -> str | None:
        """The id of the strategy in force."""

    @property
    def model(self) -> Model: ...
    @property
    def history(self) -> History: ...
    @property
    def window(self) -> Window: ...
    @property
    def fixed(self) -> int:
        """Tokens of what every request carries: system prompt, context blocks, tools."""

    def user_lines(self, upto: int | None = None) -> int:
        """Tokens, at most, of what users said in the rows up to seq `upto` (None: in all rows older than the newest
        turn), once they are not shown. The host adds it to the sections that cover them, with a few tokens more for
        each section; a strategy that plans how much tail may stay leaves room for it."""

    @property
    def sizing(self) -> Sizing: ...

    def settings(self, cls: type[T]) -> T:
        """The extension's settings as its own frozen class (`Manifest.settings`)."""

    def read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of a SELECT on the extension's own tables, in this snapshot."""

    def prior(self) -> Prior:
        """The folds of every enabled fold plugin but the caller's own, and the rest of the history."""

    def requests(self, after: int = 0) -> Sequence[Measured]:
        """The requests sent in this session that held rows beyond seq `after`, oldest first."""

    def traits(self, tool: str) -> ToolTraits | None:
        """What is known of a tool; None: nothing."""

    def search(
        self, text: str, after: int = 0, limit: int = 20, within: RowRange | None = None
    ) -> Sequence[tuple[SourceRef, str]]:
        """Rows after seq `after` that contain `text`, ignoring case, each with a snippet around the hit. No row
        outside of `within` is read."""

    def delegate(self, id: str) -> Delegate | None:
        """Another installed strategy, bound to its own settings and tables; None when it is not installed."""


class ToolContext(Context, CallContext, Protocol):
    """The context of an extension's tool: a view of the session, and the call that it answers."""


class Writer(Protocol):
    """Writes the extension's own tables inside one transaction."""

    def execute(self, sql: str, *values: object) -> int:
        """Runs one statement and returns the last row id."""


class Work(Context, Protocol):
    """A context that may also summarize and commit."""

    def begin(self, rows: RowRange) -> None:
        """In `compact`, once, before the first summary or commit: runs `pre_compact`. Raises Vetoed.

        A dry run ends here, and so does a compaction of rows that hold no words (`Row.wordless`): neither returns.
        """

    def summarize(
        self,
        *material: RowRange | Fold | str,
        previous: str = "",
        context: str = "",
        instructions: str = "",
        limit: int | None = None,
    ) -> Summary:
        """One summary of the material, oldest first.

        `previous` is carried and rewritten; `context` is shown and must not be repeated; `limit` is tokens of the
        result, as the session's model counts them. Raises SummaryRejected when only unacceptable texts came,
        SummaryFailed for anything else.
        """

    def native(self, rows: RowRange, previous: Replay | None) -> Replay:
        """The provider's own compaction of the rows. Raises SummaryFailed where there is none."""

    def commit(self, write: Callable[[Writer], object]) -> None:
        """Runs `write` in one immediate transaction. Raises Superseded if the store moved since it was read."""

    def progress(self, done: int, total: int) -> None:
        """Tells whoever waits how many of how many passes are done."""

    def cancelled(self) -> bool:
        """Whether somebody asked this work to stop."""


class Delegate(Protocol):
    """Another installed strategy, bound to its own settings, store and priors."""

    def project(self) -> Projection: ...
    def compact(self, demand: Demand) -> Outcome: ...


class CompactionStrategy(Protocol):
    """Decides what the model sees. One object serves all sessions and threads, so it holds no state."""

    def project(self, context: Context) -> Projection:
        """The sections of the next request. It only reads: equal state gives an equal projection."""

    def compact(self, context: Work, demand: Demand) -> Outcome:
        """Folds older history and commits the state that `project` reads. Raises CompactionFailed."""


class FoldPlugin(Protocol):
    """Lists stored folds, for other strategies and for views."""

    @property
    def owner(self) -> str:
        """The id of the strategy whose folds these are."""

    def folds(self, context: Context, history: History) -> Sequence[Fold]:
        """The stored folds from the first row of `history` on, oldest first, without a hole."""


class Reducer(Protocol):
    """Shortens rows that are shown.

    A reducer may also have a method `pins(context) -> bool`. While it answers true, the host adds an optional argument
    `keep` to the tools that read or search; a call with `keep: true` asks that its result stays.
    """

    def reduce(self, context: Context, rows: Sequence[Row], size: int, refused: bool) -> Mapping[SourceRef, str]:
        """The rows to show as one line each.

        `rows` are those on view that the strategy did not elide, `size` is the request without any reduction,
        `refused` says that the provider refused a request of this turn as too large.
        """


@frozen
class Fork:
    """A fork as `session_forked` sees it: rows up to seq `at` were copied and keep their numbers.

    `read` sees the source's tables, `write` belongs to the fork's transaction.
    """

    source: str
    target: str
    at: int
    read: Callable[..., list[tuple[Any, ...]]]
    write: Writer
