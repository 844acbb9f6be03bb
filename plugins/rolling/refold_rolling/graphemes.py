"""Where a text may be cut so that nothing a reader sees as one character falls apart.

The rules of Unicode's extended grapheme clusters (UAX 29) as far as the standard library's tables carry them: marks,
joiners, skin tones, tags, flags, Hangul syllables, line ends.
"""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"


def boundary(text: str, at: int) -> int:
    """The last place at or before `at` where the text may be cut; 0 when its whole beginning belongs together."""
    while 0 < at < len(text) and _joined(text, at):
        at -= 1
    return at


def _joined(text: str, at: int) -> bool:
    """Whether the characters before and behind the place belong together."""
    before, behind = text[at - 1], text[at]
    if _extends(behind) or before == _JOINER or (before == "\r" and behind == "\n"):
        return True
    if _is_flag(before) and _is_flag(behind):
        return _flags_before(text, at) % 2 == 1
    return _in_syllable(before, behind)


def _extends(character: str) -> bool:
    return (
        unicodedata.category(character).startswith("M")
        or character in "\u200c\u200d"
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= character <= "\U000e007f"  # tags
    )


def _is_flag(character: str) -> bool:
    """Two of these letters are one flag."""
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flags_before(text: str, at: int) -> int:
    start = at
    while start > 0 and _is_flag(text[start - 1]):
        start -= 1
    return at - start


def _in_syllable(before: str, behind: str) -> bool:
    """Hangul: a leading letter takes a vowel or a whole syllable, those take vowels and final letters."""
    if "\u1100" <= before <= "\u115f":
        return "\u1100" <= behind <= "\u11a7" or "가" <= behind <= "힣"
    if "\u1160" <= before <= "\u11a7" or "가" <= before <= "힣":
        return "\u1160" <= behind <= "\u11ff"
    return "\u11a8" <= before <= "\u11ff" and "\u11a8" <= behind <= "\u11ff"
