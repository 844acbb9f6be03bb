"""Whether a stored session holds what a file says: row by row, in one snapshot, without writing.

A file that was imported before may be the same, longer (its agent went on), or another one under the same name (its
agent rewound). The stored session may have been continued here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import define, evolve, field, frozen

from refold.transcript.database import Reader
from refold.transcript.encoding import legible_row
from refold.transcript.images import stored_key
from refold.transcript.rows import PAGE, last_seq, load_sources
from refold.transcript.sessions import find
from refold.transcript.state import Origin, imported_from
from refold.values.rows import Row

NAMING = frozenset({"spawned", "joined", "excursion"})
"""Event rows whose text is the name of a child session."""


@frozen
class Matched:
    """The file agrees with what is stored: `known` says which session holds how many rows of each name in the file."""

    known: Mapping[str, Origin]
    grown: bool


@frozen
class Differs:
    """The file cannot go into the session, and why, in words that follow the session's name."""

    reason: str


def source_of(format: str, name: str) -> str:
    """How a foreign session is remembered. Names are only unique within a format."""
    return f"{format}:{name}"


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


def compare(reader: Reader, format: str, main: str, origin: Origin, rows: Iterable[Row]) -> Matched | Differs:
    """Compares the rows of a file with the session `origin`, into which its session `main` was imported once."""
    stored: dict[str, _Compared] = {main: _Compared(origin, last_seq(reader, origin.session))}
    absent: set[str] = set()
    grown = False
    for row in rows:
        if row.event in NAMING:
            _look_up(reader, format, row.text, stored, absent)
        name = row.ref.session
        _look_up(reader, format, name, stored, absent)
        if name in absent:
            grown = True
            continue
        place = stored[name]
        if place.seen < min(place.origin.rows, place.total):
            if not _equal(place.next(reader), row, stored):
                return Differs("holds another history under the same name")
        elif place.total > place.origin.rows:
            return Differs("was continued here")
        else:
            grown = True
    return Matched({name: place.origin for name, place in stored.items()}, grown)


def _look_up(reader: Reader, format: str, name: str, stored: dict[str, _Compared], absent: set[str]) -> None:
    if name in stored or name in absent:
        return
    origin = imported_from(reader, source_of(format, name))
    siblings = {place.origin.session for place in stored.values()}
    if origin is not None and find(reader, origin.session).parent in siblings:
        stored[name] = _Compared(origin, last_seq(reader, origin.session))
    else:
        absent.add(name)


def _equal(kept: Row, given: Row, stored: Mapping[str, _Compared]) -> bool:
    """Whether a stored row is what the given one became. Sizes of pictures are read from their bytes, so equal keys
    do; a child that is gone may have had any name here."""
    text = given.text
    if given.event in NAMING:
        text = stored[text].origin.session if text in stored else kept.text
    opens = given.opens and given.kind != "event"
    expected = legible_row(evolve(given, text=text), kept.ref, kept.turn, kept.step, opens, kept.images)
    return expected == kept and [stored_key(image) for image in given.images] == [image.key for image in kept.images]
