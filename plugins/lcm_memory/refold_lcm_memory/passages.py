"""Pieces of text: a hit with what stands around it, and cuts that part no character from its accents."""

from __future__ import annotations

import unicodedata

SNIPPET = 160
"""Characters of a snippet at most."""


def snippet(text: str, needle: str) -> str | None:
    """One line of `text` around the first place of `needle`, compared by Unicode casefold; None: it is not there.

    >>> snippet("we chose Straße 9", "STRASSE")
    'we chose Straße 9'
    """
    folded, wanted = text.casefold(), needle.casefold()
    at = folded.find(wanted)
    if at < 0:
        return None
    if len(folded) != len(text):
        at = _unfolded(text, at)
    start = max(0, at - (SNIPPET - min(len(needle), SNIPPET)) // 3)
    return ("…" if start else "") + one_line(text[start:], SNIPPET - bool(start))


def one_line(text: str, most: int) -> str:
    """The beginning of a text on one line of at most `most` characters, the last an ellipsis when it was cut."""
    part = text[: most * 3]
    line = " ".join("".join(char if char.isprintable() else " " for char in part).split())
    return line if len(line) <= most and len(part) == len(text) else line[: most - 1] + "…"


def cut(text: str, start: int, most: int) -> int:
    """Where a piece that begins at `start` ends: at most `most` characters on, before a base rather than before its
    accent, joiner or modifier, and always behind `start`."""
    end = start + most
    if end >= len(text):
        return len(text)
    while end > start and (_continues(text[end]) or text[end - 1] == "\u200d"):
        end -= 1
    return end if end > start else min(len(text), start + most)


def _continues(character: str) -> bool:
    return (
        character in "\u200d\ufe0e\ufe0f"
        or unicodedata.combining(character) > 0
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


def _unfolded(text: str, at: int) -> int:
    """The index in `text` of the character that gave the casefold's character `at`."""
    for index, char in enumerate(text):
        at -= len(char.casefold())
        if at < 0:
            return index
    return len(text)
