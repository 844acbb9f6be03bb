"""`import_file`: a session file of any known format becomes sessions, and they grow with their file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from attrs import frozen

from refold.importers.formats import BUILT_IN, detect, named
from refold.importers.lines import as_name
from refold.importers.matching import Comparison
from refold.importers.reading import Pass, Progress, SessionFile, Skipped, opened
from refold.importers.relations import Relations, source_of
from refold.importers.writing import Target, Writing
from refold.transcript.database import Database
from refold.transcript.sessions import find, listing
from refold.transcript.state import Origin, imported_from, origin
from refold.values.errors import NotFound, Refused
from refold.values.rows import Row
from refold.values.tools import Importer, SessionFacts


@frozen
class ImportedSession:
    """What an import did to one conversation of a file; the numbers are those of `Imported`."""

    session: str
    rows: int
    already: int
    turns: int
    tokens: int
    children: tuple[str, ...]
    child_rows: int


@frozen
class Imported:
    """What an import did: to one conversation, or to all that a file holds.

    `session` is the first conversation's, `sessions` are all of them. `rows` are new in them, `already` were there;
    `turns` and `tokens` are their totals now. `children` are the sessions of sub-agents and abandoned branches,
    `child_rows` what is new in them. `calls` are the calls that the file makes, `unanswered` those without a result.
    `note` says what a person should know, in one line; else empty.
    """

    format: str
    sessions: tuple[ImportedSession, ...]
    skipped: tuple[Skipped, ...]
    calls: int = 0
    unanswered: int = 0
    note: str = ""

    @property
    def session(self) -> str:
        return self.sessions[0].session

    @property
    def rows(self) -> int:
        return sum(each.rows for each in self.sessions)

    @property
    def already(self) -> int:
        return sum(each.already for each in self.sessions)

    @property
    def turns(self) -> int:
        return sum(each.turns for each in self.sessions)

    @property
    def tokens(self) -> int:
        return sum(each.tokens for each in self.sessions)

    @property
    def children(self) -> tuple[str, ...]:
        return tuple(chain.from_iterable(each.children for each in self.sessions))

    @property
    def child_rows(self) -> int:
        return sum(each.child_rows for each in self.sessions)


def import_file(
    database: Database,
    source: Path | str | BinaryIO,
    format: str | None = None,
    session: str | None = None,
    importers: Sequence[Importer] = BUILT_IN,
    progress: Progress | None = None,
) -> Imported:
    """Imports a session file; the same file again adds what it has grown by.

    `format` names the importer (else it is detected), `session` the target of its first conversation. A conversation
    that was continued here, or whose history changed, becomes a new session, and `note` says so. Raises NotFound for a
    missing file, Refused for an unknown format, a file without any row, or a target that is not this file's; Busy when
    somebody holds a session.
    """
    with opened(source) as file:
        importer = named(format, importers) if format else detect(file.head(), importers, file.broken)
        return _Import(database, file, importer, session, progress).run()


class _Import:
    """One import: a pass that compares what is here with the file, and one that writes, as far as either is needed."""

    def __init__(
        self,
        database: Database,
        file: SessionFile,
        importer: Importer,
        target: str | None,
        progress: Progress | None,
    ) -> None:
        self._database = database
        self._file = file
        self._importer = importer
        self._target = target
        self._progress = progress
        self._relations = Relations(as_name(file.name) or "import")
        self._pass = Pass()
        self._notes: list[str] = []

    def run(self) -> Imported:
        items = self._items()
        head = self._until_a_row(items)
        name = head[-1].ref.session if isinstance(head[-1], Row) else ""
        writing = Writing(self._database, self._importer.format, self._relations, self._target)
        given = self._given(name)
        if given is None:
            writing.run(chain(head, items))
        else:
            self._catch_up(writing, chain(head, items), {name: given})
        if writing.deferred:
            self._catch_up(writing, self._items(), {})
        return self._report(writing)

    def _items(self) -> Iterator[Row | SessionFacts]:
        """A new pass over the file."""
        self._pass = Pass()
        return self._file.items(self._importer, self._pass, self._progress)

    def _until_a_row(self, items: Iterator[Row | SessionFacts]) -> list[Row | SessionFacts]:
        head: list[Row | SessionFacts] = []
        for item in items:
            head.append(item)
            if isinstance(item, Row):
                return head
            self._relations.learn(item)
        raise Refused(_nothing(self._file, self._importer, self._pass.skipped))

    def _given(self, name: str) -> Origin | None:
        """The session into which the file was imported before. Raises Refused for a target that is another's."""
        source = source_of(self._importer.format, self._relations.full(self._relations.root(name)))
        with self._database.read() as reader:
            if self._target is None:
                return imported_from(reader, source)
            try:
                find(reader, self._target)
            except NotFound:
                return None
            found = origin(reader, self._target)
        if found is None or found.source != source:
            raise Refused(f"session {self._target} was not imported from this file; nothing was imported; name another")
        return found

    def _catch_up(self, writing: Writing, items: Iterable[Row | SessionFacts], given: Mapping[str, Origin]) -> None:
        """Compares what is here, then writes what is not."""
        with self._database.read() as reader:
            matches = Comparison(reader, self._importer.format, self._relations, given).run(items)
        for root, differs in matches.differs.items():
            if self._target is not None and root in given:
                raise Refused(
                    f"session {self._target} {differs.reason}; nothing was imported;"
                    " leave --session out to import it anew"
                )
            self._notes.append(f"session {differs.origin.session} {differs.reason}, so this is a new session")
        writing.admit(matches)
        if matches.grown or matches.differs:
            writing.run(self._items(), matches.settled)

    def _report(self, writing: Writing) -> Imported:
        families: dict[str, list[Target]] = {}
        for name, target in writing.targets.items():
            root = self._relations.root(name)
            families.setdefault(root, [])
            if name == root:
                families[root].insert(0, target)
            else:
                families[root].append(target)
        with self._database.read() as reader:
            totals = {listed.session.id: listed for listed in listing(reader)}
        if warning := self._pass.pairing.warning(self._importer.format):
            self._notes.append(warning)
        return Imported(
            format=self._importer.format,
            sessions=tuple(
                ImportedSession(
                    session=main.session,
                    rows=main.added,
                    already=main.held - main.added,
                    turns=totals[main.session].turns,
                    tokens=totals[main.session].tokens,
                    children=tuple(child.session for child in children),
                    child_rows=sum(child.added for child in children),
                )
                for main, *children in families.values()
            ),
            skipped=tuple(self._pass.skipped),
            calls=self._pass.pairing.calls,
            unanswered=self._pass.pairing.unanswered,
            note="; ".join(self._notes),
        )


def _nothing(file: SessionFile, importer: Importer, skipped: Sequence[Skipped]) -> str:
    first = ""
    if skipped:
        first = f" ({f'line {skipped[0].line}: ' if skipped[0].line else ''}{skipped[0].reason})"
    return f"{file.name} holds no row of format {importer.format}{first}; nothing was imported"
