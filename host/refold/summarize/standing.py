"""What the user set for the whole session: the structured part that every summary begins with.

It is text, so that any model reads it, and it parses back, so that the next compaction carries it word for word:

    <session-rules>
    Set by the user; a later line wins over an earlier one.
    goal: Ship the billing exporter
    rule: Never deploy on Friday
    </session-rules>
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import get_args

from attrs import evolve, field, frozen

from refold.sizing.estimate import tokens
from refold.summarize.cues import Kind
from refold.summarize.lazy import Lazy

KINDS: tuple[Kind, ...] = get_args(Kind)
KEPT: frozenset[Kind] = frozenset(("goal", "rule", "limit", "preference"))
"""Kinds that leave only when a later user word changes them, as long as they fit at all."""

TAG = "session-rules"
_INTRO = "Set by the user; a later line wins over an earlier one."
_OPENS = Lazy(rf"^<{TAG}>[ \t]*\n", re.MULTILINE)
_CLOSES = Lazy(rf"^</{TAG}>[ \t]*\n*", re.MULTILINE)
_LINE = Lazy(rf"^\s*(?:[-*]\s+)?({'|'.join(KINDS)})\s*:\s*(\S.*?)\s*$", re.IGNORECASE)
_LEFT = Lazy(r"^\((\d+) earlier lines? left out; the transcript has (?:it|them)\)$")
_FORGED = Lazy(rf"<(?=\s*/?\s*{TAG}\b)", re.IGNORECASE)


def _one_line(text: str) -> str:
    return _FORGED.sub("&lt;", " ".join(text.split()))


@frozen
class Item:
    """One thing that the user set, in the user's own words, on one line."""

    kind: Kind
    text: str = field(converter=_one_line)

    key: str = field(init=False, eq=False, repr=False)
    """Equal for texts that differ in case, white space and punctuation alone."""

    @key.default
    def _normal(self) -> str:
        return normal(self.text)

    def render(self) -> str:
        return f"{self.kind}: {self.text}"


def normal(text: str) -> str:
    """Letters and digits of the text in lower case, one blank between words."""
    return " ".join(re.findall(r"\w+", text.casefold()))


@frozen
class Standing:
    """All that the user set, oldest first. `left_out` counts lines that had to leave for want of room."""

    items: tuple[Item, ...] = ()
    left_out: int = 0

    def __bool__(self) -> bool:
        return bool(self.items or self.left_out)

    def render(self) -> str:
        """The part as it stands in a summary; empty when there is nothing."""
        if not self:
            return ""
        lines = [f"<{TAG}>", _INTRO, *(item.render() for item in self.items)]
        if self.left_out:
            noun, pronoun = ("line", "it") if self.left_out == 1 else ("lines", "them")
            lines.append(f"({self.left_out} earlier {noun} left out; the transcript has {pronoun})")
        return "\n".join([*lines, f"</{TAG}>"])

    def added(self, item: Item) -> Standing:
        """With the item as the newest; the same words said before move to the end."""
        kept = tuple(old for old in self.items if old.key != item.key)
        return evolve(self, items=(*kept, item))

    def without(self, keys: Iterable[str]) -> Standing:
        """Without the items of those keys."""
        gone = frozenset(keys)
        return evolve(self, items=tuple(item for item in self.items if item.key not in gone))

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(item.key for item in self.items)

    def size(self) -> int:
        """Tokens of the rendered part."""
        return tokens(self.render())


def read(text: str) -> tuple[Standing, str]:
    """The part of a summary, and the summary without it.

    Every section in the text is read, in order: a merged text may hold several. Lines that are no items are dropped.
    """
    items: dict[str, Item] = {}
    left_out = at = 0
    rest: list[str] = []
    while (opened := _OPENS.search(text, at)) and (closed := _CLOSES.search(text, opened.end())):
        found, left = _lines(text[opened.end() : closed.start()])
        for item in found:
            items.pop(item.key, None)
            items[item.key] = item
        left_out += left
        rest.append(text[at : opened.start()])
        at = closed.end()
    return Standing(tuple(items.values()), left_out), "".join([*rest, text[at:]]).strip()


def _lines(section: str) -> tuple[list[Item], int]:
    items: list[Item] = []
    left = 0
    for line in section.splitlines():
        if found := _LINE.match(line):
            items.append(Item(_kind(found[1]), found[2]))
        elif gone := _LEFT.match(line.strip()):
            left += int(gone[1])
    return items, left


def _kind(word: str) -> Kind:
    return next(kind for kind in KINDS if kind == word.lower())


def defused(text: str) -> str:
    """A summary's own words, in which nothing can be taken for the structured part."""
    return _FORGED.sub("&lt;", text)
