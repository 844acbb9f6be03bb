"""A user's words -> what they set for the whole session. Pure, deterministic, no model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from attrs import evolve, frozen

from refold.summarize import cues
from refold.summarize.cues import Kind
from refold.summarize.lazy import Lazy
from refold.summarize.sentences import sentences
from refold.summarize.shapes import MEASURE, directive, momentary, near_by, opinion, passing, past, reports
from refold.summarize.standing import KINDS, Item
from refold.summarize.words import sense, spoken

CODE = Lazy(
    r"`[^`\n]{2,80}`|\"[^\"\n]{3,80}\"|“[^”\n]{3,80}”|«[^»\n]{3,80}»"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{13,}\b|https?://[^\s)>\]]+|\b[\w.+-]+@[\w-]+\.[\w.]+\b"
    r"|\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{4,}(?:[./:#][\w-]+)*\b|\bv?\d+\.\d+(?:\.\d+)+\b|\b\d{4,}\b"
    r"|[€$£]\s?\d[\d.,]*"
    r"|(?:^|(?<=\s))[~.]?/[\w.-]+(?:/[\w.-]+)+|\b[\w-]+\.(?:py|ts|tsx|js|rs|go|java|c|h|cpp|md|json|ya?ml|toml"
    r"|sql|sh|html|css)\b"
    r"|\b[A-Z][A-Z0-9]+(?:[_-][A-Z0-9]+)+\b|#\d{2,}\b"
)
"""What must be kept to the letter: quoted words, identifiers, addresses, versions, amounts, paths."""

_QUESTION = Lazy(r"[?？]\s*[\"')\]]*$")
_ASKS_TO = Lazy(
    r"^(?:(?:ok|and|so|also|please|hey|hi)[,:]? )*(?:can|could|would|will) you\b|\bwould you mind\b|\bplease\b"
    r"|^(?:bitte|peux-tu|pourrais|puedes)",
    re.IGNORECASE,
)
_CLAUSE = Lazy(
    r"(?:[:,;–—]|\b(?:and|or)\b) (?:and )?(?:where|what|why|how|which|who|when|whether|is|are|was|were|does|did|has"
    r"|do (?:we|i|you|they|the)|can (?:we|i|it|they|this|that)|should (?:we|i|it)|must (?:we|i|it))\b",
    re.IGNORECASE,
)
_LABEL = Lazy(rf"^[*_]{{0,2}}({'|'.join(KINDS)})s?[*_]{{0,2}}\s?[:：][*_]{{0,2}}\s+(?=\S)", re.IGNORECASE)
"""The name of a kind in front of a sentence: it is what the line is called anyway."""

_JOIN = Lazy(r",? (?:and|but|also|plus|und|aber|et|mais|y|pero)(?: also| then| please)? ", re.IGNORECASE)
_POINTS_BACK = Lazy(r"\b(?:it|its|them|their)\b", re.IGNORECASE)
_SMALL = Lazy(
    r"^(?:ok(?:ay)?|yes|no|yep|nope|thanks?(?: you)?|great|nice|wow|good|cool|perfect|continue"
    r"|go on|go ahead|done|hi|hello)\W*$",
    re.I,
)
_LEAD = Lazy(
    r"^(?:(?:(?:ok(?:ay)?|alright)[,.! ]+)*(?:thanks(?: a lot| so much)?|thank you|lgtm"
    r"|(?:(?:that|it) )?(?:looks|sounds) (?:good|great|fine|right))[,.! ]+"
    r"(?!(?:to|for|with|if|when|in|on|as|and|but)\b)"
    r"|(?:great|nice|wow|good|cool|perfect|awesome|hi|hello|hey)[,.!] +)+(?=\S+ \S)",
    re.IGNORECASE,
)
"""Thanks and the like in front of a sentence, where nothing parts them: `ok, looks good, thanks Keep it short`."""

_IS = Lazy(
    r"\b(?:is|are|was|=|equals|lives?|runs?|listens?|called|named|has|id|key|code|port|address"
    r"|number)\b|[:=]",
    re.I,
)


_PATH = Lazy(r"\.[a-z]{1,4}\W*$|^\W*[~.]?/", re.IGNORECASE)
_TOLD = Lazy(r"(?<![\w./@-])[^\W\d_]{2,}(?![\w/-]|\.\w)")


@frozen
class Judged:
    """A sentence's kind and how strongly it speaks for the whole session, 1 to 3."""

    kind: Kind
    strength: int


def said(text: str, opening: bool = False) -> Iterator[Item]:
    """What the user's text sets, in order.

    `opening`: the text opens the session, so that its first order, else its first statement, is the goal unless it
    names one.
    """
    items = list(_items(text))
    if opening and all(item.kind != "goal" for item in items):
        first = _first_order(text) or next(iter(items), None)
        if first is not None and all(item.key != first.key for item in items):
            items.insert(0, first)
        items = [evolve(item, kind="goal") if first and item.key == first.key else item for item in items]
    yield from items


def _items(text: str) -> Iterator[Item]:
    for sentence in sentences(text):
        if label := _LABEL.match(sentence.text):
            kind = next(kind for kind in KINDS if kind == label[1].lower())
            yield Item(kind, sentence.text[label.end() :])
            continue
        for part in _parts(_LEAD.sub("", sentence.text)):
            judged = _in_list(judge(part), sentence.heading)
            if judged is not None:
                yield Item(judged.kind, _with_heading(sentence.heading, part))


def _first_order(text: str) -> Item | None:
    """The first sentence that orders something, whether or not it sets anything beyond the moment."""
    parts = (part for sentence in sentences(text) for part in _parts(_LEAD.sub("", sentence.text)))
    return next((Item("goal", part) for part in parts if directive(part.lower())), None)


def _parts(sentence: str) -> list[str]:
    """The sentence, or its halves where each sets something of its own: one may be changed later without the other."""
    _, *others = halves = _JOIN.split(sentence)
    if not others or "(" in sentence or any(len(half.split()) < 3 for half in halves):
        return [sentence]
    if any(_POINTS_BACK.search(half) for half in others):
        return [sentence]
    strengths = [found.strength if (found := judge(half)) else 0 for half in halves]
    return halves if min(strengths) >= 2 and max(strengths) == 3 else [sentence]


def _in_list(judged: Judged | None, heading: str) -> Judged | None:
    """An item of a list is what the line above the list calls it, unless it says so itself."""
    if not heading or (judged is not None and judged.strength == 3):
        return judged
    kind = next((kind for kind, pattern in cues.HEADING.items() if pattern.search(heading.lower())), None)
    return judged if kind is None else Judged(kind, 2)


_CARRIES = Lazy(
    r"\b(?:never|don'?t|do not|must|always|avoid|not|no|only|nie|nicht"
    r"|immer)\b[^.:]{0,40}[:：]$",
    re.IGNORECASE,
)


def _with_heading(heading: str, part: str) -> str:
    """A list item says nothing without the word above it when that word is the order: "Never:", "Do not touch:"."""
    return f"{heading} {part}" if _CARRIES.search(heading) else part


@lru_cache(maxsize=4096)
def judge(text: str) -> Judged | None:
    """What one sentence sets; None: nothing (a question, thanks, a report).

    A statement that no cue names is a note: users' words are few, and it leaves first when there is no room.

    >>> judge("Never deploy on Friday.")
    Judged(kind='rule', strength=3)
    """
    words = text.split()
    low = text.lower()
    if (len(words) < 2 and len(text) < 6) or _SMALL.match(low):
        return None
    if _QUESTION.search(text):
        return _asked(text, low)
    if reports(low):
        return _remembered(text)
    judged = _stated(text, low, len(words))
    if judged is not None and judged.strength < 3 and text.endswith((":", "：")):
        return None  # the line above a list or a paste
    return judged


def _asked(text: str, low: str) -> Judged | None:
    """A question sets nothing; an order put as one does: "Could you always answer in German?"."""
    if not _ASKS_TO.search(low):
        return None
    clause = _CLAUSE.search(text)
    order = text[: clause.start()] if clause else text.rstrip("?？ ")
    judged = _stated(order, order.lower(), len(order.split()))
    if judged is not None and judged.strength == 3:
        return judged
    if clause or judged is None:
        return None
    # Help that is asked for is for the whole session, and so is what is asked for every time.
    stands = judged.kind == "goal" or cues.SCOPE.search(order.lower()) is not None
    return judged if stands and judged.strength == 2 else Judged("note", 1)


def _stated(text: str, low: str, words: int) -> Judged | None:
    """What a sentence sets that is neither a question nor a report."""
    if cues.NUMBER_OR_DAY.search(low) and cues.BOUND.search(low):
        return Judged("limit", 3)
    if cues.NAMED.search(low):
        return Judged("preference", 3)
    fetches = cues.FETCH.search(low) is not None
    if cues.PERMISSION.search(low) and not (fetches or momentary(low) or opinion(low)):
        return Judged("rule", 2)
    if (
        cues.LIKING.search(low)
        and not fetches
        and (cues.ABSOLUTE.search(low) or directive(low) or cues.SPEAKER.search(low))
    ):
        return Judged("preference", 3)
    if cues.AIM_NAMED.search(low) and cues.AIM.search(low) and not cues.FORBIDS.search(low):
        return Judged("goal", 3)
    if cues.ABSOLUTE.search(low):
        return Judged("rule", 3)
    if cues.FORBIDS.search(low) and not momentary(low) and words <= 30:
        return Judged("rule", 3)
    if cues.TO_REMEMBER.search(low) and CODE.search(text):
        return _remembered(text)
    if momentary(low) or opinion(low):
        return Judged("note", 1)
    if cues.AIM.search(low) and not cues.ORDER.search(low) and not near_by(low):
        return Judged("goal", 3 if cues.AIM_NAMED.search(low) else 2)
    if MEASURE.search(low) and not past(low) and (directive(low) or not CODE.search(text)):
        return Judged("limit", 2)
    if cues.DECIDED.search(low):
        return Judged("decision", 2)
    if cues.ORDER.search(low) and not passing(low):
        return Judged("rule", 2)
    if cues.PROGRESS.search(low):
        return Judged("state", 2)
    if cues.LEANING.search(low):
        return Judged("preference", 2)
    # A withdrawal becomes a rule where it meets what it withdraws.
    if directive(low) and cues.SCOPE.search(low) and not passing(low) and not cues.RETRACTION.search(low):
        return Judged("rule", 2)
    return _remembered(text) or (Judged("note", 1) if _says_something(text) else None)


@lru_cache(maxsize=8192)
def exact(text: str) -> int:
    """How many exact names a text has. A path is one too, but the account of the files has it, and there are many."""
    return sum(_PATH.search(code) is None for code in CODE.findall(text))


def _says_something(text: str) -> bool:
    """Whether a statement is more than thanks, a heading or a polite question."""
    return len(text.split()) > 2 and bool(sense(text).topic) if text.isascii() else len(text) > 3


def _remembered(text: str) -> Judged | None:
    """A fact: something exact, and words that say what it is."""
    asked = cues.TO_REMEMBER.search(text.lower()) is not None
    if CODE.search(text) is None:
        return Judged("fact", 1) if asked else None
    around = CODE.sub(" ", text)
    tells = asked or _IS.search(around) is not None
    names = len(_TOLD.findall(around)) < 2 or not (tells or spoken(around))
    near = directive(text.lower()) or passing(text.lower())
    if names or (near and not tells and not exact(text)):
        return None
    return Judged("fact", 2 if tells else 1)
