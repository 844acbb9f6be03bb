"""The local estimator: how many tokens a text is, without any tokenizer.

A text becomes one byte a character that names the character's class (`_CLASSES`), and the estimate is a weighted sum
of how often short patterns of classes occur in it: a word is a letter behind a space, camel case an upper letter
behind a lower one, a base64 run a crowd of such changes. Counting patterns runs in C, so an estimate costs
nanoseconds a character and never more than linear time.

The figures are raw: sizes for a model are these times its family's factor (`refold.sizing.families`) and a learnt one.
They are stored beside rows as running totals, so any change to what this module returns is a new ESTIMATOR_VERSION.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson

from refold.values.rows import Call, Row

ESTIMATOR_VERSION = 1
"""Stored with running totals; totals of another version are rebuilt, never mixed."""

MESSAGE = 4
"""Raw tokens that a provider's template puts around one message."""

CALL = 8
"""Raw tokens that a provider's template puts around one tool call, name and arguments not counted."""

_HUNDREDTHS = 100


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
    table[0x20] = ord("s")
    table[0x09] = ord("t")
    table[0x0A] = table[0x0D] = ord("n")
    return bytes(table)


_CLASSES = _classes()
_CONTINUATION = bytes(range(0x80, 0xC0))

_ASCII: tuple[tuple[bytes, int], ...] = (
    (b"sa", 116), (b"sA", 116), (b"na", 116), (b"nA", 116), (b"pa", 100), (b"pA", 100), (b"ta", 116), (b"tA", 116),
    (b"aA", 116), (b"0a", 100), (b"0A", 100), (b"aaaaaaaa", 60), (b"AA", 60), (b"a0", 60), (b"A0", 60),
    (b"s0", 60), (b"p0", 60), (b"n0", 60), (b"000", 120), (b"p", 40), (b"n", 60), (b"sss", 20), (b"t", 50),
)  # fmt: skip
_BEYOND: tuple[tuple[bytes, int], ...] = (
    (b"l", 60), (b"c", 40), (b"i", 50), (b"y", 90), (b"k", 80), (b"h", 85), (b"g", 80), (b"w", 95), (b"e", 250),
)  # fmt: skip


def tokens(text: str) -> int:
    """The raw tokens of a text, at least 1 unless it is empty.

    >>> tokens("")
    0
    """
    return _count(text.encode("utf-8", "surrogatepass"))


def _count(data: bytes) -> int:
    if not data:
        return 0
    if data.isascii():
        classes = data.translate(_CLASSES)
        total = 0
    else:
        classes = data.translate(_CLASSES, _CONTINUATION)
        total = sum(weight * classes.count(pattern) for pattern, weight in _BEYOND)
    total += sum(weight * classes.count(pattern) for pattern, weight in _ASCII)
    return max(1, -(-total // _HUNDREDTHS))


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
