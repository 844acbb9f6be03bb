"""One session as a host app holds it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from attrs import define, evolve, field

from refold.agent import app_input, extension_calls, seen
from refold.agent.calls import Calls
from refold.agent.events import Event, TurnFinished
from refold.agent.folds import stored_folds
from refold.agent.follow_ups import FollowUps
from refold.agent.hearing import Emit, Hearing, unheard
from refold.agent.memory import Memory
from refold.agent.sending import Sending
from refold.agent.standing import Ears, Standing, Wish, look
from refold.agent.streaming import astreamed, awaited, streamed
from refold.agent.tail import Tail, page, tail_snapshot
from refold.agent.tools import HostTool
from refold.agent.turn import Turn
from refold.agent.turn_options import MAX_STEPS, TurnOptions, TurnSettings, check_stop, listener
from refold.agent.worker import Worker
from refold.importers.export import export_lines, headers
from refold.prepare import road
from refold.prepare.context import View
from refold.prepare.draw import check, open_view
from refold.prepare.request import Ask, Attempted, Check, Desk, Prepared
from refold.prepare.work import Bench
from refold.transcript import images, requests, rows, search, sessions
from refold.transcript.append import append
from refold.transcript.deletion import delete
from refold.transcript.fork import ForkHook, ForkReport, fork
from refold.transcript.leases import lease
from refold.values.contexts import Fold
from refold.values.errors import RefoldError, Refused
from refold.values.rows import Call, Image, Row, SourceRef

if TYPE_CHECKING:
    from refold.agent.host import Host
    from refold.registry.composition import Composition

_NEW = SourceRef("", 0)


@define(eq=False, repr=False, slots=False)
class Session:
    """A session of a `Host`. What it appends is durable when the call returns.

    `system` and `tools` are the host app's own: what stands before the history in every request. They may be set at
    any time; a changed system prompt arrives at the next compaction, and is told in a note until then. None, as it is
    at first, leaves what was sent before. `approve` is asked before a call of a tool that needs approval, and may be
    async; `True` approves, nothing else does. Setting what cannot be one of these raises Refused.
    """

    host: Host
    id: str
    system: str | None = field(default=None, init=False, validator=app_input.system_prompt)
    tools: tuple[HostTool, ...] = field(default=(), init=False, converter=app_input.tools)
    approve: Callable[[Call], object] | None = field(default=None, init=False, validator=app_input.approval)
    memory: Memory = field(factory=Memory, init=False)
    _follow_ups: FollowUps = field(factory=FollowUps, init=False)
    _stops: set[threading.Event] = field(factory=set, init=False)

    @property
    def record(self) -> sessions.Session:
        """Title, model, parent and counts as they are stored. Raises NotFound when the session was deleted."""
        with self.host.database.read() as reader:
            return sessions.find(reader, self.id)

    def use_model(self, name: str) -> str:
        """Makes a configured model the session's own from the next request on; returns its id. Raises Refused."""
        model = self.host.model_id(name)
        with self.host.database.write() as writer:
            sessions.set_model(writer, self.id, model)
        return model

    # The transcript

    def append(self, new: Iterable[Row]) -> list[SourceRef]:
        """Appends rows in one transaction; their `ref`, `turn` and `step` are given here. Raises NotFound, Refused."""
        with self.host.database.write() as writer:
            return append(writer, self.id, new)

    def user(self, text: str, images: Sequence[Image] = (), *, opens: bool = True) -> SourceRef:
        """Appends a user row. `opens` false: a follow-up, which starts no turn."""
        return self.append([Row(_NEW, "user", 0, 0, opens=opens, text=text, images=tuple(images))])[0]

    def assistant(self, text: str, calls: Sequence[Call] = ()) -> SourceRef:
        """Appends an answer of the model."""
        return self.append([Row(_NEW, "assistant", 0, 0, text=text, calls=tuple(calls))])[0]

    def results(self, results: Mapping[str, str]) -> list[SourceRef]:
        """Appends the results of a step's calls together: call id to text."""
        return self.append(Row(_NEW, "result", 0, 0, text=text, call_id=call_id) for call_id, text in results.items())

    def rows(self, after: int = 0, upto: int | None = None) -> list[Row]:
        """The durable rows with `after < seq <= upto`, oldest first."""
        with self.host.database.read() as reader:
            last = rows.last_seq(reader, self.id)
            return rows.load_sources(reader, self.id, after, last if upto is None else min(upto, last))

    def sized_rows(self, after: int, limit: int) -> list[tuple[Row, int]]:
        """The first `limit` rows after seq `after`, each with its tokens by the local estimate."""
        upto = max(0, after) + limit
        with self.host.database.read() as reader:
            sizes = {raw.seq: raw.tokens for raw in rows.raw_rows(reader, self.id, after, upto)}
            return [(row, sizes[row.ref.seq]) for row in rows.load_sources(reader, self.id, after, upto)]

    def family(self) -> list[str]:
        """The ids of this session and of all that hang below it (sub-agents, forks), parents first. Raises NotFound."""
        waiting = self.host.tree(self.id)
        found = []
        while waiting:
            branch = waiting.pop(0)
            found.append(branch.session.id)
            waiting += branch.children
        return found

    def family_headers(self) -> Iterator[bytes]:
        """What begins an export of the whole family; the `export` of each member follows. Raises NotFound."""
        with self.host.database.read() as reader:
            yield from headers(reader, self.family())

    def export(self) -> Iterator[bytes]:
        """The session as JSON lines that `import_file` reads back row for row. Raises NotFound."""
        with self.host.database.read() as reader:
            yield from export_lines(reader, self.id)

    def source(self, seq: int) -> Row:
        """One durable row. Raises NotFound."""
        with self.host.database.read() as reader:
            return rows.source(reader, SourceRef(self.id, seq))

    def search(self, text: str, after: int = 0, limit: int = 20) -> list[search.Hit]:
        """Rows after seq `after` that contain the text, ignoring case, in order."""
        with self.host.database.read() as reader:
            return search.search(reader, self.id, text, after, limit)

    def fork(self, at: int, id: str | None = None) -> ForkReport:
        """A new session with the rows up to `at`, and the state of extensions that copy it. Raises Refused."""
        hooks = [
            ForkHook(each.id, each.manifest.tables, partial(_forked, each.hook))
            for each in self.host.composition(self.id).installed
            if each.gives("session_forked")
        ]
        return fork(self.host.database, self.id, at, id, hooks)

    def delete(self) -> int:
        """Deletes the session with all its state; returns how many rows it had. Raises Busy while it is held."""
        return delete(self.host.database, self.id)

    # The request

    def check(self, window: int | None = None) -> Check:
        """Whether compaction is due. Constant in the session's length; it decodes and writes nothing."""
        desk, ask = self._standing(window)
        with self.host.database.read() as reader:
            return check(desk, ask, reader)

    def prepare(self, window: int | None = None, protocol: str | None = None) -> Prepared:
        """The request that the model would get next, compacted first when that is due.

        `window` (tokens) goes before every other source; `protocol` is the wire format (default: the model's own).
        Raises ProjectionFailed.
        """
        turn = self.newest_turn()
        prepared = road.prepare(*self._standing(window, protocol), resting=turn == self.memory.rested_turn)
        self.memory.took(prepared, turn)
        return prepared

    def compact(
        self,
        window: int | None = None,
        instructions: str = "",
        *,
        summarizer: str | None = None,
        reasoning: str | None = None,
        on_event: Emit = unheard,
        stop: threading.Event | None = None,
    ) -> Prepared:
        """Compacts now, whatever the size. `instructions` tell a summarizer what to keep.

        `summarizer` names the model that writes first, `reasoning` how much it reasons (`minimal` to `xhigh`; None: as
        it does by itself). `stop` ends it when set, as `cancel` does. Raises CompactionFailed or ProjectionFailed,
        Busy when the session is held, Refused for an unknown model or level; then nothing changed.
        """
        with self._stoppable(stop) as stopped:
            hearing = Hearing(listener(on_event), stopped.is_set)
            wish = self._wish(window, None, instructions, summarizer, reasoning)
            hold = partial(lease, self.host.database, self.id, "compact")
            standing = self.look(wish, Ears(hold, hearing.started, hearing.progress, stopped.is_set))
            if not standing.desk.composition.compaction.enable:
                raise Refused("compaction.enable is false in extensions.json; nothing was changed; set it to true")
            try:
                prepared = road.compact(standing.desk, standing.ask)
            except RefoldError as error:
                hearing.failed(error)
                raise
            hearing.ended(prepared)
            self.memory.took(prepared)
            return prepared

    def plan(self, window: int | None = None, strategy: str | None = None) -> Attempted:
        """What `compact` would fold, by the strategy in force or by one that is not chosen yet.

        No model is called and nothing is written. Raises Refused or NotFound for a strategy that cannot be chosen.
        """
        desk, ask = self._standing(window)
        if strategy is not None:
            desk = evolve(desk, composition=self.host.proposed(strategy, self.id))
        return road.plan(desk, ask)

    # The turn

    def send(self, text: str, images: Sequence[Image] = (), **options: Unpack[TurnOptions]) -> TurnFinished:
        """Sends a prompt and runs the turn to its end: calls run, compaction happens when due, refusals are recovered.

        Raises Refused or NotFound for an empty prompt, for options that cannot be (`TurnOptions`) or when no model can
        be asked, Busy when the session is held; then nothing was appended. Raises ProviderError when the provider
        failed, Overflow when the request cannot be made to fit; then the prompt and whatever came are kept, and
        `resume` goes on.
        """
        words, shown = app_input.prompt(text, images)
        return self._turn(Row(_NEW, "user", 0, 0, opens=True, text=words, images=shown), options)

    def resume(self, **options: Unpack[TurnOptions]) -> TurnFinished:
        """Goes on with the newest turn where it stopped: after a provider that failed, a cancel, too many steps, or in
        a session whose last row is the user's. Calls that nobody answered are told so.

        Options and errors are those of `send`; Refused also when the newest turn is answered.
        """
        return self._turn(None, options)

    def _turn(self, prompt: Row | None, options: TurnOptions) -> TurnFinished:
        wanted = TurnSettings(**options)
        most = wanted.max_steps or self.host.models.file().max_steps or MAX_STEPS
        with (
            lease(self.host.database, self.id, "send") as mine,
            self._stoppable(wanted.stop) as stopped,
            closing(Worker(f"tools of {self.id}", wanted.loop)) as worker,
        ):
            calls = Calls(self, self.record.key, stopped, worker)
            sending = Sending(self, mine, stopped, self.host.composition(self.id), calls, wanted.read_only)
            return Turn(sending, wanted.on_event, self._follow_ups, most).run(prompt)

    def stream(self, text: str, images: Sequence[Image] = (), **options: Unpack[TurnOptions]) -> Iterator[Event]:
        """Like `send`, event by event; `TurnFinished` is the last. Ending the iteration early cancels the turn."""
        return streamed(self, text, images, options)

    async def asend(self, text: str, images: Sequence[Image] = (), **options: Unpack[TurnOptions]) -> TurnFinished:
        """`send` for asyncio: it runs in a thread, async tools on this loop. Cancelling the task cancels the turn."""
        return await awaited(partial(self.send, text, images), options)

    async def aresume(self, **options: Unpack[TurnOptions]) -> TurnFinished:
        """`resume` for asyncio, as `asend` is `send`."""
        return await awaited(self.resume, options)

    def astream(self, text: str, images: Sequence[Image] = (), **options: Unpack[TurnOptions]) -> AsyncIterator[Event]:
        """`stream` for asyncio."""
        return astreamed(self, text, images, options)

    def follow_up(self, text: str, images: Sequence[Image] = ()) -> bool:
        """Adds user words to the turn that runs, before its next answer begins; they start no turn. Any thread may.

        False when no turn of this object runs: then nothing was added, and `send` is the way.
        """
        words, shown = app_input.prompt(text, images)
        return self._follow_ups.offer(Row(_NEW, "user", 0, 0, text=words, images=shown))

    def cancel(self) -> None:
        """Stops the turn or compaction that runs, as soon as it can. Safe from any thread."""
        for stop in tuple(self._stops):
            stop.set()

    @contextmanager
    def _stoppable(self, given: threading.Event | None) -> Iterator[threading.Event]:
        """An event that `cancel` sets while the block runs. Raises Refused for what can be no event."""
        check_stop(given)
        stop = given or threading.Event()
        self._stops.add(stop)
        try:
            yield stop
        finally:
            self._stops.discard(stop)

    def tool(self, name: str) -> HostTool | None:
        """The host app's tool of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    # What was sent

    def context(self) -> dict[str, Any]:
        """The snapshot of the last prepared request as `refold context` shows it. Nothing is prepared or called."""
        with self.host.database.read() as reader:
            return seen.context(reader, self.id)

    def context_page(self, section: str, page: int = 0) -> dict[str, Any]:
        """One page of a section of the last prepared request, counted from 0. Raises NotFound."""
        with self.host.database.read() as reader:
            return seen.context_page(reader, self.id, section, page)

    def requests(self, after: int = 0) -> list[requests.Asked]:
        """What was asked of models, those of summarizers apart by their `kind`, with an id beyond `after`."""
        with self.host.database.read() as reader:
            return requests.asked(reader, self.id, after)

    def stored_folds(self) -> list[Fold]:
        """Every stored fold, in the order of its boundary: those of fold plugins, whether or not they compose, and
        what the strategy in force shows in place of rows. An extension that fails lists none."""
        with self._viewing() as (view, bench):
            return stored_folds(view, bench.notices)

    def tail(self, after: int = 0, limit: int = 100, *, history: bool = False) -> Tail:
        """The next rows behind seq `after`, at most `limit` of them, for a follower of the session.

        One that is behind may get a snapshot and the rows behind it, where an enabled extension offers one; with
        `history` it always gets the rows. Raises NotFound.
        """
        with self._viewing() as (view, bench):
            offered = None if history else tail_snapshot(view, bench.notices)
            snapshot = offered if offered is not None and after < offered.covers.upto else None
        start = snapshot.covers.upto if snapshot is not None else after
        return page(self.sized_rows(start, limit + 1), start, limit, snapshot)

    def image_bytes(self, image: Image) -> bytes:
        """The bytes of a picture of this session, stored or made by the extension that owns it. Raises NotFound."""
        return self.picture(image)

    def picture(self, image: Image, composition: Composition | None = None) -> bytes:
        """The same, with the extensions that a turn began with. Raises NotFound."""
        if image.owner is None:
            with self.host.database.read() as reader:
                return images.load_image(reader, image.key).data
        with self._viewing(composition) as (view, bench):
            return extension_calls.picture(view, bench, image)

    def run(self, command: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Runs a command of an enabled extension, such as `lcm tree`. Raises NotFound, or what the command raises."""
        with self._viewing() as (view, bench):
            return extension_calls.run(view, bench, command, arguments)

    @contextmanager
    def _viewing(self, composition: Composition | None = None) -> Iterator[tuple[View, Bench]]:
        """The session in one snapshot, which is taken after the extensions made their tables."""
        desk, ask = self._standing(composition=composition)
        with self.host.database.read() as reader:
            view, _ = open_view(desk, ask, reader)
            lent = desk.database, desk.summarize, desk.notices, desk.started, desk.progress, desk.cancelled
            yield view, Bench(*lent)

    def look(self, wish: Wish, ears: Ears) -> Standing:
        """What a preparation needs, from one look at the session."""
        return look(self.host, self.id, self.system, self.memory, wish, ears)

    def _wish(
        self,
        window: int | None = None,
        protocol: str | None = None,
        instructions: str = "",
        summarizer: str | None = None,
        reasoning: str | None = None,
    ) -> Wish:
        return Wish(
            window,
            protocol,
            self.host.model_id(summarizer) if summarizer else None,
            instructions,
            reasoning,
            tools=tuple(tool.spec for tool in self.tools),
            traits={tool.name: tool.traits for tool in self.tools if tool.traits is not None},
        )

    def _standing(
        self, window: int | None = None, protocol: str | None = None, composition: Composition | None = None
    ) -> tuple[Desk, Ask]:
        hold = partial(lease, self.host.database, self.id, "compact")
        wish = evolve(self._wish(window, protocol), composition=composition)
        standing = self.look(wish, Ears(hold, unheard, _unwatched, _never))
        return standing.desk, standing.ask

    def newest_turn(self) -> int:
        """The number of the newest turn; 0 before the first."""
        with self.host.database.read() as reader:
            return rows.newest_turn(reader, self.id)

    def newest_seq(self) -> int:
        """The seq of the newest row; 0 for an empty session."""
        with self.host.database.read() as reader:
            return rows.last_seq(reader, self.id)


def _unwatched(done: int, total: int) -> None:
    """The progress of a compaction that nobody watches."""


def _never() -> bool:
    """Nobody stops it."""
    return False


def _forked(hook: Any, fork: Any) -> None:
    hook.session_forked(fork=fork)
