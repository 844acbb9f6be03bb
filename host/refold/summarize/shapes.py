"""What a sentence is by its shape, where no cue names it: an order, a report, a general statement.

Sentences come in lower case, as in `cues`.
"""

from __future__ import annotations

from functools import lru_cache

from refold.summarize.cues import IMPERATIVE, REQUEST
from refold.summarize.lazy import Lazy

_WORD = Lazy(r"[^\W\d_]+")
_SUBJECTS = frozenset(("you", "let", "s", "i", "want", "do"))

_REPORT = Lazy(
    r"^(?:(?:and|but|so|hm+|well|ok(?:ay)?|yes|no|sorry|then|because|since|btw|ah|oh|wow),? )*"
    r"(?:(?:i|it|that|this|they|he|she|there|what|how|which) (?:\w+ )?(?:never|always|don'?t|doesn'?t|didn'?t"
    r"|can'?t|won'?t"
    r"|isn'?t|wasn'?t|couldn'?t|think(?! in)|thought|guess|wonder|see|saw|feel|looks?|seems?|works?|was|had|did"
    r"|got|get"
    r"|tried|ran|wrote|happens|happened|says?|said|feels?|hope|suppose|assume|have a feeling)\b"
    r"|i'?m not sure\b)",
)
_OF_US = Lazy(
    r"\b(?:you(?:r|'re|'ll)?|we|must|should|shall|never (?!\w+ed\b|was|were|had|got|did|ran"
    r"|works?\b|saw|came|went)|please|let'?s|prefer|want|like|need|budget|limit|rule"
    r"|deadline|hate)\b"
    r"|\bi (?:don'?t|never) (?:want|like|need|care|accept|tolerate|allow|permit|wish|expect)\b",
)
_MIND = Lazy(
    r"^(?:why|how come|(?:how|what|where|who|which) (?:do|does|did|is|are|was|were|can|could|about)|is there"
    r"|are there)\b"
    r"|^(?:i (?:don'?t|didn'?t) (?:know|see|get|understand|think|remember|believe|care)|i never (?:saw|knew|got"
    r"|had|said)"
    r"|(?:all|everything) i (?:see|know|get))\b",
)
_PAST = Lazy(
    r"\b(?:was|were|did|had|took|ran|went|got|came|broke|threw|crashed|failed|happened|tried|saw|found|wrote"
    r"|worked|made|used|gave"
    r"|yesterday|last (?:week|month|night|time)|ago|earlier today)\b",
)
_MOMENT = Lazy(
    r"^(?:(?:ok(?:ay)?|and|so|now|then|also|please|alright|cool|great|yes|no|can you|could you|let'?s|actually"
    r"|btw|i want you to"
    r"|you can|just|first|next)[,.!]* )*(?:read|look|check|show|run|continue|try|open|grep|find|print|paste"
    r"|list|tell|explain"
    r"|commit|revert|copy|kill|investigate|propose|compare|rerun|restart|start|go|do|see|search|retry|debug"
    r"|proceed|resume)\b",
)
_OPINION = Lazy(
    r"^(?:(?:and|but|so+|hm+|well|ok(?:ay)?|yes|no|then|also|basically|alright|btw),? )*"
    r"(?:i (?:\w+ )?(?:hope|guess|suppose|assume|wonder|have (?:a|the) (?:feeling|impression)|feel (?:like|as if))"
    r"|iiuc\b|if (?:i|we|you|it|they) could\b"
    r"|(?:it|this|that) (?:\w+ )?(?:feels?|looks?|seems?|sounds?) (?:like|as if|to)\b)"
    r"|\b(?:i think|i guess|i suppose|imo|iiuc|afaik)\W*$",
)
_REPLY = Lazy(
    r"^(?:(?:ok(?:ay)?|alright|yes|yeah|yep|no|nope|then|cool|great|sorry)\b[,.! ]*+)++"
    r"(?!looks?\b|thanks?\b|good\b|nice\b|perfect\b|that\b|\W*$)"
    r"|^(?:after|once|when) (?:you(?:'re| are)?|that(?:'s| is)?|this is) (?:\w+ )?(?:done|finished|through)\b",
)
_ONE = Lazy(r"\b(?:need|want|have|like) to \w+ (?:it|this|that|these|those|them)\b")
_NEAR = Lazy(
    r"^(?:please |then |also |just )*\w+ (?:it|them|that)\b"
    r"|\b(?:(?<!all )(?<!of )this|these|those|here|above|now|again)\b"
)
_LASTS = Lazy(
    r"\b(?:every|each|all|any|always|never|only|before|after|when(?:ever)?|unless|until|if|with|without|first|must)\b",
)
_HERE = Lazy(
    r"\b(?:(?<!all )(?<!of )this|that(?=[.,;]|$| one| was| is)|it"
    r"|these|those|here|above|again|now|same|thing|stuff|maybe|perhaps|think"
    r"|guess)\b",
)
_UNITS = (
    r"(?:ms|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?|years?|[kmgt]i?b|bytes?|%"
    r"|percent|eur|usd|chf|gbp"
    r"|dollars?|euros?|cents?|pounds?|lines?|words?|characters?|chars?|people|persons?|attempts?|tries|retries"
    r"|calls?|requests?"
    r"|files?|workers?|threads?|pages?|items?|tokens?|megapixels?|pixels?|px|times|users?|tests?|rows?|columns?"
    r"|commits?|points?"
    r"|sentences?|paragraphs?|reviewers?|instances?|connections?|nodes?|cores?|copies|versions?|rounds?|stunden"
    r"|tage|wochen|minuten"
    r"|heures|jours|semaines|horas|días|semanas|小时|分钟|天|元|日|分)"
)
MEASURE = Lazy(
    r"(?:\b\d[\d.,]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty"
    r"|fifty|sixty"
    rf"|hundred|thousand|half an?))[\s-]?(?:\w+[\s-])?{_UNITS}(?!\w)|[€$£]\s?\d|\b(?:before|after|by"
    rf"|until) the \d+(?:st|nd|rd|th)\b",
)
"""A figure with its unit, or a date."""


def directive(text: str) -> bool:
    """Whether the sentence is an order by its shape: it begins with a verb, perhaps behind please and its like."""
    rest = text
    for _ in range(4):
        found = _WORD.search(rest)
        if found is None:
            return False
        if found[0] in IMPERATIVE:
            return True
        if REQUEST.match(rest[found.start() :]) is None and found[0] not in _SUBJECTS:
            return False
        rest = rest[found.end() :]
    return False


def reports(text: str) -> bool:
    """Whether somebody tells what they see or think rather than what they ask for: it never works, I don't know."""
    return _MIND.match(text) is not None or (_REPORT.match(text) is not None and not _OF_US.search(text))


def past(text: str) -> bool:
    """Whether the sentence speaks of what was."""
    return _PAST.search(text) is not None


def momentary(text: str) -> bool:
    """Whether the sentence asks for the next move alone: read that file, run it again."""
    return _MOMENT.match(text) is not None and _LASTS.search(text) is None


def opinion(text: str) -> bool:
    """Whether somebody says what they think of things: it feels like, I have a feeling."""
    return _OPINION.search(text) is not None


def near_by(text: str) -> bool:
    """Whether somebody wants something done to one thing that was just spoken of: we want to put it there."""
    return _ONE.search(text) is not None


def passing(text: str) -> bool:
    """Whether the sentence belongs to this moment of a talk: it replies, thinks aloud, or asks for one thing about
    what lies near by."""
    if opinion(text) or momentary(text) or near_by(text) or _REPLY.search(text) is not None:
        return True
    return _NEAR.search(text) is not None and directive(text)


@lru_cache(maxsize=8192)
def generality(text: str) -> int:
    """How far a sentence reaches beyond the moment, -2 to 3: it points at nothing near by, tells no past, and does
    not merely ask for the next move."""
    return 3 - past(text) - min(2, len(_HERE.findall(text))) - 2 * momentary(text)
