"""Whether stored sessions hold what a file says: row by row, in one snapshot, without writing.

A file that was imported before may be the same, longer (its agent went on), or another one under the same name (its
agent rewound). A stored session may have been continued here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from attrs import define, evolve, field, frozen

from refold.importers.relations import Relations, source_of
from refold.transcript.database import Reader
from refold.transcript.encoding import legible_row
from refold.transcript.images import stored_key
from refold.transcript.rows import PAGE, last_seq, load_sources
from refold.transcript.sessions import find
from refold.transcript.state import Origin, imported_from
from refold.values.rows import Row
from refold.values.tools import SessionFacts

NAMING = frozenset({"spawned", "joined", "excursion"})
"""Event rows whose text is the name of a child session."""


@frozen
class Differs:
    """A conversation that cannot go on in its stored session, and why, in words that follow the session's name."""

    origin: Origin
    reason: str


@frozen
class Matches:
    """What a file's conversations and their children are here. Names are the file's own.

    `known`: the stored session of each name, and how many rows of it are here. `grown`: conversations of which the file
    has more; `settled`: those of which it has no more.
    """

    known: Mapping[str, Origin]
    grown: Set[str]
    settled: Set[str]
    differs: Mapping[str, Differs]


@define
class _Compared:
    """One stored session, read along the file."""

    origin: Origin
    total: int
    seen: int = 0
    _page: list[Row] = field(factory=list)

    def next(self, reader: Reader) -> Row:
        at = self.seen % PAGE
        if at == 0:
            self._page = load_sources(reader, self.origin.session, self.seen, self.seen + PAGE)
        self.seen += 1
        return self._page[at]


class Comparison:
    """Holds the rows of a file against the sessions into which it was imported once."""

    def __init__(self, reader: Reader, format: str, relations: Relations, given: Mapping[str, Origin]) -> None:
        """`given` are stored sessions that are to be taken for conversations of the file, whatever is known of them."""
        self._reader = reader
        self._format = format
        self._relations = relations
        self._stored: dict[str, _Compared | None] = {}
        self._grown: set[str] = set()
        self._roots: set[str] = set()
        self._differs: dict[str, Differs] = {}
        for name, origin in given.items():
            self._stored[name] = _Compared(origin, last_seq(reader, origin.session))

    def run(self, items: Iterable[Row | SessionFacts]) -> Matches:
        """Reads all items of the file."""
        for item in items:
            if isinstance(item, SessionFacts):
                self._relations.learn(item)
            else:
                self._row(item)
        known = {
            name: place.origin
            for name, place in self._stored.items()
            if place is not None and self._relations.root(name) not in self._differs
        }
        settled = self._roots - self._grown - self._differs.keys()
        return Matches(known, self._grown - self._differs.keys(), settled, self._differs)

    def _row(self, row: Row) -> None:
        name = row.ref.session
        root = self._relations.root(name)
        if root in self._differs:
            return
        self._roots.add(root)
        first = self._place(root)
        if row.event in NAMING and self._relations.names_child(root, row.text):
            self._place(row.text)
        place = self._place(name)
        if place is None:
            self._grown.add(root)
        elif first is None:
            raise AssertionError("a child is known only where its conversation is")
        elif place.seen < min(place.origin.rows, place.total):
            if not self._is_equal(place.next(self._reader), row):
                self._differs[root] = Differs(first.origin, "holds another history under the same name")
        elif place.total > place.origin.rows:
            self._differs[root] = Differs(first.origin, "was continued here")
        else:
            self._grown.add(root)

    def _place(self, name: str) -> _Compared | None:
        if name not in self._stored:
            origin = imported_from(self._reader, source_of(self._format, self._relations.full(name)))
            above = self._relations.parent(name)
            if origin is not None and above is not None:
                place = self._place(above)
                if place is None or find(self._reader, origin.session).parent != place.origin.session:
                    origin = None
            self._stored[name] = _Compared(origin, last_seq(self._reader, origin.session)) if origin else None
        return self._stored[name]

    def _is_equal(self, kept: Row, given: Row) -> bool:
        """Whether a stored row is what the given one became. Sizes of pictures are read from their bytes, so equal
        keys do; a child that is gone may have had any name here."""
        text = given.text
        if given.event in NAMING:
            place = self._stored.get(text)  # None for a name that means no session of this file
            text = place.origin.session if place else kept.text
        opens = given.opens and given.kind != "event"
        expected = legible_row(evolve(given, text=text), kept.ref, kept.turn, kept.step, opens, kept.images)
        return expected == kept and [stored_key(image) for image in given.images] == [
            image.key for image in kept.images
        ]
