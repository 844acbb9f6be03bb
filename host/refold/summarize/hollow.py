"""Whether a summary tells anything of what it is to replace: "ok", "Sure! How can I help?" and error pages do not.

One measure for all of them. A text scores by what it shares with its material: three for each name or figure that both
hold (`main-new.ts`, `WP13`, `10.34.7.19`), one for each longer word, a half for each pair of characters of a script
that is written without spaces. Words of the instructions score nothing, since every answer to them may use them. How
much is asked for grows slowly with what the material holds, by its compressed size, so that repeats count once.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable

from attrs import frozen

from refold.summarize.lazy import Lazy

TERMS = 120
"""How many terms of a kind are looked for; of more, a sample that is spread evenly."""

STEM = 5
"""Letters of a word that are looked for: the rest of it changes with grammar in most languages."""

FOREIGN = 0.25
"""What a word scores that the material lacks, in a text of another language."""

TINY = 300
"""Bytes up to which a material does not tell its language."""

MOST = 12.0
"""What is asked for of the largest materials."""

SAMPLE = 1_000_000
"""Characters of a material whose compressed size is taken: more would not raise what is asked for."""

_NAME = Lazy(r"[A-Za-z0-9_](?:[A-Za-z0-9_./:@#+-]*[A-Za-z0-9_])?")
_TELLING = Lazy(r"[0-9_]|[a-z][A-Z]|[A-Za-z][./:@][A-Za-z]")
_DENSE = Lazy(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_WORD = Lazy(r"(?:[^\W\d_]|[\u0300-\u036f\u064b-\u0655\u0900-\u0dff])+|\d{2,}")  # with marks that are no letters


@frozen
class Terms:
    """What of a text can be looked for, all case-folded.

    `names` and figures as they are, `words` by their first letters, `pairs` of characters of scripts without spaces.
    `glue` are the short words and single characters that every text of a language uses.
    """

    names: tuple[str, ...]
    words: tuple[str, ...]
    pairs: tuple[str, ...]
    glue: tuple[str, ...]

    def within(self, material: str) -> frozenset[str]:
        """Those that stand in a case-folded material."""
        return frozenset(each for each in (*self.names, *self.words, *self.pairs) if each in material)

    def score(self, shared: frozenset[str], foreign: bool) -> float:
        """What sharing those terms is worth.

        A text in another language than its material shares few words with it. Then those it does not share count
        too, though far less: a long account in English of a talk in Thai is one, a greeting in English is none.
        """
        names, words, pairs = (sum(each in shared for each in kind) for kind in (self.names, self.words, self.pairs))
        score = 3.0 * names + words + 0.5 * pairs
        if foreign:
            score += FOREIGN * (len(self.words) - words + 0.25 * (len(self.pairs) - pairs))
        return score

    def foreign(self, material: str) -> bool:
        """Whether the text is in a language that the case-folded material is not in: it lacks the short words."""
        if len(material[:TINY].encode("utf-8", "surrogatepass")) < TINY or len(self.glue) < 4:
            return False
        known = sum((each if _DENSE.match(each) else f" {each} ") in material for each in self.glue)
        return known * 4 < len(self.glue)


def hollow(text: str, history: str, *, previous: str = "", carried: str = "", instructions: str = "") -> bool:
    """Whether a text is no summary of the newly evicted history and the summary before it.

    It must tell something of each, and enough of both together. `carried` are lines that the host keeps beside every
    summary, so a text need not tell of them; `instructions` is what the writer was asked. Linear in each of them.
    """
    found = terms(text, instructions)
    new, old = history.casefold(), previous.casefold()
    due, before = asked(_without(history, carried)), asked(previous)
    of_new, of_old = found.within(new), found.within(old)
    foreign = found.foreign(f"{new}\n{old}")
    if found.score(of_new, foreign) < due / 3 or found.score(of_old, foreign) < before / 3:
        return True
    return found.score(of_new | of_old, foreign) < max(due, before)


def terms(text: str, instructions: str = "") -> Terms:
    """What of a text can be looked for in its material; words that stand in the instructions are left out.

    >>> found = terms("We moved load_rates to core/rates.py; 12,417 rows")
    >>> found.names, found.words, found.glue
    (('load_rates', 'core/rates.py'), ('moved', '12', '417', 'rates'), ('we', 'to', 'rows'))
    """
    common = instructions.casefold()
    names = (found[0] for found in _NAME.finditer(text) if len(found[0]) > 3 and _TELLING.search(found[0]))
    folded = text.casefold()
    dense = [found[0] for found in _DENSE.finditer(folded)]
    spaced = [found[0] for found in _WORD.finditer(_DENSE.sub(" ", folded))]
    pairs = (run[at : at + 2] for run in dense for at in range(len(run) - 1))
    words = (word[:STEM] for word in spaced if _long(word))
    glue = (*(word for word in spaced if word.isalpha() and len(word) < STEM), *(char for run in dense for char in run))
    return Terms(
        _sample(name.casefold() for name in names),
        _sample(word for word in words if word not in common),
        _sample(pair for pair in pairs if pair not in common),
        _sample(glue),
    )


def asked(material: str) -> float:
    """The score that a summary of that material must reach; none for what hardly says anything.

    >>> [asked("yes, go on"), round(asked("".join(map(str, range(500)))), 1)]
    [0.0, 2.6]
    """
    size = len(zlib.compress(material[:SAMPLE].encode("utf-8", "surrogatepass"), 1))
    return min(MOST, 0.5 * math.sqrt(math.sqrt(size))) * min(1.0, max(0, size - 64) / 448)


def _long(word: str) -> bool:
    """Figures are, and words of scripts without vowels, which have no upper case either."""
    return len(word) > 3 if word.upper() != word else len(word) > 2 or word.isdigit()


def _sample(found: Iterable[str]) -> tuple[str, ...]:
    distinct = tuple(dict.fromkeys(found))
    return distinct[:: -(-len(distinct) // TERMS)] if distinct else ()


def _without(history: str, carried: str) -> str:
    return "\n".join(line for line in history.splitlines() if not line.strip() or line.strip() not in carried)
