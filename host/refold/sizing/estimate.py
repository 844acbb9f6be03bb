"""The local estimator: how many tokens a text is, without any tokenizer.

A text becomes one byte a character that names the character's class (`_CLASSES`), and the estimate is a weighted sum
of how often short patterns of classes occur in it: a word is a letter behind a space, camel case an upper letter
behind a lower one, a base64 run a crowd of such changes. Counting runs in C over the whole text, so an estimate costs
about ten nanoseconds a character and never more than linear time.

The figures are raw: sizes for a model are these times its family's factor (`refold.sizing.families`) and a learnt one.
They are stored beside rows as running totals, and a stored cut names such a total: a row keeps the figure that it was
appended with, so a change to what this module returns holds for new rows alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from zlib import adler32

import orjson

from refold.values.rows import Call, Row

Patterns = tuple[tuple[bytes, int], ...]

MESSAGE = 4
"""Raw tokens that a provider's template puts around one message."""

CALL = 8
"""Raw tokens that a provider's template puts around one tool call, name and arguments not counted."""


def _classes() -> bytes:
    """The class of a character, by the first byte of its UTF-8 form."""
    table = bytearray(b"p" * 256)
    ranges = (
        (b"a", 0x61, 0x7A),  # lower-case letters
        (b"A", 0x41, 0x5A),  # upper-case letters
        (b"0", 0x30, 0x39),  # digits
        (b"l", 0xC3, 0xCB),  # letters of extended Latin alphabets
        (b"c", 0xCC, 0xDF),  # Greek, Cyrillic, Hebrew, Arabic
        (b"i", 0xE0, 0xE0),  # Indic scripts, Thai
        (b"l", 0xE1, 0xE1),  # Vietnamese, Georgian
        (b"y", 0xE2, 0xE2),  # typographic signs, arrows, box drawing
        (b"k", 0xE3, 0xE3),  # kana
        (b"h", 0xE4, 0xE9),  # Han
        (b"g", 0xEA, 0xED),  # Hangul
        (b"w", 0xEE, 0xEF),  # full-width forms, private use
        (b"e", 0xF0, 0xFF),  # emoji and everything beyond the basic plane
    )
    for name, first, last in ranges:
        table[first : last + 1] = name * (last - first + 1)
    for sign in b"-=*#~_.":  # what rulers and leaders are drawn with: a long run of one of them costs little
        table[sign] = ord("r")
    table[0x20] = ord("s")
    table[0x09] = ord("t")
    table[0x0A] = table[0x0D] = ord("n")
    return bytes(table)


_CLASSES = _classes()
_CONTINUATION = bytes(range(0x80, 0xC0))

# Hundredths of a token for each occurrence, fitted by tests/bench/fit_estimator.py.
_NEAR: Patterns = (  # one character, or two unlike ones
    # where words begin, and what letters add to a word
    (b"sa", 34), (b"sA", 63), (b"na", 73), (b"pa", 8), (b"pA", 100), (b"ra", 80), (b"aA", 71), (b"0a", 70), (b"0A", 90),
    (b"A", 33),
    # digits
    (b"0", 26), (b"s0", 171), (b"p0", 42), (b"r0", 141), (b"a0", 87), (b"A0", 117),
    # signs and space
    (b"p", 58), (b"ps", 21), (b"r", 6), (b"n", 45), (b"ns", 43), (b"t", 115),
    # words beyond ASCII
    (b"c", 12), (b"sc", 204), (b"g", 70), (b"sg", 70),
)  # fmt: skip
_RUNS: Patterns = (  # occurrences that do not overlap
    (b"AA", 17), (b"aa", 33), (b"sas", 79), (b"a" * 12, 181), (b"a" * 24, 330), (b"pppp", 31), (b"ssss", 13),
)  # fmt: skip
_BEYOND: Patterns = (  # characters that ASCII has not
    (b"l", 123), (b"i", 57), (b"y", 29), (b"k", 57), (b"h", 95), (b"w", 138), (b"e", 264),
)  # fmt: skip

# The classes in _NEAR, each with a code of four bits; 0 is any other.
_CODES = bytes(max(0, b"?saAnpr0tcg".find(name)) for name in range(256))


def _near() -> bytes:
    """What a character costs by itself and by the next one: hundredths, at the byte that `_pairs` makes of the two."""
    hundredths = [0] * 256
    for pattern, weight in _NEAR:
        first, *second = pattern.translate(_CODES)
        for code in second or range(16):
            hundredths[first | code << 4] += weight
    return bytes(hundredths)


_HUNDREDTHS = _near()


def tokens(text: str) -> int:
    """The raw tokens of a text, at least 1 unless it is empty.

    >>> tokens(""), tokens("The quick brown fox jumps over the lazy dog.")
    (0, 8)
    """
    return _count(text.encode("utf-8", "surrogatepass"))


def _class_string(data: bytes) -> bytes:
    """One byte a character: the continuation bytes of UTF-8 fall away, every first byte becomes its class."""
    return data.translate(_CLASSES, _CONTINUATION)


def _count(data: bytes) -> int:
    if not data:
        return 0
    classes = _class_string(data)
    hundredths = _sum(_pairs(classes).translate(_HUNDREDTHS))
    for pattern, weight in _RUNS if data.isascii() else _RUNS + _BEYOND:
        hundredths += weight * classes.count(pattern)
    return max(1, -(-hundredths // 100))


def _pairs(classes: bytes) -> bytes:
    """One byte a character: the code of its class, and above it the code of the next one's.

    All pairs are made at once, by a shift of the whole text as one number.
    """
    codes = int.from_bytes(classes.translate(_CODES), "little")
    return (codes | codes >> 4).to_bytes(len(classes), "little")


def _sum(numbers: bytes) -> int:
    """The sum of the bytes, as the checksum of RFC 1950 has it: its lower half is 1 + the sum modulo 65,521."""
    return sum([(adler32(numbers[at : at + 256]) & 0xFFFF) - 1 for at in range(0, len(numbers), 256)])


def arguments_tokens(arguments: Mapping[str, Any]) -> int:
    """The raw tokens of a call's arguments as compact JSON."""
    try:
        return _count(orjson.dumps(arguments))
    except TypeError:  # an integer beyond 64 bits, a lone surrogate, a mapping that is no dict
        return tokens(json.dumps(dict(arguments), ensure_ascii=False, separators=(",", ":"), default=str))


def call_tokens(call: Call) -> int:
    """The raw tokens of one tool call: id, name, arguments and what stands around them."""
    return CALL + tokens(call.id) + tokens(call.name) + arguments_tokens(call.arguments)


def row_tokens(row: Row) -> int:
    """The raw tokens of one durable row without its images; 0 for an event row, which is never sent.

    It is the sum over what the row is sent as, so totals over rows bound what a request made of them holds.
    """
    if row.kind == "event":
        return 0
    size = MESSAGE + tokens(row.text) + sum(call_tokens(call) for call in row.calls)
    if row.call_id is not None:
        size += tokens(row.call_id)
    if row.replay is not None:
        size += tokens(row.replay.payload)
    return size
