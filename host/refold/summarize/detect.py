"""A user's words -> what they set for the whole session. Pure, deterministic, no model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from attrs import frozen

from refold.summarize import cues
from refold.summarize.cues import Kind
from refold.summarize.sentences import Sentence, sentences
from refold.summarize.standing import Item

CODE = re.compile(
    r"`[^`\n]{2,80}`|\"[^\"\n]{3,80}\"|“[^”\n]{3,80}”|«[^»\n]{3,80}»"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{13,}\b|https?://[^\s)>\]]+|\b[\w.+-]+@[\w-]+\.[\w.]+\b"
    r"|\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{4,}(?:[./:#][\w-]+)*\b|\bv?\d+\.\d+(?:\.\d+)+\b|\b\d{4,}\b"
    r"|[€$£]\s?\d[\d.,]*"
    r"|(?:^|(?<=\s))[~.]?/[\w.-]+(?:/[\w.-]+)+|\b[\w-]+\.(?:py|ts|tsx|js|rs|go|java|c|h|cpp|md|json|ya?ml|toml"
    r"|sql|sh|html|css)\b"
    r"|\b[A-Z][A-Z0-9]+(?:[_-][A-Z0-9]+)+\b|#\d{2,}\b"
)
"""What must be kept to the letter: quoted words, identifiers, addresses, versions, amounts, paths."""

_QUESTION = re.compile(r"[?？]\s*[\"')\]]*$")
_ASKS_TO = re.compile(
    r"^(?:(?:ok|and|so|also|please|hey|hi)[,:]? )*(?:can|could|would|will) you\b|\bplease\b|^(?:bitte|peux-tu"
    r"|pourrais|puedes)",
    re.IGNORECASE,
)
# What somebody reports of a thing, rather than asks of us: "it never works", "I don't know".
_REPORT = re.compile(
    r"^(?:(?:and|but|so|hm+|well|ok|yes|no|sorry|then|because|since|btw),? )*"
    r"(?:(?:i|it|that|this|they|he|she|there|what|why|how|which) (?:\w+ )?(?:never|always|don'?t|doesn'?t"
    r"|didn'?t|can'?t|won'?t"
    r"|isn'?t|wasn'?t|couldn'?t|think|thought|guess|wonder|see|saw|feel|looks?|seems?|works?|was|had|did|got"
    r"|get|found|tried|ran|wrote)\b"
    r"|why\b|how come\b)",
    re.IGNORECASE,
)
_OF_US = re.compile(
    r"\b(?:you(?:r|'re|'ll)?|we|must|should|shall|never|please|let'?s|prefer|want|like|need|budget|limit|rule"
    r"|deadline|hate)\b"
    r"|\bi (?:don'?t|never) (?:want|like|need|care|accept|tolerate|allow|permit|wish|expect)\b",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"^(?:i (?:don'?t|didn'?t) (?:know|see|get|understand|think|remember|believe|care)"
    r"|i never (?:saw|knew|got|had|said))\b",
    re.I,
)
_JOIN = re.compile(r",? (?:and|but|also|plus|und|aber|et|mais|y|pero)(?: also| then| please)? ", re.IGNORECASE)
_SMALL = re.compile(
    r"^(?:ok(?:ay)?|yes|no|yep|nope|thanks?(?: you)?|great|nice|wow|good|cool|perfect|continue"
    r"|go on|go ahead|done|hi|hello)\W*$",
    re.I,
)
_FIRST = re.compile(r"[^\W\d_]+")
_IS = re.compile(
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

    `opening`: the text opens the session, so that its first order is the goal unless it names one.
    """
    items: list[Item] = []
    first: Item | None = None
    for sentence in sentences(text):
        for part in _parts(sentence):
            judged = judge(part)
            heading = _under(sentence.heading)
            if heading is not None and (judged is None or judged.strength < 3):
                judged = heading
            if judged is None:
                if opening and first is None and len(part.split()) >= 4 and not _QUESTION.search(part):
                    first = Item("goal", part)
                continue
            item = Item(judged.kind, _with_heading(sentence.heading, part))
            if first is None and judged.strength == 1:
                first = Item("goal", item.text)
            items.append(item)
    if opening and first is not None and all(item.kind != "goal" for item in items):
        items = [first, *(item for item in items if item.key != first.key)]
    yield from items


def _parts(sentence: Sentence) -> list[str]:
    """The sentence, or its halves where each sets something of its own: one may be changed later without the other."""
    halves = _JOIN.split(sentence.text)
    if len(halves) < 2:
        return [sentence.text]
    judged = [judge(half) for half in halves]
    strong = [
        found is not None and found.strength >= 2 and len(half.split()) >= 3
        for half, found in zip(halves, judged, strict=True)
    ]
    return halves if all(strong) else [sentence.text]


def _under(heading: str) -> Judged | None:
    if not heading:
        return None
    for kind, pattern in cues.HEADING.items():
        if pattern.search(heading):
            return Judged(_HEADED[kind], 2)
    return None


_HEADED: dict[str, Kind] = {
    "rule": "rule",
    "limit": "limit",
    "preference": "preference",
    "goal": "goal",
    "decision": "decision",
    "state": "state",
    "fact": "fact",
}
_CARRIES = re.compile(
    r"\b(?:never|don'?t|do not|must|always|avoid|not|no|only|nie|nicht"
    r"|immer)\b[^.:]{0,40}[:：]$",
    re.IGNORECASE,
)


def _with_heading(heading: str, part: str) -> str:
    """A list item says nothing without the word above it when that word is the order: "Never:", "Do not touch:"."""
    return f"{heading} {part}" if _CARRIES.search(heading) else part


@lru_cache(maxsize=4096)
def judge(text: str) -> Judged | None:
    """What one sentence sets; None: nothing.

    >>> judge("Never deploy on Friday.")
    Judged(kind='rule', strength=3)
    """
    words = text.split()
    if (len(words) < 2 and len(text) < 6) or _SMALL.match(text):
        return None
    if _QUESTION.search(text) and not _ASKS_TO.search(text):
        return None
    if _SAID.match(text) or (_REPORT.match(text) and not _OF_US.search(text)):
        return _remembered(text)
    if cues.BOUND.search(text) and cues.NUMBER_OR_DAY.search(text) and not _only_a_question(text):
        return Judged("limit", 3)
    if cues.NAMED.search(text):
        return Judged("preference", 3)
    if cues.RETRACTION.search(text) or cues.PERMISSION.search(text):
        return Judged("rule", 2)
    if cues.LIKING.search(text) and (cues.ABSOLUTE.search(text) or _directive(text) or _liked(text)):
        return Judged("preference", 3)
    if cues.ABSOLUTE.search(text):
        return Judged("rule", 3)
    if cues.AIM.search(text) and not cues.ORDER.search(text):
        return Judged("goal", 3 if _names_aim(text) else 2)
    if cues.DECIDED.search(text):
        return Judged("decision", 2)
    if cues.ORDER.search(text):
        return Judged("rule", 2)
    if cues.PROGRESS.search(text):
        return Judged("state", 2)
    if _directive(text):
        if cues.SCOPE.search(text):
            return Judged("rule", 2)
        return _remembered(text) or Judged("rule", 1)
    return _remembered(text)


def _remembered(text: str) -> Judged | None:
    if CODE.search(text) and (_IS.search(text) or cues.TO_REMEMBER.search(text)):
        return Judged("fact", 2)
    if cues.TO_REMEMBER.search(text) or CODE.search(text):
        return Judged("fact", 1)
    return None


def _only_a_question(text: str) -> bool:
    return _QUESTION.search(text) is not None and not _ASKS_TO.search(text)


_STATED = re.compile(
    r"\b(?:i|we|i'm|we're|i'd|we'd|my|me|prefer\w*|when in doubt|tone|style|please|ich|je"
    r"|yo)\b",
    re.IGNORECASE,
)
_AIM_NAMED = re.compile(
    r"\b(?:goal|objective|aim|mission|purpose|end result|deliverable|outcome|trying to|ultimately|in the end"
    r"|success|ziel|objectif"
    r"|objetivo|what (?:i|we) (?:want|need|'re after|am after)|the (?:task|job|point|idea|plan|assignment))\b"
    r"|目标|目的|目標|цель",
    re.IGNORECASE,
)


def _liked(text: str) -> bool:
    return _STATED.search(text) is not None


def _names_aim(text: str) -> bool:
    return _AIM_NAMED.search(text) is not None


def _directive(text: str) -> bool:
    """Whether the sentence is an order by its shape: it begins with a verb, or with please and its like."""
    rest = text
    for _ in range(4):
        found = _FIRST.search(rest)
        if found is None:
            return False
        if found[0].lower() in cues.IMPERATIVE:
            return True
        opener = cues.REQUEST.match(rest[found.start() :])
        if opener is None and found[0].lower() not in ("you", "let", "s", "i", "want"):
            return False
        rest = rest[found.end() :]
    return False
