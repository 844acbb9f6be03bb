"""Untrusted text on a terminal: whatever could move the cursor, change a colour, set a title or turn the direction of
writing is shown as its escape."""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"  # they shape words and emoji, and move nothing
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def visible(text: str) -> str:
    """The text on one line: white space becomes single spaces, other invisible characters their escapes.

    >>> visible("a\\tb\\x1b[31m")
    'a b\\\\x1b[31m'
    """
    return visible_lines(" ".join(text.split()))


def visible_lines(text: str) -> str:
    """The text with its line breaks and tabs, other invisible characters as their escapes."""
    text = text.replace("\r\n", "\n")
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _harmless(char) else _escaped(char) for char in text)


def _harmless(char: str) -> bool:
    return char.isprintable() or char in "\n\t" or char in _JOINERS or unicodedata.category(char) not in _HIDDEN


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
