"""What users said in rows that left the view: their lines, word for word, each with its row, oldest first.

No line leaves because another one exists: a later one wins because it stands later, and the frame says so. Only when
all of them do not fit are they ranked, and the text then says how many are left out, of which rows, and where they can
be read. Of exact repeats the last one counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from attrs import evolve, frozen

from refold.sizing.estimate import tokens
from refold.summarize.clip import sound
from refold.summarize.lazy import Lazy
from refold.summarize.user_text import typed
from refold.values.rows import Row

PIECE = 600
"""Characters of one line once lines are ranked: longer ones are ranked a sentence at a time."""

RANKED_PERCENT = 75
"""What ranked lines take of their room, in percent; so the next ranking, which changes what was sent, is far off."""

CHOSEN_PERCENT = 50
"""What of that a model's choice may fill; the rest is given by the ranking, whatever a model says."""

SCRAP = 12
"""Raw tokens that are not worth a look for a line that would fit."""

TOLD = 60_000
"""Characters, the newest, that are offered to lede."""

SPANS = 100
"""Ranges of rows by which lines left out are told apart; beyond, neighbours are told together."""

_SENTENCE = Lazy(r"(?<=[.!?…])\s+|(?<=[。！？；])")
# How people say that something lasts or binds. They only rank; nothing is dropped for the want of them.
_CUES = Lazy(
    r"\b(?:never|always|must|mustn't|shall|only|do not|don't|avoid|ensure|make sure|from now on|going forward|every"
    r"|each|unless|until|before you|at most|at least|no more than|less than|maximum|minimum|limit|budget|deadline|rule"
    r"|policy|required?|forbidden|not allowed|prefer|instead|goal|remember|important|approve|ask me|stop|keep"
    r"|nie(?:mals)?|immer|nur|muss|müssen|darf|dürfen|kein(?:e[nmrs]?)?|bitte|höchstens|mindestens|verboten|ab jetzt"
    r"|jamais|toujours|seulement|ne pas|doit|doivent|interdit|au plus|au moins|désormais|règle"
    r"|nunca|siempre|sólo|solo|debe[ns]?|prohibido|como máximo|al menos|a partir de ahora|regla"
    r"|mai|sempre|soltanto|deve|devono|vietato|al massimo|almeno|d'ora in poi|regola"
    r"|apenas|deve[mn]?|proibido|no máximo|pelo menos|nooit|altijd|alleen|moet|verboden"
    r"|никогда|всегда|только|нельзя|обязательно|не более|правило)\b"
    r"|不要|不得|必须|禁止|永远|总是|最多|至少|只能|絶対|必ず|常に|しないで|だけ|ない(?:で|こと)|항상|절대|금지",
)  # searched in lower case, which costs a third of ignoring case
_EXACT = Lazy(r"\d|[`@#/\\_]|\w[-.:]\w")


@frozen
class Line:
    """One line of the user row `seq`. `typed` is false for the marker of a paste."""

    seq: int
    text: str
    typed: bool = True

    def render(self) -> str:
        """The line behind its row's number. Nothing in it can begin a line, so nothing in it can pass for another
        row, or for the frame."""
        return f"{self.seq}: {self.text}"


@frozen
class Span:
    """So many lines of the rows `first` to `last` that are left out."""

    first: int
    last: int
    count: int


@frozen
class Kept:
    """The lines that stand, oldest first, and those that are left out for want of room."""

    lines: tuple[Line, ...] = ()
    left: tuple[Span, ...] = ()

    def within(self, ranges: Collection[tuple[int, int]]) -> Kept:
        """What of it belongs to rows of the ranges (after, upto)."""

        def holds(seq: int) -> bool:
            return any(after < seq <= upto for after, upto in ranges)

        lines = tuple(line for line in self.lines if holds(line.seq))
        return Kept(lines, tuple(span for span in self.left if holds(span.first)))

    def size(self) -> int:
        """Raw tokens of the lines."""
        return tokens("\n".join(line.render() for line in self.lines))

    def render(self, where: str) -> str:
        """The lines as they stand in a request; empty when there are none. `where` says how the ones left out can be
        read."""
        if not self.lines and not self.left:
            return ""
        lines = [
            "[users' own words, each line behind its row's number; a later line wins]",
            *(line.render() for line in _last_of_each(self.lines)),
        ]
        if self.left:
            count = sum(span.count for span in self.left)
            rows = ", ".join(_rows(span) for span in self.left[:3])
            rows += f" and later up to {self.left[-1].last}" if len(self.left) > 3 else ""
            noun = "line" if count == 1 else "lines"
            lines.append(f"[{count:,} {noun} of {rows} left out for want of room; {where}]")
        return "\n".join([*lines, "[end of users' own words]"])


@frozen
class Choice:
    """What a model says of lines when they do not fit: which to keep, and which a later one replaces."""

    keep: frozenset[Line] = frozenset()
    superseded: frozenset[Line] = frozenset()


NO_CHOICE = Choice()


def lines_of(rows: Iterable[Row]) -> Iterator[Line]:
    """The lines of user rows, oldest first. Rows in which nobody wrote a line yield none."""
    for row in rows:
        if row.kind == "user":
            for text, by_hand in typed(sound(row.text)):
                yield Line(row.ref.seq, text, by_hand)


def crowded(kept: Kept, room: int) -> Sequence[Line]:
    """The lines among which a choice must be made, long ones a sentence at a time; none where all fit into `room` raw
    tokens, exact repeats left out."""
    return () if kept.size() <= room else _dense(kept.lines, room)[1]


def fitting(kept: Kept, room: int, choice: Choice = NO_CHOICE) -> Kept:
    """What fits into `room` raw tokens: everything where it does, else the best of it by a model's choice and by
    rank."""
    if kept.size() <= room:
        return kept
    unrepeated, pieces = _dense(kept.lines, room)
    if not pieces:
        return evolve(kept, lines=unrepeated)
    room = room * RANKED_PERCENT // 100
    # A replaced line goes behind all others; it leaves only where room is short.
    order = sorted(ranked(pieces), key=lambda at: pieces[at] in choice.superseded)
    chosen: set[int] = set()
    wanted = [at for at in order if pieces[at] in choice.keep]
    used = _fill(pieces, wanted, room * CHOSEN_PERCENT // 100, 0, chosen)
    _fill(pieces, order, room, used, chosen)
    left = [Span(piece.seq, piece.seq, 1) for at, piece in enumerate(pieces) if at not in chosen]
    return Kept(tuple(pieces[at] for at in sorted(chosen)), _spans([*kept.left, *left]))


def _dense(lines: Sequence[Line], room: int) -> tuple[tuple[Line, ...], Sequence[Line]]:
    """The lines without repeats where those fit; else also without repeated sentences; and the pieces to choose from
    where not even those fit."""
    once = _last_of_each(lines)
    if Kept(tuple(once)).size() <= room:
        return tuple(once), ()
    pieces = _last_of_each(list(pieces_of(once)))
    if Kept(tuple(pieces)).size() <= room:
        return tuple(pieces), ()
    return (), pieces


def pieces_of(lines: Iterable[Line]) -> Iterator[Line]:
    """The lines, long ones a sentence at a time, and a sentence without end in parts of PIECE characters."""
    for line in lines:
        if len(line.text) <= PIECE // 2:
            yield line
            continue
        for sentence in _SENTENCE.split(line.text):
            start = 0
            while len(sentence) - start > PIECE:
                cut = sentence.rfind(" ", start + PIECE // 2, start + PIECE)
                cut = start + PIECE if cut < 0 else cut
                yield Line(line.seq, sentence[start:cut], line.typed)
                start = cut + (sentence[cut] == " ")
            if sentence[start:]:
                yield Line(line.seq, sentence[start:], line.typed)


def ranked(lines: Sequence[Line]) -> list[int]:
    """Places of the lines, the worthiest first: words that bind, the first and the newest rows, exact names and
    figures, what says most (by lede), where a row begins and ends; among equals the newest."""
    telling = _telling(lines)
    rows = sorted({line.seq for line in lines})
    edge = {*rows[:1], *rows[-3:]}

    def worth(at: int) -> tuple[int, int]:
        line = lines[at]
        outer = at < 2 or at >= len(lines) - 2 or len({lines[near].seq for near in range(at - 2, at + 3)}) > 1
        points = 4 * bool(_CUES.search(line.text.lower())) + 2 * (line.seq in edge) + bool(_EXACT.search(line.text))
        points += (line.text in telling) + outer - (len(line.text) < 8) - 8 * (not line.typed)
        return points, at

    return sorted(range(len(lines)), key=worth, reverse=True)


def _telling(lines: Sequence[Line]) -> frozenset[str]:
    from lede import summarize  # here, so that importing this costs nothing

    text = "\n".join(line.text for line in lines if line.typed)[-TOLD:]
    if not text.strip():
        return frozenset()
    return frozenset(each for each in str(summarize(text, max(500, len(text) // 4)).summary).split("\n"))


def _last_of_each(lines: Sequence[Line]) -> list[Line]:
    """The lines without those that are repeated later word for word, whatever their row."""
    last = {line.text: at for at, line in enumerate(lines)}
    return [line for at, line in enumerate(lines) if not line.typed or last[line.text] == at]


def _fill(lines: Sequence[Line], order: Iterable[int], room: int, used: int, chosen: set[int]) -> int:
    """Chooses lines in that order as long as they fit, and returns the tokens used."""
    for at in order:
        if room - used < SCRAP:
            break
        if at not in chosen:
            size = tokens(lines[at].render() + "\n")
            if used + size <= room:
                used += size
                chosen.add(at)
    return used


def _spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The spans in order, those of one row or of overlapping rows in one, and at most SPANS of them."""
    joined: list[Span] = []
    for span in sorted(spans, key=lambda span: span.first):
        if joined and span.first <= joined[-1].last:
            before = joined[-1]
            joined[-1] = Span(before.first, max(before.last, span.last), before.count + span.count)
        else:
            joined.append(span)
    while len(joined) > SPANS:
        joined = [
            Span(pair[0].first, pair[-1].last, sum(each.count for each in pair))
            for pair in (joined[at : at + 2] for at in range(0, len(joined), 2))
        ]
    return tuple(joined)


def _rows(span: Span) -> str:
    return f"row {span.first}" if span.first == span.last else f"rows {span.first}-{span.last}"
