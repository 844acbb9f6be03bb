"""One session as a host app holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import evolve

from refold.importers.export import export_lines
from refold.prepare import inspector, road, snapshot
from refold.prepare.context import BoundContext, View
from refold.prepare.draw import check, open_view
from refold.prepare.head import Head
from refold.prepare.listen import listen
from refold.prepare.request import Ask, Attempted, Check, Desk, Prepared
from refold.prepare.work import Bench, BoundWork, PictureWork
from refold.registry.contributions import Extension
from refold.summarize.passes import PassCache
from refold.summarize.service import summarize
from refold.transcript import images, rows, search, sessions, state
from refold.transcript.append import append
from refold.transcript.database import Reader
from refold.transcript.deletion import delete
from refold.transcript.fork import ForkHook, ForkReport, fork
from refold.transcript.history import StoredHistory
from refold.transcript.leases import lease
from refold.values.contexts import Fold
from refold.values.errors import NotFound, Refused
from refold.values.inputs import Note, Rows, Section
from refold.values.messages import ToolSpec
from refold.values.rows import Call, Image, Row, SourceRef
from refold.values.sizes import Model

if TYPE_CHECKING:
    from refold.agent.host import Host

Progress = Callable[[int, int], None]
"""Hears how many of how many passes of a compaction are done."""

_NEW = SourceRef("", 0)
_CACHED_PASSES = 64


class Session:
    """A session of a `Host`. What it appends is durable when the call returns.

    `system` and `tools` are the host app's own: what stands before the history in every request. They may be set at
    any time; a changed system prompt arrives at the next compaction, and is told in a note until then.
    """

    def __init__(self, host: Host, id: str) -> None:
        self.host = host
        self.id = id
        self.system = ""
        self.tools: tuple[ToolSpec, ...] = ()
        self._rows: dict[int, Row] = {}
        self._passes = PassCache(_CACHED_PASSES)
        self._rested = 0

    @property
    def record(self) -> sessions.Session:
        """Title, model, parent and counts as they are stored. Raises NotFound when the session was deleted."""
        with self.host.database.read() as reader:
            return sessions.find(reader, self.id)

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

    def last_seq(self) -> int:
        """The seq of the newest row; 0 for an empty session. Raises NotFound."""
        with self.host.database.read() as reader:
            return rows.last_seq(reader, self.id)

    def sized_rows(self, after: int, limit: int) -> list[tuple[Row, int]]:
        """The first `limit` rows after seq `after`, each with its tokens by the local estimate."""
        with self.host.database.read() as reader:
            found = rows.load_sources(reader, self.id, after, after + limit)
            sizes = {raw.seq: raw.tokens for raw in rows.raw_rows(reader, self.id, after, after + limit)}
            return [(row, sizes[row.ref.seq]) for row in found]

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
        with self.host.registry.running():
            hooks = [
                ForkHook(each.id, each.manifest.tables, partial(_forked, each.hook))
                for each in self.host.composition(self.id).installed
                if each.gives("session_forked")
            ]
            return fork(self.host.database, self.id, at, id, hooks)

    def delete(self) -> int:
        """Deletes the session with all its state; returns how many rows it had. Raises Busy while it is held."""
        with lease(self.host.database, self.id, "delete"):
            pass
        return delete(self.host.database, self.id)

    # The request

    def check(self, window: int | None = None) -> Check:
        """Whether compaction is due. Constant in the session's length; it decodes and writes nothing."""
        with self.host.registry.running():
            desk, ask = self._standing(window)
            with self.host.database.read() as reader:
                return check(desk, ask, reader)

    def prepare(self, window: int | None = None, protocol: str = "openai-chat") -> Prepared:
        """The request that the model would get next, compacted first when that is due.

        `window` (tokens) goes before every other source. Raises ProjectionFailed.
        """
        with self.host.registry.running():
            turn = self._turn()
            resting = turn == self._rested
            prepared = road.prepare(*self._standing(window, protocol), resting=resting)
            if prepared.rests:
                self._rested = turn
            self._forget(prepared)
            return prepared

    def compact(
        self, window: int | None = None, instructions: str = "", *, progress: Progress | None = None
    ) -> Prepared:
        """Compacts now, whatever the size. `instructions` tell a summarizer what to keep.

        Raises CompactionFailed or ProjectionFailed, Busy when the session is held; then nothing changed.
        """
        with self.host.registry.running():
            desk, ask = self._standing(window, instructions=instructions, progress=progress)
            if not desk.composition.compaction.enable:
                raise Refused(
                    "compaction.enable is false in extensions.json; nothing was changed; set it to true first"
                )
            prepared = road.compact(desk, ask)
            self._forget(prepared)
            return prepared

    def plan(self, window: int | None = None, strategy: str | None = None) -> Attempted:
        """What `compact` would fold, by the strategy in force or by one that is not chosen yet.

        No model is called and nothing is written. Raises Refused or NotFound for a strategy that cannot be chosen.
        """
        with self.host.registry.running():
            desk, ask = self._standing(window)
            if strategy is not None:
                desk = evolve(desk, composition=self.host.proposed(strategy, self.id))
            return road.plan(desk, ask)

    def context(self) -> dict[str, Any]:
        """The snapshot of the last prepared request as `refold context` shows it. Nothing is prepared or called."""
        with self.host.database.read() as reader:
            taken = self._snapshot(reader)
            return inspector.PENDING if taken is None else inspector.summary(taken)

    def context_page(self, section: str, page: int = 0) -> dict[str, Any]:
        """One page of a section of the last prepared request, counted from 0. Raises NotFound."""
        with self.host.database.read() as reader:
            taken = self._snapshot(reader)
            if taken is None:
                raise NotFound("no request was prepared in this session yet; 'refold prepare' makes one")
            last = rows.last_seq(reader, self.id)
            history = StoredHistory(reader, self.id, 0, last, lambda raw: raw, lambda width, height: 0)
            return inspector.page(taken, history, section, page)

    def stored_folds(self) -> list[Fold]:
        """Every stored fold, in the order of its boundary: those of fold plugins, whether or not they compose, and
        what the strategy in force shows in place of rows. An extension that fails lists none."""
        with self.host.registry.running(), self.host.database.read() as reader:
            desk, ask = self._standing()
            view, _ = open_view(desk, ask, reader)
            found = [
                fold
                for each in view.composition.extensions
                for fold in listen(desk.notices, each.id, "folds", partial(_listed, view, each)) or ()
            ]
            strategy = view.composition.strategy
            if strategy is not None and strategy.id not in {fold.owner for fold in found}:
                found += listen(desk.notices, strategy.id, "project", partial(_in_place_of_rows, view, strategy)) or ()
            return sorted(found, key=lambda fold: (fold.covers.upto, fold.owner, fold.id))

    def image_bytes(self, image: Image) -> bytes:
        """The bytes of a picture of this session, stored or made by the extension that owns it. Raises NotFound."""
        with self.host.registry.running(), self.host.database.read() as reader:
            if image.owner is None:
                return images.load_image(reader, image.key).data
            view, bench = self._work(reader)
            extension = view.composition.extension(image.owner)
            made: bytes | None = extension.hook.image_bytes(context=PictureWork(view, extension, bench), image=image)
            if made is None:
                raise NotFound(f"{image.owner} has no picture {image.key}")
            return made

    def run(self, command: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Runs a command of an enabled extension, such as `lcm tree`. Raises NotFound, or what the command raises."""
        with self.host.registry.running(), self.host.database.read() as reader:
            view, bench = self._work(reader)
            for extension, offered in view.composition.commands:
                if offered.name == command:
                    return offered.run(BoundWork(view, extension, bench), arguments)
            raise NotFound(f"no enabled extension has a command {command!r}")

    def _work(self, reader: Reader) -> tuple[View, Bench]:
        desk, ask = self._standing()
        view, _ = open_view(desk, ask, reader)
        return view, Bench(desk.database, desk.summarize, desk.notices, desk.progress, desk.cancelled)

    def _standing(
        self,
        window: int | None = None,
        protocol: str = "openai-chat",
        instructions: str = "",
        progress: Progress | None = None,
    ) -> tuple[Desk, Ask]:
        """What a preparation needs, from one look at the session."""
        with self.host.database.read() as reader:
            record = sessions.find(reader, self.id)
            choices = state.choices(reader, self.id)
        desk = Desk(
            database=self.host.database,
            composition=self.host.registry.composition(choices),
            summarize=partial(summarize, summarizers=self.host.summarizers, focus=instructions, cache=self._passes),
            hold=partial(lease, self.host.database, self.id, "compact"),
            now=sessions.now,
            progress=progress or _unwatched,
            cancelled=_never,
            rows=self._rows,
        )
        model = Model(id=record.model or "", protocol=protocol, owner="")
        return desk, Ask(self.id, model, override=window, head=Head(self.system), tools=self.tools)

    def _snapshot(self, reader: Reader) -> snapshot.Snapshot | None:
        stored = state.snapshot(reader, sessions.find(reader, self.id).id)
        return snapshot.load(stored) if stored else None

    def _turn(self) -> int:
        with self.host.database.read() as reader:
            return rows.newest_turn(reader, self.id)

    def _forget(self, prepared: Prepared) -> None:
        """Decoded rows are kept while they are on view."""
        inputs = [part for section in prepared.projection.sections for part in section.inputs]
        parts = [part.range for part in inputs if isinstance(part, Rows)]
        self._rows = {seq: row for seq, row in self._rows.items() if any(seq in part for part in parts)}


def _unwatched(done: int, total: int) -> None:
    """The progress of a compaction that nobody watches."""


def _never() -> bool:
    return False


def _forked(hook: Any, fork: Any) -> None:
    hook.session_forked(fork=fork)


def _listed(view: View, extension: Extension) -> Sequence[Fold]:
    plugin = extension.fold_plugin
    return plugin.folds(BoundContext(view, extension), view.history) if plugin is not None else ()


def _in_place_of_rows(view: View, extension: Extension) -> list[Fold]:
    """The sections of a strategy that stand for rows without showing them; folds of others are not its own."""
    if extension.strategy is None:
        return []
    return [
        Fold(extension.id, each.id, each.label, "\n".join(_words(each)), each.covers)
        for each in extension.strategy.project(BoundContext(view, extension)).sections
        if each.covers is not None and each.kind != "fold"
    ]


def _words(section: Section) -> list[str]:
    return [part.text for part in section.inputs if isinstance(part, Note)]
