"""Whether a later user word changes an earlier one. Pure rules over two sentences.

When it is unclear, both stay: the part says that a later line wins. So a rule goes only when the new words cover what
it is about, and something says that they change it: a permission or a withdrawal, the opposite order, another figure,
another value of the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from refold.summarize import cues
from refold.summarize.standing import Item, Standing
from refold.summarize.words import GROUPS, Sense, members, sense

COVERED = 0.6
"""The share of the earlier item's topic that the new words must name."""

SAME = 0.75
"""The share of both topics together that must agree where no word speaks of a change."""

_CONDITION = re.compile(
    r"\b(?:unless|until|before|after|without|except|only|if|when|until|bevor|außer|sauf"
    r"|salvo)\b",
    re.I,
)
_STATES = re.compile(
    r"^(.{2,60}?)\s*(?:\b(?:is|are|will be|should be|must be|shall be|becomes?|goes (?:up|down) to|has (?:moved"
    r"|changed) to)\b|[:=])\s*(\S.*)$",
    re.IGNORECASE,
)
_ANSWERS = re.compile(
    r"\b(?:answer|reply|respond|talk|speak|write to me|communicate|antworte|réponds"
    r"|responde)\w*\b",
    re.I,
)


def merged(standing: Standing, newer: Iterable[Item]) -> Standing:
    """The standing part after the user said those items, in that order; what they change is gone."""
    for item in newer:
        gone = [old.key for old in standing.items if old.key != item.key and supersedes(item, old)]
        standing = standing.without(gone).added(item)
    return standing


def supersedes(new: Item, old: Item) -> bool:
    """Whether `new`, said later, changes what `old` set, so that `old` must not stand any more."""
    if _question(new.text):
        return False
    if cues.NAMED.search(new.text) and cues.NAMED.search(old.text):
        return True
    now, then = sense(new.text), sense(old.text)
    if _restated(new.text, old.text):
        return True
    changing = cues.CHANGE.search(new.text) is not None
    if _same_group(new, old, now, then, changing):
        return True
    if not now.topic or not then.topic:
        return False
    covered = len(now.topic & then.topic) / len(then.topic)
    common = len(now.topic & then.topic) / len(now.topic | then.topic)
    if cues.RETRACTION.search(new.text):
        # A withdrawal names the old rule by a word or two: what it names must all be in there.
        inside = len(now.topic & then.topic) / len(now.topic)
        return covered >= COVERED or (inside >= 0.99 and not now.numbers)
    if covered >= COVERED and old.kind != "fact":
        if cues.PERMISSION.search(new.text) and then.negative != now.negative:
            return True
        if now.negative != then.negative and (changing or common >= SAME) and not _CONDITION.search(old.text):
            return True
    return _other_figure(new, old, now, then, covered, common, changing)


def _other_figure(new: Item, old: Item, now: Sense, then: Sense, covered: float, common: float, changing: bool) -> bool:
    """The same limit with another number."""
    if not now.numbers or not then.numbers or now.numbers == then.numbers:
        return False
    if "limit" not in (new.kind, old.kind):
        return False
    return common >= SAME or (changing and covered >= COVERED)


def _restated(new: str, old: str) -> bool:
    """`X is A` and later `X is B`."""
    first, second = _STATES.match(old), _STATES.match(new)
    if first is None or second is None:
        return False
    before, after = sense(first[1]), sense(second[1])
    same = bool(before.topic) and before.topic == after.topic and before.numbers == after.numbers
    return same and sense(first[2]) != sense(second[2])


def _same_group(new: Item, old: Item, now: Sense, then: Sense, changing: bool) -> bool:
    """Another member of an exclusive group (tabs, spaces) for the same matter."""
    if now.negative or then.negative or "fact" in (new.kind, old.kind):
        return False
    if all(_ANSWERS.search(item.text) for item in (new, old)) and _other_member(new.text, old.text):
        return True
    for group in GROUPS:
        if not _other_member(new.text, old.text, (group,)):
            continue
        if "monday" in group and "limit" not in (new.kind, old.kind):
            continue  # days are no alternatives by themselves: only a deadline moves from one to another
        later, earlier = _rest(now, group), _rest(then, group)
        if later and earlier:
            return len(later & earlier) >= COVERED * min(len(later), len(earlier))
        return changing or later == earlier
    return False


def _other_member(new: str, old: str, groups: Iterable[frozenset[str]] = GROUPS) -> bool:
    for group in groups:
        later, earlier = members(new, group), members(old, group)
        if later and earlier and not later & earlier:
            return True
    return False


def _rest(meaning: Sense, group: frozenset[str]) -> frozenset[str]:
    stems = frozenset(stem for word in group for stem in sense(word).topic)
    return meaning.topic - stems


def _question(text: str) -> bool:
    return text.rstrip("\"') ").endswith(("?", "？"))
