"""A whole JSON document read piece by piece, so that a large one costs the memory of its largest message.

Two shapes: a list of messages, or an object in which one key holds that list.
"""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from refold.importers.lines import BOM, LINE_LIMIT, Unreadable, exact_integer

_CHUNK = 1024 * 1024
_SPACE = " \t\r\n"
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
            raise _Ended("the document ends in the middle" if not found else f"`{expected}` is missing")
        self._at += 1

    def value(self) -> Any:
        """Takes one JSON value; doubling what is read at a time keeps long values linear. Raises _Ended."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise _Ended("a value is nested too deeply to be read") from None
            except ValueError:
                value, end = None, -1
            # A number that touches the end of the window may go on behind it.
            if end >= 0 and (end < len(self._text) or self._ended):
                self._at = end
                return value
            if self._ended:
                raise _Ended("a value is not JSON, or the document ends in the middle of it")
            if len(self._text) - self._at > self._limit:
                raise _Ended(f"a value is over the limit of {self._limit} bytes")
            self._grow(max(_CHUNK, len(self._text) - self._at))


def members(stream: BinaryIO, key: str = "messages", limit: int = LINE_LIMIT) -> Iterator[tuple[str, Any]]:
    """The parts of a document in their order: `(key, item)` for each item of the list, `(name, value)` for the rest.

    A document that breaks off, or cannot be read any further, ends with `(key, Unreadable)`.
    """
    text = _Text(stream, limit)
    count = 0
    try:
        opening = text.peek()
        if not opening:
            return
        if opening == "[":
            for item in _items(text):
                yield key, item
                count += 1
        else:
            text.take("{")
            while text.peek() != "}":
                name = text.value()
                if not isinstance(name, str):
                    raise _Ended("an object's key is no text")
                text.take(":")
                if name == key and text.peek() == "[":
                    for item in _items(text):
                        yield key, item
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
        yield key, Unreadable(f"{ended}; {count} messages before it were read")


def _items(text: _Text) -> Iterator[Any]:
    text.take("[")
    if text.peek() != "]":
        while True:
            yield text.value()
            if text.peek() != ",":
                break
            text.take(",")
    text.take("]")


def first_message(head: bytes) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The other keys and the messages that are whole in a document's beginning, for `detect`."""
    others: dict[str, Any] = {}
    messages: list[dict[str, Any]] = []
    if head.removeprefix(BOM).lstrip()[:1] in (b"[", b"{"):
        for name, value in members(io.BytesIO(head)):
            if name == "messages":
                if isinstance(value, dict):
                    messages.append(value)
            else:
                others[name] = value
    return others, messages
