"""Words of a sentence as the rules compare them: stems without grammar, values, and whether it forbids.

English is known best. Other languages still compare: their words are kept whole but for a plural ending, and text
without spaces (Chinese, Japanese) is compared by pairs of characters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from attrs import frozen

from refold.summarize.lazy import Lazy


def _listed(words: str) -> list[str]:
    """The words of a text that lists them."""
    return words.split()


_STOP = frozenset(
    # grammar
    _listed(
        """
    a an the this that these those there here it its it's i i'm i'd i've i'll me my mine we we're we'll our ours
    us you you're your yours he she they them their is are was were be been being am do does did done has have had
    having will would shall should can could may might must ought to of in on at by for from with into onto as
    than then so if or and but not no nor too also just very really quite even still only ever any all each every
    some such same other both what which who whom whose when where why how while during because since about over
    under again more most less least out up down off away per via please thanks let let's want need get got make
    makes made sure go goes going okay ok fine good well right think know say said tell told thing things anything
    everything something way use used using let us one don't doesn't didn't won't can't cannot couldn't shouldn't
    wouldn't isn't aren't mustn't looks look great nice cool perfect ok hey hi thanks thank yes yep nope hm
"""
    )
    # words that carry the rule, not its topic
    + _listed(
        """
    never always now instead rather prefer preferably longer anymore actually henceforth onwards forward future
    whole session conversation project rule rules limit maximum minimum max min most least allowed allow permitted
    forbidden prohibited avoid ensure remember note important keep stay stick new old changed change changes
    update updated correction forget ignore drop lift lifted scrap cancel disregard earlier previous before after
    beforehand past until unless without except circumstances times today free feel mind second thought hereby required
    request requested raise raised increase increased lower lowered reduce reduced extend extended allowed back
"""
    )
    # the same in German, French, Spanish, Italian, Portuguese
    + _listed(
        """
    der die das den dem ein eine einen und oder nicht kein keine ist sind auf in im am zu zum bitte nie niemals
    immer jetzt ab wieder darf darfst dürfen soll sollst muss musst wir du ich le la les un une des et ou ne pas
    est jamais toujours maintenant il faut vous tu je el los las una unos y o nunca siempre ahora por favor puedes
    debes il lo gli mai sempre adesso puoi devi os as um uma nunca sempre agora pode deve
"""
    )
)

_SAME = {
    word: group.split()[0]
    for group in (
        "deploy ship release rollout launch",
        "delete remove erase wipe purge",
        "edit modify alter touch rewrite",
        "answer reply respond response",
        "run execute",
        "budget spend spending cost",
        "short brief concise terse",
        "folder directory",
        "production prod",
        "database db",
        "configuration config",
        "test tests testing",
        "ask consult",
        "repository repo",
        "dependency dependencies package library",
        "deadline due",
    )
    for word in group.split()
}

_NUMBER_WORDS = frozenset(
    _listed(
        """
    zero one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty
    ninety hundred thousand million dozen half single twice once january february march april june july august
    september october november december
"""
    )
)
# Months count as figures: a date is the value of a deadline, not its topic.

_LANGUAGES = """
    english german french spanish italian portuguese dutch polish russian chinese japanese korean turkish
    deutsch englisch französisch spanisch italienisch anglais français espagnol allemand italien
    inglés español francés alemán italiano inglese tedesco
"""
GROUPS: tuple[frozenset[str], ...] = tuple(
    frozenset(group.split())
    for group in (
        _LANGUAGES,
        "tabs spaces tab space",
        "npm pnpm yarn bun",
        "pip poetry uv pipenv conda",
        "jest vitest mocha",
        "pytest unittest",
        "postgres postgresql mysql mariadb sqlite",
        "metric imperial",
        "celsius fahrenheit",
        "british american",
        "rebase merge squash",
        "short brief concise terse detailed verbose long thorough lengthy",
        "formal informal casual",
        "sie-form du-form siezen duzen",
        "dark light",
        "snake_case camelcase",
        "typescript javascript",
        "monday tuesday wednesday thursday friday saturday sunday",
    )
)
"""Words of which a sentence about one matter means one at a time: another one later replaces it."""

_GROUPED: dict[str, list[int]] = {}
for _place, _group in enumerate(GROUPS):
    for _member in _group:
        _GROUPED.setdefault(_member, []).append(_place)

_UNWANTED = Lazy(r"\b(?:instead of|rather than|not|over|statt|no longer|as opposed to|never)\b")
_WORD = Lazy(r"[^\W_](?:[\w'’.@/+-]*[^\W])?")
_DENSE = Lazy(r"[\u3040-\u30ff\u3400-\u9fff]+")
_NUMERIC = Lazy(r"^[#$€£]?\d[\d.,:/]*(?:k|m|s|ms|min|h|d|kb|mb|gb|%|st|nd|rd|th|x)?$")
_NEGATION = Lazy(
    r"\b(?:never|not|no|don'?t|do not|doesn'?t|won'?t|can'?t|cannot|mustn'?t|shouldn'?t|isn'?t|aren'?t|avoid"
    r"|without|nothing"
    r"|nobody|none|neither|stop|refrain|forbidden|prohibited|off[- ]limits|away|hands off|read[- ]only|alone"
    r"|nicht|keine?n?|nie(?:mals)?|jamais|nunca"
    r"|mai|ohne|sans|sin|не|никогда|нельзя)\b|[不勿禁]|ない",
    re.IGNORECASE,
)


@frozen
class Sense:
    """What a sentence is about: `topic` are stems of its words without grammar and numbers, `numbers` its figures,
    `negative` whether it forbids (two negations allow)."""

    topic: frozenset[str]
    numbers: frozenset[str]
    negative: bool


def spoken(text: str) -> bool:
    """Whether the text has a word of grammar, as a sentence has and a list of names has not; words of languages whose
    grammar is not known here pass."""
    plain = text.casefold()
    return not plain.isascii() or any(word in _STOP for word in _WORD.findall(plain))


def stem(word: str) -> str:
    """The word without its ending, so that deploys, deployed and deploying meet."""
    base = word.removesuffix("'s").removesuffix("’s")
    for ending in ("ments", "ment", "ings", "ing", "ies", "ed", "es", "s"):
        if base.endswith(ending) and len(base) - len(ending) >= 3:
            base = base[: -len(ending)] + ("y" if ending == "ies" else "")
            break
    if len(base) > 4 and base[-1] == base[-2] and base[-1] not in "ls":
        base = base[:-1]
    return base.removesuffix("e") if len(base) > 3 else base


_STEMS = {stem(word): stem(first) for word, first in _SAME.items()}


@lru_cache(maxsize=8192)
def sense(text: str) -> Sense:
    """What the text is about."""
    topic: set[str] = set()
    numbers: set[str] = set()
    plain = text.casefold().replace("’", "'")
    for word in _WORD.findall(plain):
        if _NUMERIC.match(word) or word in _NUMBER_WORDS:
            numbers.add(word)
        elif word not in _STOP and not _DENSE.fullmatch(word) and (base := stem(word)) not in _STOP:
            topic.add(_STEMS.get(base, base))
    for run in _DENSE.findall(plain):
        topic.update(run[i : i + 2] for i in range(max(1, len(run) - 1)))
    return Sense(frozenset(topic), frozenset(numbers), len(_NEGATION.findall(plain)) % 2 == 1)


@lru_cache(maxsize=8192)
def choices(text: str) -> Mapping[int, frozenset[str]]:
    """Which words of which exclusive group (by its place in GROUPS) a text chooses; those it names as the thing not
    wanted are left out."""
    wanted = _UNWANTED.split(text.casefold(), maxsplit=1)[0]
    chosen: dict[int, set[str]] = {}
    for word in _WORD.findall(wanted):
        for place in _GROUPED.get(word, ()):
            chosen.setdefault(place, set()).add(word)
    return {place: frozenset(words) for place, words in chosen.items()}
