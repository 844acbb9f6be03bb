"""What a summarizing model adds to the structured part, as far as the user really said it.

The host keeps the part itself, so a model can lose nothing of it. It can add a line that was missed, or say that one
was replaced, but only with words that stand in what users wrote in this pass: a tool's output that asks to become a
rule stays prose.
"""

from __future__ import annotations

import re

from attrs import frozen

from refold.summarize.lazy import Lazy
from refold.summarize.standing import KINDS, TAG, Item, Standing, defused, normal

_OPENS = Lazy(rf"^\W*{TAG}\b[^>]*>?\s*$", re.IGNORECASE)
_CLOSES = Lazy(rf"^\W*/\s*{TAG}\b[^>]*>?\W*$", re.IGNORECASE)
_LINE = Lazy(rf"^\W*({'|'.join(KINDS)}|replaced)\W*:\W*?(?=\w|[\"'`(])(\S.*?)\s*$", re.IGNORECASE)
_FRAME = Lazy(r"^(?:Set by the user;|\(\d+ earlier lines? left out)|^`{3}\w*$|^\W*$")
_ARROW = Lazy(r"\s*(?:=>|->|→|⇒)\s*")


@frozen
class Amended:
    """The structured part with what the reply rightly adds, and the reply's own account of the history."""

    standing: Standing
    body: str


def amended(reply: str, standing: Standing, words: str) -> Amended:
    """Reads a reply. `words` is what users wrote in this pass.

    A mangled part costs nothing: lines it repeats are known, lines that no user wrote go to the body, tags that were
    not closed end at the first line that is none of the part.
    """
    said = f" {normal(words)} "
    inside = False
    body: list[str] = []
    for line in reply.splitlines():
        if _OPENS.match(line):
            inside = True
        elif _CLOSES.match(line):
            inside = False
        elif not inside:
            body.append(line)
        elif found := _LINE.match(line):
            standing, rest = _taken(found[1].lower(), found[2], standing, said)
            body.extend(rest)
        elif not _FRAME.match(line):
            inside = False
            body.append(line)
    return Amended(standing, defused("\n".join(body).strip()))


def _taken(word: str, text: str, standing: Standing, said: str) -> tuple[Standing, list[str]]:
    """One line of the part: the part with it, and what of it belongs to the body."""
    if word == "replaced":
        earlier, _, later = _ARROW.sub("=>", text, count=1).partition("=>")
        old = _find(earlier, standing)
        new = _strip(later)
        if old is None or not _quoted(new, said):
            return standing, []
        return standing.without([old.key]).added(Item(old.kind, new)), []
    kind = next(kind for kind in KINDS if kind == word)
    if normal(text) in standing.keys:
        return standing, []
    if _quoted(text, said):
        return standing.added(Item(kind, text)), []
    return standing, [f"- {text}"]


def _find(text: str, standing: Standing) -> Item | None:
    key = normal(_strip(text))
    return next((item for item in standing.items if item.key == key), None)


def _strip(text: str) -> str:
    """The words of a line without the kind in front of them, if the model copied it."""
    return re.sub(rf"^\W*(?:{'|'.join(KINDS)})\s*:\s*", "", text.strip(), flags=re.IGNORECASE).strip(" \"'`")


def _quoted(text: str, said: str) -> bool:
    """Whether a user wrote those words in that order; a single word is no quote."""
    key = normal(text)
    return len(key) >= 6 and f" {key} " in said
