"""Whether a later user word changes an earlier one. Pure rules over two sentences.

When it is unclear, both stay: the part says that a later line wins. So a rule goes only when the new words cover what
it is about, and something says that they change it: a permission or a withdrawal, the opposite order, another figure,
another value of the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from attrs import evolve, frozen

from refold.summarize import cues
from refold.summarize.lazy import Lazy
from refold.summarize.standing import Item, Standing
from refold.summarize.words import GROUPS, Sense, choices, sense

HALF_SAID = 1 / 3
"""The same where somebody says that they changed their mind, and nothing else is named more fully."""

COVERED = 0.6
"""The share of the earlier item's topic that the new words must name."""

HINTED = 0.5
"""The same of two choices in one group, where a word speaks of a change."""

SAME = 0.75
"""The share of both topics together that must agree where no word speaks of a change."""

_CONDITION = Lazy(
    r"\b(?:unless|until|before|after|without|except|only|if|when|bevor|außer|sauf|salvo)\b", re.IGNORECASE
)
_STATES = Lazy(
    r"^(.{2,60}?)\s*(?:\b(?:is|are|will be|should be|must be|shall be|becomes?|goes (?:up|down) to"
    r"|has (?:moved|changed) to)\b|[:=])\s*(\S.*)$",
    re.IGNORECASE,
)
_ANSWERS = Lazy(
    r"\b(?:answer|reply|respond|talk|speak|write to me|communicate|antworte|réponds|responde)\w*\b", re.IGNORECASE
)
_REPLACES = Lazy(
    r"\b(?:rather than|instead of|in place of|statt|anstelle von|au lieu d[eu]|en vez de|invece di|em vez de)\b(.+)$",
    re.IGNORECASE,
)
_MIND = Lazy(r"\b(?:changed? my mind|on second thought|j'ai changé d'avis|ich hab'?e? es mir anders überlegt)\b")
_DAYS = next(place for place, group in enumerate(GROUPS) if "monday" in group)


@frozen
class _Reading:
    """One sentence as it is compared: read once, however many others it meets."""

    sense: Sense
    chosen: Mapping[int, frozenset[str]]
    subject: Sense | None
    value: Sense | None
    named: bool
    replaces: frozenset[str]
    reconsiders: bool
    changes: bool
    permits: bool
    withdraws: bool
    conditional: bool
    answers: bool
    asks: bool
    touches: frozenset[str]
    plain: bool


@lru_cache(maxsize=8192)
def _reading(text: str) -> _Reading:
    low = text.lower()
    meaning = sense(text)
    states = _STATES.match(text)
    named = cues.NAMED.search(low) is not None
    chosen = choices(text)
    marks = {f"#{place}" for place in chosen} | ({"#named"} if named else set())
    withdraws = cues.RETRACTION.search(low) is not None
    replaces = _REPLACES.search(text)
    return _Reading(
        sense=meaning,
        chosen=chosen,
        subject=sense(states[1]) if states else None,
        value=sense(states[2]) if states else None,
        named=named,
        replaces=sense(replaces[1]).topic if replaces else frozenset(),
        reconsiders=_MIND.search(low) is not None,
        changes=cues.CHANGE.search(low) is not None,
        permits=cues.PERMISSION.search(low) is not None,
        withdraws=withdraws,
        conditional=_CONDITION.search(text) is not None,
        answers=_ANSWERS.search(text) is not None,
        asks=text.rstrip("\"') ").endswith(("?", "？")),
        touches=meaning.topic | marks,
        plain=not (states or chosen or named or withdraws),
    )


def merged(standing: Standing, newer: Iterable[Item]) -> Standing:
    """The standing part after the user said those items, in that order; what they change is gone."""
    items = {item.key: (item, _reading(item.text)) for item in standing.items}
    touched: dict[str, set[str]] = {}
    for key, (_, earlier) in items.items():
        for word in earlier.touches:
            touched.setdefault(word, set()).add(key)
    for item in newer:
        later = _reading(item.text)
        gone: list[str] = []
        if not _inert(item, later):
            near = {key for word in later.touches for key in touched.get(word, ()) if key in items}
            gone = [key for key in near if _changes(item, items[key][0], later, items[key][1])]
            if not gone and later.reconsiders:
                gone = _nearest(later, {key: items[key][1] for key in near})
        for key in gone:
            del items[key]
        items.pop(item.key, None)
        if gone and item.kind == "note":
            item = evolve(item, kind="rule")  # a mere withdrawal, or a permission: it stands as what it changed did
        items[item.key] = (item, later)
        for word in later.touches:
            touched.setdefault(word, set()).add(item.key)
    return evolve(standing, items=tuple(item for item, _ in items.values()))


def _nearest(later: _Reading, earlier: Mapping[str, _Reading]) -> list[str]:
    """What somebody changed their mind about: of what they name in part, the one thing that they name most of."""
    shares = {
        key: len(later.sense.topic & each.sense.topic) / len(each.sense.topic)
        for key, each in earlier.items()
        if each.sense.topic
    }
    best = max(shares, key=lambda key: shares[key], default=None)
    return [best] if best is not None and shares[best] >= HALF_SAID else []


def supersedes(new: Item, old: Item) -> bool:
    """Whether `new`, said later, changes what `old` set, so that `old` must not stand any more."""
    later = _reading(new.text)
    return not _inert(new, later) and _changes(new, old, later, _reading(old.text))


def _inert(item: Item, reading: _Reading) -> bool:
    """Whether an item can change nothing: a mere statement that speaks of no change. Most of users' prose is that."""
    speaks = reading.changes or reading.permits
    return item.kind in ("note", "fact", "state") and reading.plain and not speaks


def _changes(new: Item, old: Item, later: _Reading, earlier: _Reading) -> bool:
    if later.asks or new.key == old.key:
        return False
    now, then = later.sense.topic, earlier.sense.topic
    shared = len(now & then)
    if later.plain and shared < COVERED * len(then):
        return False
    if later.named and earlier.named:
        return True
    if _restated(later, earlier) or _other_choice(new, old, later, earlier):
        return True
    if not shared:
        return False
    if later.replaces and later.replaces <= then and (now - later.replaces) & then:
        return True
    covered = shared / len(then)
    common = shared / len(now | then)
    if later.withdraws:
        # A withdrawal names the old rule by a word or two: all that it names must be in there.
        return covered >= COVERED or (now <= then and not later.sense.numbers)
    opposite = later.sense.negative != earlier.sense.negative
    if opposite and covered >= COVERED and old.kind != "fact":
        if later.permits:
            return True
        if (later.changes or common >= SAME) and not earlier.conditional:
            return True
    if "limit" not in (new.kind, old.kind) and not (later.changes and old.kind not in ("fact", "state")):
        return False
    figures, before = later.sense.numbers, earlier.sense.numbers
    other = bool(figures and before) and figures != before
    return other and (common >= SAME or (later.changes and covered >= COVERED))


def _restated(later: _Reading, earlier: _Reading) -> bool:
    """`X is A`, and later `X is B`."""
    if later.subject is None or earlier.subject is None or not earlier.subject.topic:
        return False
    same = later.subject.topic == earlier.subject.topic and later.subject.numbers == earlier.subject.numbers
    return same and later.value != earlier.value


def _other_choice(new: Item, old: Item, later: _Reading, earlier: _Reading) -> bool:
    """Another member of an exclusive group (tabs, spaces) for the same matter."""
    if later.sense.negative or earlier.sense.negative or "fact" in (new.kind, old.kind):
        return False
    for place in later.chosen.keys() & earlier.chosen.keys():
        if later.chosen[place] & earlier.chosen[place]:
            continue
        if later.answers and earlier.answers:
            return True
        if place == _DAYS and "limit" not in (new.kind, old.kind):
            continue  # days are no alternatives by themselves: only a deadline moves from one to another
        rest, before = _rest(later.sense, place), _rest(earlier.sense, place)
        if rest and before:
            if len(rest & before) >= (HINTED if later.changes else COVERED) * min(len(rest), len(before)):
                return True
        elif later.changes or rest == before:
            return True
    return False


def _rest(meaning: Sense, place: int) -> frozenset[str]:
    """The topic without the words of the group."""
    return meaning.topic - _stems(place)


@lru_cache
def _stems(place: int) -> frozenset[str]:
    return frozenset(stem for word in GROUPS[place] for stem in sense(word).topic)
