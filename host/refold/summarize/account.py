"""The account of the work that the offline summarizer writes: a few lists and some prose, and read back again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import evolve, field, frozen

from refold.sizing.estimate import tokens
from refold.summarize.lazy import Lazy

HEADINGS = ("Last", "Errors", "Files changed", "Commands", "Results", "Files read")
"""The lists, the most important first; the prose comes behind `Last`, and gets what the lists leave."""

PERCENT: Mapping[str, int] = {
    "Last": 22, "Errors": 15, "Files changed": 12, "Commands": 13, "Results": 8, "Files read": 6,
}  # fmt: skip

_HEADING = Lazy(rf"^({'|'.join(HEADINGS)}):$")


@frozen
class Account:
    """Lists of one-line entries by heading, oldest first, and sentences of prose, oldest first."""

    lists: Mapping[str, tuple[str, ...]] = field(factory=dict)
    prose: tuple[str, ...] = ()

    def added(self, heading: str, entries: Iterable[str]) -> Account:
        """With the entries as the newest of a list; one that was there before moves to the end."""
        have = dict.fromkeys(self.lists.get(heading, ()))
        for entry in entries:
            have.pop(entry, None)
            have[entry] = None
        return evolve(self, lists={**self.lists, heading: tuple(have)})

    def without(self, heading: str, start: str) -> Account:
        """Without the entries of a list that begin so."""
        kept = tuple(entry for entry in self.lists.get(heading, ()) if not entry.startswith(start))
        return evolve(self, lists={**self.lists, heading: kept})

    def render(self, limit: int) -> str:
        """The account within `limit` tokens: every list keeps its newest entries within its share."""
        lists = {heading: self._newest(heading, limit * PERCENT[heading] // 100) for heading in HEADINGS}
        text = _joined(lists, ())
        prose = _within(self.prose, limit - tokens(text) - 4)
        text = _joined(lists, prose)
        # Estimates of parts do not add up exactly; the last entries that count least give way.
        while text and tokens(text) > limit:
            lists, prose = _shortened(lists, prose)
            text = _joined(lists, prose)
        return text

    def _newest(self, heading: str, share: int) -> tuple[str, ...]:
        return _within(self.lists.get(heading, ()), share - tokens(heading) - 2)


def parse(body: str) -> Account:
    """The account in a body; text of another summarizer becomes its prose."""
    lists: dict[str, list[str]] = {}
    prose: list[str] = []
    heading = ""
    for line in body.splitlines():
        if found := _HEADING.match(line):
            heading = found[1]
        elif heading and line.startswith("- "):
            lists.setdefault(heading, []).append(line[2:])
        elif line.strip():
            heading = ""
            prose.append(line.strip())
    return Account({name: tuple(entries) for name, entries in lists.items()}, tuple(prose))


def _within(entries: tuple[str, ...], room: int) -> tuple[str, ...]:
    """The newest entries that fit into so many tokens; an older short one may stay where a newer long one does not."""
    kept: list[str] = []
    for entry in reversed(entries):
        size = tokens(entry) + 3
        if size <= room:
            room -= size
            kept.append(entry)
        if room < 4:
            break
    return tuple(reversed(kept))


def _joined(lists: Mapping[str, tuple[str, ...]], prose: tuple[str, ...]) -> str:
    parts = []
    for heading in HEADINGS:
        if lists.get(heading):
            parts.append("\n".join([f"{heading}:", *(f"- {entry}" for entry in lists[heading])]))
        if heading == "Last" and prose:
            parts.append("\n".join(prose))
    return "\n\n".join(parts)


def _shortened(
    lists: Mapping[str, tuple[str, ...]], prose: tuple[str, ...]
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Without the oldest of what counts least."""
    for heading in reversed(HEADINGS[1:]):
        if lists.get(heading):
            return {**lists, heading: lists[heading][1:]}, prose
    if prose:
        return dict(lists), prose[1:]
    return {**lists, HEADINGS[0]: lists.get(HEADINGS[0], ())[1:]}, prose
