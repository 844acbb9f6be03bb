"""What users said in rows that a request does not show, beside whatever the strategy shows in their place.

The lines come from the durable rows. No strategy carries them and no summarizer writes them, so none can lose or change
one. What was chosen is stored with the session, so that a request costs what it holds and not what the session ever
held; without that state the lines are read from the rows again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import orjson
from attrs import define, evolve, field, frozen

from refold.registry.settings import CompactionSettings
from refold.summarize.user_lines import NO_CHOICE, Choice, Kept, Line, Span, crowded, fitting, lines_of
from refold.transcript.history import StoredHistory
from refold.values.inputs import Note, Rows, Section
from refold.values.messages import ToolSpec

FORMAT = 1

UNKNOWN = 32_000
"""Tokens of a window that nobody knows, as far as the room for users' lines goes."""

SMALL = 8_000
"""Tokens of the smallest window of which users' lines may take a quarter."""

Range = tuple[int, int]
"""Rows with `after < seq <= upto`."""

Ranges = tuple[Range, ...]

FRAME = 40
"""Raw tokens of the lines around what users said, and of the one that says how much is left out."""

READER = "transcript_read"
"""The tool that reads a row by its number, where an extension offers it."""


def room(window: int | None, settings: CompactionSettings) -> int:
    """Raw tokens that users' lines may take in a request: their share, and at most a quarter of the window; less of a
    window below SMALL, since system prompt and tools take more of it. It follows the window alone: an estimate that
    is corrected from answer to answer must not change what was sent.

    >>> [room(window, CompactionSettings()) for window in (4_000, 8_000, 32_000, 128_000, 1_000_000)]
    [500, 2000, 3200, 12800, 16384]
    """
    whole = UNKNOWN if window is None else window
    share = min(settings.user_lines_most, max(settings.user_lines_least, whole * settings.user_lines_percent // 100))
    return min(share, whole * min(whole, SMALL) // SMALL // 4)


@frozen
class Stored:
    """The lines that stand for the user rows of `ranges`, as they were chosen for a room of so many raw tokens."""

    room: int
    ranges: Ranges
    kept: Kept

    def dump(self) -> str:
        """As JSON."""
        lines = [[line.seq, line.text] if line.typed else [line.seq, line.text, 0] for line in self.kept.lines]
        left = [[span.first, span.last, span.count] for span in self.kept.left]
        body = {"format": FORMAT, "room": self.room, "ranges": self.ranges, "lines": lines, "left": left}
        return orjson.dumps(body).decode()

    @classmethod
    def load(cls, body: str | None) -> Stored | None:
        """What was dumped; None where there is nothing, or something else: then the rows are read again."""
        try:
            found = orjson.loads(body or "null")
            if found is None or found["format"] != FORMAT:
                return None
            lines = tuple(Line(int(seq), str(text), not pasted) for seq, text, *pasted in found["lines"])
            left = tuple(Span(*map(int, span)) for span in found["left"])
            ranges = tuple((int(after), int(upto)) for after, upto in found["ranges"])
            return cls(int(found["room"]), ranges, Kept(lines, left))
        except (TypeError, ValueError, KeyError, AttributeError):
            return None


@define(eq=False)
class UserLines:
    """The lines of one session in one preparation. `room` is raw tokens; 0: none are shown. `tools` are those that the
    request offers."""

    history: StoredHistory
    room: int
    tools: Collection[ToolSpec]
    stored: Stored | None = None
    _known: dict[Ranges, Kept] = field(factory=dict)
    _read: dict[int, tuple[Line, ...]] = field(factory=dict)

    def complete(self, sections: Sequence[Section]) -> tuple[Section, ...]:
        """The sections, each that stands for rows with what users said in them behind it.

        Rows for which an earlier section stands are left out, and so is a line that a recap or a shortened row shows as
        it is.
        """
        parts = self._parts(sections)
        if not parts:
            return tuple(sections)
        kept = self.standing(_joined(each for ranges in parts.values() for each in ranges))
        shown = _shown(sections)
        where = self._where(kept)
        completed = list(sections)
        for at, ranges in parts.items():
            part = kept.within(ranges)
            lines = tuple(line for line in part.lines if not any(line.text in text for text in shown(line.seq)))
            text = evolve(part, lines=lines).render(where)
            if text:
                completed[at] = _with_words(sections[at], text)
        return tuple(completed)

    def state(self, sections: Sequence[Section]) -> Stored | None:
        """What is to be stored of a request with these sections; None: it stands for no row."""
        ranges = _joined(each for part in self._parts(sections).values() for each in part)
        return Stored(self.room, ranges, self.standing(ranges)) if ranges else None

    def standing(self, ranges: Ranges, choice: Choice = NO_CHOICE) -> Kept:
        """The lines of the user rows in these ranges, within the room."""
        if choice is NO_CHOICE and ranges in self._known:
            return self._known[ranges]
        base = self._base(ranges)
        unchanged = base.ranges == ranges and base.room == self.room
        self._known[ranges] = kept = base.kept if unchanged else fitting(self._all(ranges), self.room, choice)
        return kept

    def crowded(self, ranges: Ranges) -> Sequence[Line]:
        """The lines of these rows among which a choice must be made; none where all fit."""
        return crowded(self._all(ranges), self.room)

    def most(self, upto: int) -> int:
        """Raw tokens that the lines of rows up to `upto` may take, however they are folded, behind one section."""
        kept = self._all(((0, upto),)) if upto else Kept()
        return min(self.room, kept.size()) + FRAME if self.room and kept.lines else 0

    def _all(self, ranges: Ranges) -> Kept:
        """The stored lines, as far as they can be built on, and those of the other rows."""
        base = self._base(ranges)
        fresh = [line for each in _minus(ranges, base.ranges) for line in self._lines(each)]
        lines = sorted((*base.kept.lines, *fresh), key=lambda line: line.seq)
        return Kept(tuple(lines), base.kept.left)

    def folded(self, rows: Range) -> Ranges:
        """What a request stands for once these rows are folded too."""
        return _joined([*(self.stored.ranges if self.stored else ()), rows])

    def _base(self, ranges: Ranges) -> Stored:
        """What is stored, as far as it can be built on: it stands for no other rows, and what it left out would not
        find room now."""
        stored = self.stored
        if stored is None or _minus(stored.ranges, ranges) or (stored.kept.left and stored.room < self.room):
            return Stored(self.room, (), Kept())
        return stored

    def _lines(self, rows: Range) -> Iterator[Line]:
        for row in self.history.user_rows(*rows):
            seq = row.ref.seq
            if seq not in self._read:
                self._read[seq] = tuple(lines_of([row]))
            yield from self._read[seq]

    def _parts(self, sections: Sequence[Section]) -> dict[int, Ranges]:
        """Which rows each section stands for, by its place: those it covers, and user rows that it shows shortened."""
        if self.room <= 0:
            return {}
        inputs = [part for section in sections for part in section.inputs if isinstance(part, Rows)]
        shown = [(part.range.after, part.range.upto) for part in inputs]
        taken: list[Range] = []
        parts: dict[int, Ranges] = {}
        for at, section in enumerate(sections):
            ranges: list[Range] = []
            if section.covers is not None:
                covers = (section.covers.after, section.covers.upto)
                # A fold of another extension may reach into the first turn that is shown. Where a strategy shows what
                # it stands for once more, as behind a late result, what was sent before stays as it was.
                ranges += _minus((covers,), [*taken, *shown] if section.kind == "fold" else taken)
                taken.append(covers)
            elided = sorted(seq for part in section.inputs if isinstance(part, Rows) for seq in part.elide)
            ranges += [(seq - 1, seq) for seq in elided if self.history.kind(seq) == "user"]
            if ranges:
                parts[at] = _joined(ranges)
        return parts

    def _where(self, kept: Kept) -> str:
        if not kept.left:
            return ""
        first, session = kept.left[0].first, self.history.range.session
        if any(tool.name == READER for tool in self.tools):
            return f"{READER} with seq {first} shows the first of them"
        return f"the transcript has them: refold show {session} --after {first - 1}"


def _with_words(section: Section, text: str) -> Section:
    """The section with the text in its last note, or as a note behind whatever else it ends with."""
    *before, last = section.inputs or (None,)
    if isinstance(last, Note):
        return evolve(section, inputs=(*before, evolve(last, text=f"{last.text}\n\n{text}")))
    return evolve(section, inputs=(*section.inputs, Note(text)))


def _shown(sections: Sequence[Section]) -> Callable[[int], Sequence[str]]:
    """The words, white space collapsed, in which a section shows something of a row without showing it whole."""
    recaps: list[tuple[Range, str]] = []
    elided: dict[int, str] = {}
    for section in sections:
        if section.kind == "recap" and section.covers is not None:
            notes = " ".join(part.text for part in section.inputs if isinstance(part, Note))
            recaps.append(((section.covers.after, section.covers.upto), " ".join(notes.split())))
        for part in section.inputs:
            if isinstance(part, Rows):
                elided |= part.elide
    collapsed = {seq: " ".join(text.split()) for seq, text in elided.items()}

    def words(seq: int) -> Sequence[str]:
        found = [text for (after, upto), text in recaps if after < seq <= upto]
        return [*found, collapsed[seq]] if seq in collapsed else found

    return words


def _joined(ranges: Iterable[Range]) -> Ranges:
    """The ranges in order, those that touch in one; empty ones leave.

    >>> _joined([(6, 9), (0, 4), (4, 5), (7, 7)])
    ((0, 5), (6, 9))
    """
    joined: list[Range] = []
    for after, upto in sorted(ranges):
        if joined and after <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(upto, joined[-1][1]))
        elif after < upto:
            joined.append((after, upto))
    return tuple(joined)


def _minus(ranges: Iterable[Range], taken: Iterable[Range]) -> list[Range]:
    """What of the ranges is in none of the taken ones.

    >>> _minus([(0, 10)], [(2, 4), (8, 12)])
    [(0, 2), (4, 8)]
    """
    left = list(ranges)
    for start, end in taken:
        left = [
            piece
            for after, upto in left
            for piece in ((after, min(upto, start)), (max(after, end), upto))
            if piece[0] < piece[1]
        ]
    return left
