"""What stands before the history in every request, and stays as it was sent until the next compaction.

A system prompt or context block that changes would rewrite the first bytes of the request and cost the prompt cache.
So the head that was sent is kept, and a change is told in a short note behind the rows it came after.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from refold.prepare import stored
from refold.values.tools import ContextBlock

if TYPE_CHECKING:
    from cattrs import Converter

FORMAT = 1
NOTE_CHARACTERS = 2_000
"""A changed text is quoted up to this length."""


@frozen
class Head:
    """A system prompt with context blocks, in the order they are sent."""

    system: str = ""
    blocks: tuple[ContextBlock, ...] = ()

    def text(self) -> str:
        """The system prompt as it is sent: the host app's words, then one part a context block."""
        parts = [self.system] if self.system.strip() else []
        parts += [f"# {block.label}\n\n{block.text}" for block in self.blocks if block.text.strip()]
        return "\n\n".join(parts)


@frozen
class Told:
    """A note in the user role, behind the row with seq `after`."""

    after: int
    text: str


@frozen
class LeftOut:
    """Opaque items of `owner` up to seq `upto` stay out of every request: their provider refused one of them."""

    owner: str
    upto: int


@frozen
class Pinned:
    """The head that requests carry since compaction number `compaction`, the one that is current, the notes that told
    of changes, oldest first, and which opaque items were refused."""

    sent: Head
    current: Head
    compaction: int
    notes: tuple[Told, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def refused(self, owner: str, upto: int) -> Pinned:
        """The same after `owner` refused an opaque item of a request with rows up to `upto`."""
        others = tuple(each for each in self.left_out if each.owner != owner)
        return evolve(self, left_out=(*others, LeftOut(owner, upto)))


def dump(pinned: Pinned) -> str:
    """The pinned head as JSON text, as it is stored."""
    return stored.dump(pinned, FORMAT, _converter())


def load(text: str | None) -> Pinned | None:
    """The stored head; None when none is stored, another version of refold wrote it, or it cannot be read."""
    return None if text is None else stored.load(text, FORMAT, Pinned, _converter)


@cache
def _converter() -> Converter:
    from cattrs.preconf.orjson import make_converter

    return make_converter()


def pin(before: Pinned | None, current: Head, compaction: int, upto: int) -> Pinned:
    """What the next request carries, with rows up to `upto`: a new head at the start and after each compaction, else
    the pinned one, and a note when `current` is not what the model was told last.

    A fork may end before the row that a note came after; then the note stands behind its last row.
    """
    if before is None:
        return Pinned(current, current, compaction)
    before = evolve(before, left_out=tuple(LeftOut(each.owner, min(each.upto, upto)) for each in before.left_out))
    if before.compaction != compaction:
        return Pinned(current, current, compaction, left_out=before.left_out)
    notes = tuple(Told(min(told.after, upto), told.text) for told in before.notes)
    if before.current != current:
        notes += (Told(upto, _note(before.current, current)),)
    return evolve(before, current=current, notes=notes)


def _note(before: Head, after: Head) -> str:
    lines = ["[context changed; this replaces what the system prompt says about it]"]
    if before.system != after.system:
        lines.append(f"system prompt:\n{_clip(after.system) or '(none)'}")
    lines += _blocks(before.blocks, after.blocks)
    return "\n".join(lines)


def _blocks(before: Sequence[ContextBlock], after: Sequence[ContextBlock]) -> list[str]:
    old = {block.id: block for block in before}
    new = {block.id: block for block in after}
    changed = [f"{block.label}:\n{_clip(block.text)}" for block in after if old.get(block.id) != block]
    return changed + [f"{block.label}: removed" for block in before if block.id not in new]


def _clip(text: str) -> str:
    return text if len(text) <= NOTE_CHARACTERS else text[:NOTE_CHARACTERS] + " […]"
