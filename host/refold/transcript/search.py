"""Finds text in a session: literally, without regard to case, in the order of the rows.

Two texts are equal without regard to case when their Unicode casefolds are equal (`ß` and `ss`, `İ` and `i̇`). SQLite's
LIKE folds ASCII alone, so it only sorts out rows that cannot match, by the folding class of a body (encoding.py), and
Python decides. Nothing is normalized: `é` as one character and as two are different texts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from attrs import frozen

from refold.transcript.database import BEYOND, Reader, clipped
from refold.transcript.encoding import FOLDING_FULL, FOLDING_NUL, FOLDING_PLAIN, FOLDING_SIMPLE, legible
from refold.transcript.sessions import find
from refold.values.errors import NotFound, Refused
from refold.values.rows import RowRange

SNIPPET = 160
"""Characters of a snippet at most."""
_PATTERN = 200  # characters of the text that LIKE looks for; the rest is Python's
# ASCII letters that the casefold of some character outside ASCII holds; a test walks all of Unicode.
_AMBIGUOUS_ASCII = frozenset("afhijklnstwy")


@frozen
class Hit:
    """A row that holds the text, and one line around its first place."""

    seq: int
    snippet: str


def search(
    reader: Reader, session: str, text: str, after: int = 0, limit: int = 20, within: RowRange | None = None
) -> list[Hit]:
    """The first `limit` rows after seq `after` that contain `text`, in their own text or in names and arguments of
    their calls. The seq of the last hit is the next page's `after`.

    Raises NotFound for an unknown session, Refused for an empty text.
    """
    key = find(reader, session).key
    if not text:
        raise Refused("an empty text is in every row; nothing was searched; give at least one character")
    after, upto = clipped(after), BEYOND
    if within is not None:
        if within.session != session:
            raise NotFound(f"rows of session {within.session} are not in session {session}; nothing was searched")
        after, upto = max(after, within.after), within.upto
    needle = legible(text).casefold()
    hits: list[Hit] = []
    if limit <= 0 or after >= upto:
        return hits
    for seq, own, calls in _candidates(reader, key, needle, after, upto):
        snippet = snippet_around(own, needle)
        if snippet is None and calls:
            snippet = snippet_around(calls, needle)
        if snippet is not None:
            hits.append(Hit(seq, snippet))
            if len(hits) == limit:
                break
    return hits


def snippet_around(text: str, needle: str) -> str | None:
    """One line of `text` around the first place of the casefolded `needle`; None when it is not there."""
    folded = text.casefold()
    at = folded.find(needle)
    if at < 0:
        return None
    if len(folded) != len(text):
        at = _unfolded(text, at)
    start = max(0, at - (SNIPPET - min(len(needle), SNIPPET)) // 3)
    words = "".join(char if char.isprintable() else " " for char in text[start : start + SNIPPET * 2])
    line = " ".join(words.split())
    room = SNIPPET - (start > 0)
    if len(line) > room or start + SNIPPET * 2 < len(text):
        line = line[: room - 1] + "…"
    return ("…" if start > 0 else "") + line


def _candidates(reader: Reader, key: int, needle: str, after: int, upto: int) -> Iterator[tuple[int, str, str | None]]:
    """Rows that may hold the needle: none that does is missing."""
    if "\0" in needle:  # LIKE ends at a NUL
        classes, values = f"b.folding={FOLDING_NUL}", []
    elif needle.isascii():
        loose = f"b.folding={FOLDING_FULL} AND {_like(2)}"
        classes = f"(b.folding<={FOLDING_SIMPLE} AND {_like(1)}) OR ({loose}) OR b.folding={FOLDING_NUL}"
        values = [_escaped(needle[:_PATTERN]), _loose_pattern(needle)]
    else:
        classes = f"(b.folding>{FOLDING_PLAIN} AND {_like(1)}) OR b.folding={FOLDING_NUL}"
        values = [_loose_pattern(needle)]
    n = len(values)
    return reader.each(
        "SELECT r.seq, b.text, b.calls FROM refold_row r CROSS JOIN refold_body b ON b.id=r.body"
        f" WHERE r.session=?{n + 1} AND r.seq>?{n + 2} AND r.seq<=?{n + 3} AND ({classes}) ORDER BY r.seq",
        *values,
        key,
        after,
        upto,
    )


def _like(n: int) -> str:
    return f"(b.text LIKE ?{n} ESCAPE '\\' OR b.calls LIKE ?{n} ESCAPE '\\')"


def _escaped(text: str) -> str:
    return "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"


def _loose_pattern(needle: str) -> str:
    """The needle with everything left open that another character could fold to."""
    parts = "".join(char if _only_itself(char) else "\0" for char in needle[:_PATTERN]).split("\0")
    return "%".join(["", *(_escaped(part)[1:-1] for part in parts if part), ""]) or "%"


def _only_itself(char: str) -> bool:
    """Whether no character but this one (and its other ASCII case, which LIKE knows) has it in its casefold."""
    if char.isascii():
        return char not in _AMBIGUOUS_ASCII
    caseless = char == char.lower() == char.upper() == char.casefold()
    return caseless and not unicodedata.combining(char) and unicodedata.category(char) != "Lm"


def _unfolded(text: str, at: int) -> int:
    """The index in `text` of the character that gave the casefold's character `at`."""
    for index, char in enumerate(text):
        at -= len(char.casefold())
        if at < 0:
            return index
    return len(text)
