"""A whole JSON document read piece by piece, so that a large one costs the memory of its largest message.

Two shapes: a list of items, or an object in which one key holds that list.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from refold.importers.lines import BOM, LINE_LIMIT, Unreadable, exact_integer

_CHUNK = 256 * 1024
_SPACE = " \t\r\n"
MESSAGES = ("messages",)
CUT = "the file is cut: its JSON ends in the middle"
_WORD_BEGINS = re.compile(r"t(r(ue?)?)?|f(a(l(se?)?)?)?|n(u(ll?)?)?|-").fullmatch
_DECODER = json.JSONDecoder(strict=False, parse_int=exact_integer)


class _Ended(Exception):
    """The document ended, or a value in it cannot be read; the message says which."""


class _Text:
    """A window on the text of a stream that grows on demand and forgets what was taken."""

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._text = ""
        self._at = 0
        self._ended = False
        self._grow(_CHUNK)
        self._text = self._text.removeprefix(BOM.decode())

    def _grow(self, size: int) -> None:
        data = self._stream.read(size)
        self._ended = not data
        self._text = self._text[self._at :] + self._decode(data, self._ended)
        self._at = 0

    def peek(self) -> str:
        """The next character that is not white space; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._grow(_CHUNK)

    def take(self, expected: str) -> None:
        """Takes one character. Raises _Ended when another one, or none, stands there."""
        found = self.peek()
        if found != expected:
            raise _Ended(CUT if not found else f"`{expected}` is missing")
        self._at += 1

    def value(self) -> Any:
        """Takes one JSON value; doubling what is read at a time keeps long values linear. Raises _Ended."""
        self.peek()
        while True:
            at_end = False
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise _Ended("a value is nested too deeply to be read") from None
            except json.JSONDecodeError as error:
                value, end = None, -1
                at_end = self._is_cut(error)
            except ValueError:
                value, end = None, -1
            # A number that touches the end of the window may go on behind it.
            if end >= 0 and (end < len(self._text) or self._ended):
                self._at = end
                return value
            if self._ended:
                raise _Ended(CUT if at_end else "a value is not JSON")
            if len(self._text) - self._at > self._limit:
                raise _Ended(f"a value is over the limit of {self._limit} bytes")
            self._grow(max(_CHUNK, len(self._text) - self._at))

    def _is_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether the text ended where JSON would have gone on, rather than going on with something else."""
        rest = self._text[error.pos :].rstrip(_SPACE)
        return not rest or error.msg.startswith("Unterminated string") or _WORD_BEGINS(rest[:5]) is not None


def members(stream: BinaryIO, keys: Sequence[str] = MESSAGES, limit: int = LINE_LIMIT) -> Iterator[tuple[str, Any]]:
    """The parts of a document in their order: `(key, item)` for each item of a list under one of the keys, and
    `(name, value)` for the rest. The items of a document that is a list have the first key, or none where no
    keys are given.

    A document that breaks off, or cannot be read any further, ends with `(key, Unreadable)`.
    """
    text = _Text(stream, limit)
    first = keys[0] if keys else ""
    count = 0
    try:
        opening = text.peek()
        if not opening:
            return
        if opening == "[":
            for item in _items(text):
                yield first, item
                count += 1
        else:
            text.take("{")
            while text.peek() != "}":
                name = text.value()
                if not isinstance(name, str):
                    raise _Ended("an object's key is no text")
                text.take(":")
                if name in keys and text.peek() == "[":
                    for item in _items(text):
                        yield name, item
                        count += 1
                else:
                    yield name, text.value()
                if text.peek() == "}":
                    break
                text.take(",")
            text.take("}")
        if text.peek():
            raise _Ended("there is text behind the end of the document")
    except _Ended as ended:
        yield first, Unreadable(f"{ended}; {count} messages before it were read" if keys else str(ended))


def _items(text: _Text) -> Iterator[Any]:
    text.take("[")
    if text.peek() != "]":
        while True:
            yield text.value()
            if text.peek() != ",":
                break
            text.take(",")
    text.take("]")
