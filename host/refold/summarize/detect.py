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
from refold.summarize.shapes import MEASURE, directive, momentary, past, reports
from refold.summarize.standing import Item
from refold.summarize.words import sense

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
    r"^(?:(?:ok|and|so|also|please|hey|hi)[,:]? )*(?:can|could|would|will) you\b|\bplease\b|^(?:bitte|peux-tu"
    r"|pourrais|puedes)",
    re.IGNORECASE,
)
_JOIN = Lazy(r",? (?:and|but|also|plus|und|aber|et|mais|y|pero)(?: also| then| please)? ", re.IGNORECASE)
_SMALL = Lazy(
    r"^(?:ok(?:ay)?|yes|no|yep|nope|thanks?(?: you)?|great|nice|wow|good|cool|perfect|continue"
    r"|go on|go ahead|done|hi|hello)\W*$",
    re.I,
)
_IS = Lazy(
    r"\b(?:is|are|was|=|equals|lives?|runs?|listens?|called|named|has|id|key|code|port|address"
    r"|number)\b|[:=]",
    re.I,
)


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
    items = [
        Item(judged.kind, _with_heading(sentence.heading, part))
        for sentence in sentences(text)
        for part in _parts(sentence.text)
        if (judged := _in_list(judge(part), sentence.heading)) is not None
    ]
    if opening and items and all(item.kind != "goal" for item in items):
        first = next((item for item in items if directive(item.text.lower())), items[0])
        items = [evolve(item, kind="goal") if item is first else item for item in items]
    yield from items


def _parts(sentence: str) -> list[str]:
    """The sentence, or its halves where each sets something of its own: one may be changed later without the other."""
    halves = _JOIN.split(sentence)
    if len(halves) < 2 or "(" in sentence or any(len(half.split()) < 3 for half in halves):
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
    if _QUESTION.search(text) and not _ASKS_TO.search(low):
        return None
    if reports(low):
        return _remembered(text)
    if cues.NUMBER_OR_DAY.search(low) and cues.BOUND.search(low):
        return Judged("limit", 3)
    if cues.NAMED.search(low):
        return Judged("preference", 3)
    if cues.RETRACTION.search(low) or cues.PERMISSION.search(low):
        return Judged("rule", 2)
    if cues.LIKING.search(low) and (cues.ABSOLUTE.search(low) or directive(low) or cues.SPEAKER.search(low)):
        return Judged("preference", 3)
    if cues.AIM_NAMED.search(low) and cues.AIM.search(low) and not cues.FORBIDS.search(low):
        return Judged("goal", 3)
    if cues.ABSOLUTE.search(low):
        return Judged("rule", 3)
    if cues.FORBIDS.search(low) and not momentary(low) and len(words) <= 30:
        return Judged("rule", 3)
    if momentary(low):
        return _remembered(text) or Judged("note", 1)
    if _QUESTION.search(text):
        return _remembered(text) or Judged("note", 1)
    if cues.AIM.search(low) and not cues.ORDER.search(low):
        return Judged("goal", 3 if cues.AIM_NAMED.search(low) else 2)
    if MEASURE.search(low) and not past(low) and (directive(low) or not CODE.search(text)):
        return Judged("limit", 2)
    if cues.DECIDED.search(low):
        return Judged("decision", 2)
    if cues.ORDER.search(low):
        return Judged("rule", 2)
    if cues.PROGRESS.search(low):
        return Judged("state", 2)
    if cues.LEANING.search(low):
        return Judged("preference", 2)
    if directive(low) and cues.SCOPE.search(low):
        return Judged("rule", 2)
    return _remembered(text) or (Judged("note", 1) if _says_something(text) else None)


def _says_something(text: str) -> bool:
    """Whether a statement is more than thanks, a heading or a polite question."""
    if text.endswith((":", "：")) or _QUESTION.search(text):
        return False
    return len(text.split()) > 2 and bool(sense(text).topic) if text.isascii() else len(text) > 3


def _remembered(text: str) -> Judged | None:
    if CODE.search(text) and (_IS.search(text) or cues.TO_REMEMBER.search(text.lower())):
        return Judged("fact", 2)
    if cues.TO_REMEMBER.search(text.lower()) or CODE.search(text):
        return Judged("fact", 1)
    return None
