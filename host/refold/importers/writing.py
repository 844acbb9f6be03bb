"""The writing pass of an import: rows become sessions, in batches that end between steps.

A process that dies leaves a whole beginning, and the next import of the file goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import ExitStack

from attrs import define, evolve

from refold.importers.matching import NAMING, Matches
from refold.importers.relations import Relations, source_of
from refold.transcript.append import append
from refold.transcript.database import Database, Reader, Writer
from refold.transcript.leases import Lease, lease
from refold.transcript.rows import last_seq
from refold.transcript.sessions import find, insert
from refold.transcript.state import Origin, imported_from, set_origin
from refold.values.errors import Busy, NotFound, RefoldError
from refold.values.rows import Row
from refold.values.tools import SessionFacts

BATCH_ROWS = 500
BATCH_CHARACTERS = 4 * 1024 * 1024
_RENEW = 300.0  # seconds; well within a lease's lifetime
_TITLE = 80


@define
class Target:
    """A session that rows go into. `held` rows of the file are in it, `seen` were read from the file by now."""

    session: str
    source: str
    held: int
    seen: int = 0
    added: int = 0


class Writing:
    """Writes the rows of one file. `targets` are the sessions of the file that are here by now, by their names."""

    def __init__(self, database: Database, format: str, relations: Relations, target: str | None) -> None:
        """`target` is the session for the file's first conversation, where a person named one."""
        self.targets: dict[str, Target] = {}
        self.deferred: set[str] = set()
        """Conversations that were found here while the file was read; they are to be compared first."""
        self._database = database
        self._format = format
        self._relations = relations
        self._replaced: dict[str, Origin] = {}
        self._target = target
        self._batch: list[Row] = []
        self._characters = 0
        self._leases = _Leases(database)

    def admit(self, matches: Matches) -> None:
        """Takes what a comparison found: known sessions go on, those that differ stay and get a successor."""
        for name, where in matches.known.items():
            self.targets.setdefault(name, Target(where.session, where.source, where.rows))
        self._replaced.update({root: differs.origin for root, differs in matches.differs.items()})
        self.deferred.clear()

    def run(self, items: Iterable[Row | SessionFacts], settled: Set[str] = frozenset()) -> None:
        """Writes what is new. `settled` conversations are passed over, and so are those that become `deferred`.

        Raises RefoldError when the file cannot be read further (what came before is kept), Busy when somebody holds a
        session.
        """
        with ExitStack() as stack:
            stack.callback(self._leases.release)
            replays: set[str] = set()  # sessions whose last row was a replay: the next assistant row belongs to it
            coming = iter(items)
            while True:
                try:
                    item = next(coming, None)
                except RefoldError:  # the importer failed: what it gave is kept
                    self._flush()
                    raise
                if item is None:
                    break
                if isinstance(item, SessionFacts):
                    self._relations.learn(item)
                    continue
                name = item.ref.session
                root = self._relations.root(name)
                if root in settled or self._is_deferred(root):
                    continue
                begins = item.kind in ("user", "replay", "assistant") and name not in replays
                if begins and (len(self._batch) >= BATCH_ROWS or self._characters >= BATCH_CHARACTERS):
                    self._flush()
                (replays.add if item.kind == "replay" else replays.discard)(name)
                self._add(item)
            self._flush()

    def _is_deferred(self, root: str) -> bool:
        if root in self.deferred:
            return True
        if root in self.targets or root in self._replaced:
            return False
        if self._target is not None and self._relations.is_first(root):
            return False
        with self._database.read() as reader:
            here = imported_from(reader, source_of(self._format, self._relations.full(root))) is not None
        if here and root not in {self._relations.root(row.ref.session) for row in self._batch}:
            self.deferred.add(root)
        return root in self.deferred

    def _add(self, row: Row) -> None:
        target = self.targets.get(row.ref.session)
        if target is not None and target.seen < target.held:
            target.seen += 1
            return
        if target is not None:
            self._leases.hold(self.targets[self._relations.root(row.ref.session)].session)
        self._batch.append(row)
        self._characters += len(row.text) + sum(len(image.key) for image in row.images)
        self._characters += len(row.replay.payload) if row.replay else sum(len(str(call)) for call in row.calls)

    def _flush(self) -> None:
        if not self._batch:
            return
        self._leases.renew()
        with self._database.write() as writer:
            for name, rows in _runs(self._batch):
                target = self._made(writer, name, rows)
                given = [self._named(writer, row) for row in rows]
                if last_seq(writer, target.session) != target.held:
                    raise Busy(f"session {target.session} changed while it was imported; run the import again")
                append(writer, target.session, given)
                target.held += len(given)
                target.seen += len(given)
                target.added += len(given)
                set_origin(writer, target.session, target.source, target.held)
        last = self._relations.root(self._batch[-1].ref.session)
        self._batch.clear()
        self._characters = 0
        self._leases.hold_only(self.targets[last].session)

    def _made(self, writer: Writer, name: str, rows: Sequence[Row]) -> Target:
        """The session for a name in the file, made when its first row comes."""
        if name not in self.targets:
            self.targets[name] = self._make(writer, name, rows)
        return self.targets[name]

    def _make(self, writer: Writer, name: str, rows: Sequence[Row]) -> Target:
        relations, facts = self._relations, self._relations.facts(name)
        source = source_of(self._format, relations.full(name))
        above = relations.parent(name)
        wanted = relations.full(name) or "import"
        if above is not None:
            parent: str | None = self._made(writer, above, rows=()).session
            if name.startswith(f"{above}/"):
                wanted = f"{parent}/{name[len(above) + 1 :]}"
        else:
            if self._target is not None and relations.is_first(name):
                wanted = self._target
            elif imported_from(writer, source) != self._replaced.get(name):
                raise Busy("another process imports the same file; nothing was imported by this one; run it again")
            parent = self._outside(writer, name)
        free = wanted if wanted == self._target and above is None else _free(writer, wanted)
        made = insert(
            writer,
            free,
            title=_title(rows) if facts.title is None and above is None else facts.title or None,
            model=None,
            parent=find(writer, parent).key if parent is not None else None,
            forked_at=facts.forked_at if parent is not None else None,
            created=facts.created,
        )
        return Target(made.id, source, held=0)

    def _outside(self, reader: Reader, name: str) -> str | None:
        """The session here that is the parent of a conversation whose parent is in another file."""
        wanted = self._relations.outside(name)
        found = imported_from(reader, source_of(self._format, wanted)) if wanted is not None else None
        return found.session if found is not None else None

    def _named(self, writer: Writer, row: Row) -> Row:
        """An event row that names a child in the file, with the child's name here."""
        root = self._relations.root(row.ref.session)
        if row.event not in NAMING or not self._relations.names_child(root, row.text):
            return row
        return evolve(row, text=self._made(writer, row.text, rows=()).session)


class _Leases:
    """The sessions that are held while rows go into them. One that this import has just made is held by nobody else."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: dict[str, tuple[Lease, ExitStack]] = {}
        self._renewed = time.monotonic()

    def hold(self, session: str) -> None:
        """Raises Busy when somebody has it."""
        if session not in self._held:
            stack = ExitStack()
            self._held[session] = (stack.enter_context(lease(self._database, session, "import")), stack)

    def hold_only(self, session: str) -> None:
        """Gives the other sessions back: their rows are written."""
        self.hold(session)
        for other in [held for held in self._held if held != session]:
            self._held.pop(other)[1].close()

    def renew(self) -> None:
        """Starts the lifetimes anew, now and then."""
        if time.monotonic() - self._renewed > _RENEW:
            for held, _ in self._held.values():
                held.renew()
            self._renewed = time.monotonic()

    def release(self) -> None:
        """Gives everything back."""
        while self._held:
            self._held.popitem()[1][1].close()


def _title(rows: Sequence[Row]) -> str | None:
    """The beginning of the user's first words."""
    said = next((row.text for row in rows if row.kind == "user" and row.text.strip()), "")
    return " ".join(said[: 10 * _TITLE].split())[:_TITLE].encode("utf-8", "replace").decode() or None


def _runs(rows: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Rows in order, those of one session that follow each other together."""
    run: list[Row] = []
    for row in rows:
        if run and row.ref.session != run[0].ref.session:
            yield run[0].ref.session, run
            run = []
        run.append(row)
    if run:
        yield run[0].ref.session, run


def _free(reader: Reader, wanted: str) -> str:
    """The wanted id, or it with the first number that makes it free."""
    wanted = wanted.encode("utf-8", "replace")[:180].decode("utf-8", "ignore")
    number, id = 1, wanted
    while _taken(reader, id):
        number += 1
        id = f"{wanted}-{number}"
    return id


def _taken(reader: Reader, id: str) -> bool:
    try:
        find(reader, id)
    except NotFound:
        return False
    return True
