"""`import_file`: a session file of any known format becomes a session, and grows with its file.

Rows are committed in batches that end between steps, so a process that dies leaves a whole beginning, and the next
import of the file goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from attrs import define, evolve, frozen

from refold.importers import refold_export
from refold.importers.formats import BUILT_IN, detect, named
from refold.importers.lines import as_name
from refold.importers.matching import NAMING, Differs, Matched, compare, source_of
from refold.importers.reading import Progress, SessionFile, Skipped, opened
from refold.transcript.append import append
from refold.transcript.database import Database, Reader, Writer
from refold.transcript.leases import Lease, lease
from refold.transcript.rows import last_seq
from refold.transcript.sessions import create, find, listing
from refold.transcript.state import Origin, imported_from, origin, set_origin
from refold.values.errors import Busy, NotFound, RefoldError, Refused
from refold.values.rows import Row
from refold.values.tools import Importer

BATCH_ROWS = 500
BATCH_CHARACTERS = 4 * 1024 * 1024
_RENEW = 300.0  # seconds; well within a lease's lifetime
_TITLE = 80


@frozen
class Imported:
    """What an import did. `rows` are new in `session`, `already` were there; `turns` and `tokens` are its totals now.

    `children` are the sessions of sub-agents and abandoned branches, `child_rows` what is new in them. `note` says what
    a person should know, in one line; else empty.
    """

    session: str
    format: str
    rows: int
    already: int
    turns: int
    tokens: int
    skipped: tuple[Skipped, ...]
    children: tuple[str, ...]
    child_rows: int = 0
    note: str = ""


def import_file(
    database: Database,
    source: Path | str | BinaryIO,
    format: str | None = None,
    session: str | None = None,
    importers: Sequence[Importer] = BUILT_IN,
    progress: Progress | None = None,
) -> Imported:
    """Imports a session file; the same file again adds what it has grown by.

    `format` names the importer (else it is detected), `session` the target. A file whose session was continued here, or
    whose history changed, becomes a new session, and `note` says so. Raises NotFound for a missing file, Refused for an
    unknown format, a file without any row, or a target that is not this file's; Busy when somebody holds the session.
    """
    with opened(source) as file:
        importer = named(format, importers) if format else detect(file.head(), importers, file.broken)
        skipped: list[Skipped] = []
        items = file.items(importer, skipped, progress)
        first = next(items, None)
        if first is None:
            raise Refused(_nothing(file, importer, skipped))
        name = first.ref.session
        plan = _Plan(importer.format, name, name or as_name(file.name) or "import", session)
        earlier = _earlier(database, plan)
        known, note = Matched({}, grown=True), ""
        if earlier is not None:
            with database.read() as reader:
                found = compare(reader, plan.format, name, earlier, chain([first], items))
            known, note = _verdict(plan, earlier, found)
            if known.grown:
                skipped.clear()
                items = file.items(importer, skipped, progress)
        else:
            items = chain([first], items)
        importing = _Importing(database, plan, earlier, known)
        if known.grown:
            importing.run(items)
        return importing.report(tuple(skipped), note)


@frozen
class _Plan:
    """What goes where. `name` is the session's name in the file, `title` what to call it here."""

    format: str
    name: str
    title: str
    target: str | None

    @property
    def source(self) -> str:
        return source_of(self.format, self.name or self.title)


def _earlier(database: Database, plan: _Plan) -> Origin | None:
    """The session into which this file was imported before. Raises Refused for a target that is another's."""
    with database.read() as reader:
        if plan.target is None:
            return imported_from(reader, plan.source)
        try:
            find(reader, plan.target)
        except NotFound:
            return None
        found = origin(reader, plan.target)
    if found is None or found.source != plan.source:
        raise Refused(f"session {plan.target} was not imported from this file; nothing was imported; name another")
    return found


def _verdict(plan: _Plan, earlier: Origin, found: Matched | Differs) -> tuple[Matched, str]:
    if isinstance(found, Matched):
        return found, ""
    if plan.target is not None:
        raise Refused(
            f"session {plan.target} {found.reason}; nothing was imported; leave --session out to import it anew"
        )
    return Matched({}, grown=True), f"session {earlier.session} {found.reason}, so this is a new session"


def _nothing(file: SessionFile, importer: Importer, skipped: Sequence[Skipped]) -> str:
    first = ""
    if skipped:
        first = f" ({f'line {skipped[0].line}: ' if skipped[0].line else ''}{skipped[0].reason})"
    return f"{file.name} holds no row of format {importer.format}{first}; nothing was imported"


@define
class _Target:
    """A session that rows go into. `held` rows of the file are in it, `seen` were read from the file by now."""

    session: str
    source: str
    held: int
    seen: int = 0
    added: int = 0
    above: str | None = None


class _Importing:
    """The writing pass."""

    def __init__(self, database: Database, plan: _Plan, earlier: Origin | None, known: Matched) -> None:
        self._database = database
        self._plan = plan
        self._earlier = earlier
        self._targets = {name: _Target(where.session, where.source, where.rows) for name, where in known.known.items()}
        self._batch: list[Row] = []
        self._characters = 0
        self._lease: Lease | None = None
        self._renewed = 0.0

    def run(self, rows: Iterable[Row]) -> None:
        with ExitStack() as stack:
            if self._plan.name in self._targets:
                self._hold(stack)
            replays: set[str] = set()  # names whose last row was a replay: its assistant row belongs to it
            coming = iter(rows)
            while True:
                try:
                    row = next(coming, None)
                except RefoldError:  # the importer failed: what it gave is kept
                    self._flush(stack)
                    raise
                if row is None:
                    break
                name = row.ref.session
                begins = row.kind in ("user", "replay", "assistant") and name not in replays
                if begins and (len(self._batch) >= BATCH_ROWS or self._characters >= BATCH_CHARACTERS):
                    self._flush(stack)
                (replays.add if row.kind == "replay" else replays.discard)(name)
                self._add(row)
            self._flush(stack)

    def report(self, skipped: tuple[Skipped, ...], note: str) -> Imported:
        main = self._targets[self._plan.name]
        children = [target for target in self._targets.values() if target is not main]
        with self._database.read() as reader:
            totals = next(listed for listed in listing(reader) if listed.session.id == main.session)
        return Imported(
            session=main.session,
            format=self._plan.format,
            rows=main.added,
            already=main.held - main.added,
            turns=totals.turns,
            tokens=totals.tokens,
            skipped=skipped,
            children=tuple(child.session for child in children),
            child_rows=sum(child.added for child in children),
            note=note,
        )

    def _add(self, row: Row) -> None:
        target = self._targets.get(row.ref.session)
        if target is not None and target.seen < target.held:
            target.seen += 1
            return
        self._batch.append(row)
        self._characters += len(row.text) + sum(len(image.key) for image in row.images)
        self._characters += len(row.replay.payload) if row.replay else sum(len(str(call)) for call in row.calls)

    def _flush(self, stack: ExitStack) -> None:
        if not self._batch:
            return
        if self._lease is not None and time.monotonic() - self._renewed > _RENEW:
            self._lease.renew()
            self._renewed = time.monotonic()
        with self._database.write() as writer:
            for name, rows in _runs(self._batch):
                target = self._target(writer, name, rows)
                given = [self._named(writer, target, row) for row in rows]
                if last_seq(writer, target.session) != target.held:
                    raise Busy(f"session {target.session} changed while it was imported; run the import again")
                append(writer, target.session, given)
                target.held += len(given)
                target.seen += len(given)
                target.added += len(given)
                set_origin(writer, target.session, target.source, target.held)
        self._batch.clear()
        self._characters = 0
        if self._lease is None:
            self._hold(stack)

    def _hold(self, stack: ExitStack) -> None:
        self._lease = stack.enter_context(lease(self._database, self._targets[self._plan.name].session, "import"))
        self._renewed = time.monotonic()

    def _target(self, writer: Writer, name: str, rows: Sequence[Row]) -> _Target:
        """The session for a name in the file, made when its first row comes."""
        if self._plan.name not in self._targets:
            self._make_main(writer, rows)
        if name not in self._targets:
            self._make_child(writer, name, self._targets[self._plan.name])
        return self._targets[name]

    def _make_main(self, writer: Writer, rows: Sequence[Row]) -> None:
        plan = self._plan
        if plan.target is None and imported_from(writer, plan.source) != self._earlier:
            raise Busy("another process imports the same file; nothing was imported by this one; run it again")
        said = next((row.text for row in rows if row.kind == "user" and row.text.strip()), "")
        title = " ".join(said[: 10 * _TITLE].split())[:_TITLE].encode("utf-8", "replace").decode() or None
        id = plan.target or _free(writer, plan.title)
        self._targets[plan.name] = _Target(create(writer, id, title=title).id, plan.source, held=0)

    def _make_child(self, writer: Writer, name: str, parent: _Target) -> _Target:
        beginning = f"{self._plan.name}/"
        main = self._targets[self._plan.name].session
        wanted = f"{main}/{name[len(beginning) :]}" if name.startswith(beginning) else name or "import"
        made = create(writer, _free(writer, wanted), parent=parent.session)
        self._targets[name] = _Target(made.id, source_of(self._plan.format, name), held=0)
        return self._targets[name]

    def _named(self, writer: Writer, parent: _Target, row: Row) -> Row:
        """An event row that names a child in the file, with the child's name here.

        An export names sessions of the home that it came from, and its rows come back as they were.
        """
        inside = row.text.startswith(f"{self._plan.name}/") and self._plan.format != refold_export.IMPORTER.format
        if row.event not in NAMING or not inside:
            return row
        child = self._targets.get(row.text) or self._make_child(writer, row.text, parent)
        return evolve(row, text=child.session)


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
