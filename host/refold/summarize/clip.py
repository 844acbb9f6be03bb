"""Texts as they can be shown and stored: cut in their middle, visibly, and without lone surrogates."""

from __future__ import annotations

import unicodedata

from refold.summarize.lazy import Lazy

_SURROGATE = Lazy("[\ud800-\udfff]")


def clipped(text: str, most: int) -> str:
    """The text within about `most` characters: head and tail, and between them a marker that counts what is left out.

    Three quarters of the room go to the head. No cut falls inside a character with its combining marks.

    >>> clipped("a" * 10, 10)
    'aaaaaaaaaa'
    """
    if len(text) <= most:
        return text
    head = _boundary(text, most * 3 // 4)
    tail = _boundary(text, len(text) - (most - most * 3 // 4))
    if tail <= head:
        return text
    return f"{text[:head]}\n[… {tail - head:,} characters left out …]\n{text[tail:]}"


def _boundary(text: str, at: int) -> int:
    """The nearest place at or before `at` that does not part a character from its marks."""
    while 0 < at < len(text) and (unicodedata.combining(text[at]) or text[at] == "\u200d" or text[at - 1] == "\u200d"):
        at -= 1
    return at


def sound(text: str) -> str:
    """The text with U+FFFD for every lone surrogate, which files may hold and no wire format or store takes."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
