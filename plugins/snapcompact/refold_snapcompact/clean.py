"""The text of rows, normalized for the archive. Whatever a reader would miss stays or is named.

Gone are escape sequences of terminals, presentation selectors behind signs, blank lines, and spaces at the end of a
line; indentation stands at half its width, and a gap inside a line is two spaces. That saves a good part of the cells
of source code, and nobody has to guess what was there.
"""

from __future__ import annotations

import re
import unicodedata

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)|\x1b[()][AB0]|\x1b[@-Z\\^_=>78c]"
)
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_DATA_URL = re.compile(r"data:([\w.+/-]{0,80})(?:;[\w=.+-]{1,80}){0,4};base64,([A-Za-z0-9+/_=-]{200,})")
_SPACES = re.compile("[\xa0\u2000-\u200a\u202f\u205f]")
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
_TRAILING = re.compile(r"(?<![ \t])[ \t]+$", re.MULTILINE)
_BLANK = re.compile(r"\n{2,}")
_INNER = re.compile(r"(?<=\S)[ \t]+(?=\S)")
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The normalized text. It has no blank line and no space around it.

    >>> clean("\\x1b[31mred\\x1b[0m  text \\n\\n    indented\\tgap")
    'red  text\\n  indented  gap'
    """
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    text = _LINE_ENDS.sub("\n", text)
    if ";base64," in text:
        text = _DATA_URL.sub(_omitted, text)
    if not text.isascii():
        text = _SURROGATE.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)
        text = unicodedata.normalize("NFC", text).replace("\ufe0e", "").replace("\ufe0f", "")
        text = _SPACES.sub(" ", text).replace("\u3000", "  ").replace("\u2800", " ")
    text = _BLANK.sub("\n", _TRAILING.sub("", text)).strip("\n")
    if "  " in text or "\t" in text:
        text = _INNER.sub(lambda found: " " if found[0] == " " else "  ", text)
        text = _INDENT.sub(lambda found: " " * (-(-len(found[0].expandtabs(4)) // 2)), text)
    return text if text.strip() else ""


def _omitted(found: re.Match[str]) -> str:
    return f"[data URL omitted: {found[1] or 'no type'}, {len(found[2]):,} base64 characters]"
