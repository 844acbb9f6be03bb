"""The beginning of a file, as detection reads it: the structure of its JSON without its long values.

A beginning of fixed size may end inside the first message, since one screenshot is a megabyte of one text. So texts
and lists are shortened while the file is read, and what was cut off is closed before it is parsed.
"""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, BinaryIO

from attrs import frozen

from refold.importers.lines import BOM, LINE_LIMIT, Unreadable, parse

HEAD = 64 * 1024
"""Bytes of a head, at most. The head of a smaller file is the file."""

_TEXT = 160  # bytes kept of one text
_ITEMS = (200, 200, 30, 30)  # items kept of one list, by depth
_DEEPER = 8
_KEYS = 100  # members kept of one object
_LINES = 200  # lines that are looked at
_SCANNED = 64 * 1024 * 1024  # bytes of the file that are read at most
_TOKENS = 300_000  # steps of the scan, so that no file takes long
_CHUNK = 256 * 1024

_SPACE = b" \t\r\n"
_STRUCTURE = re.compile(rb'["\[\]{},]')
_INSIDE = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{},:]|[^\s\[\]{},:"]++', re.DOTALL)
_HALF_ESCAPE = re.compile(rb"(\\+)(?:u[0-9a-fA-F]{0,3})?\Z")
_CLOSERS = {ord("["): b"]", ord("{"): b"}"}


def head_of(stream: BinaryIO) -> bytes:
    """The first `HEAD` bytes of a file, or the outline of its beginning when it is JSON and larger."""
    stream.seek(0)
    raw = stream.read(HEAD + 1)
    if len(raw) <= HEAD:
        return raw
    if raw.removeprefix(BOM).lstrip()[:1] not in (b"[", b"{"):
        return raw[:HEAD]
    lines = is_lines(stream)
    stream.seek(0)
    head = b"".join(_outlined_lines(stream)) if lines else _Outline(stream).read()
    return head[:HEAD]


def is_lines(stream: BinaryIO) -> bool:
    """Whether a file holds one JSON value a line, rather than one document.

    One line alone is a document. A first line that is broken does not make a document of the others.
    """
    stream.seek(0)
    start = 0
    length = 0
    while True:
        chunk = stream.read(_CHUNK)
        if not chunk:
            return False
        if length == 0 and not chunk.removeprefix(BOM).lstrip(_SPACE):
            start += len(chunk)
            continue
        if length == 0:
            blank = len(chunk) - len(chunk.removeprefix(BOM).lstrip(_SPACE))
            start, chunk = start + blank, chunk[blank:]
        end = chunk.find(b"\n")
        length += end if end >= 0 else len(chunk)
        if end >= 0:
            rest = chunk[end:]
            break
    while not rest.strip(_SPACE):
        rest = stream.read(_CHUNK)
        if not rest:
            return False
    if length > LINE_LIMIT:
        return True
    stream.seek(start)
    line = stream.read(length)
    if line[:1] not in (b"[", b"{") or not isinstance(parse(line.strip(_SPACE)), Unreadable):
        return True
    return _ends_in_text(line)


def _ends_in_text(line: bytes) -> bool:
    tokens = deque(_TOKEN.finditer(line), maxlen=1)
    return bool(tokens) and tokens[0][0][:1] == b'"' and not _is_whole(tokens[0][0])


def _is_whole(text: bytes) -> bool:
    """Whether a matched text token has its closing quote."""
    return len(text) > 1 and text[-1:] == b'"' and _INSIDE.match(text, 1).end() == len(text) - 1  # type: ignore[union-attr]


def _outlined_lines(stream: BinaryIO) -> Iterator[bytes]:
    made = read = 0
    for _ in range(_LINES):
        line = stream.readline(LINE_LIMIT)
        read += len(line)
        if not line or made >= HEAD or read > _SCANNED:
            return
        short = _Outline(io.BytesIO(line)).read() if len(line) > _TEXT else line
        made += len(short)
        yield short


class _Outline:
    """One JSON text, copied byte for byte but for the ends of long texts and long lists."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._out = bytearray()
        self._counts: list[int] = []
        """For each list or object that is open: how many more items of it are kept."""
        self._skipped_at = 0
        """The depth whose further items are left out; 0: none."""
        self._text = -1
        """Bytes kept of the text that is open; -1: none is."""
        self._escaped = False
        self._tokens = 0

    def read(self) -> bytes:
        read = 0
        while len(self._out) < HEAD and read < _SCANNED and self._tokens < _TOKENS:
            chunk = self._stream.read(_CHUNK)
            if not chunk:
                break
            read += len(chunk)
            self._feed(chunk)
        return bytes(self._out)

    def _feed(self, chunk: bytes) -> None:
        at = 0
        while at < len(chunk) and len(self._out) < HEAD:
            self._tokens += 1
            at = self._in_text(chunk, at) if self._text >= 0 else self._between(chunk, at)

    def _in_text(self, chunk: bytes, at: int) -> int:
        start = at + self._escaped
        self._escaped = False
        found = _INSIDE.match(chunk, start)
        end = found.end() if found else start
        if self._text < _TEXT:
            kept = chunk[at : min(end, at + _TEXT - self._text)]
            self._keep(_whole_escapes(kept))
            self._text += len(kept)
        if end >= len(chunk):
            return end
        if chunk[end : end + 1] == b"\\":  # the chunk ends between a backslash and what it escapes
            self._escaped = True
            if self._text < _TEXT:
                self._text = _TEXT
            return end + 1
        self._keep(b'"')
        self._text = -1
        return end + 1

    def _between(self, chunk: bytes, at: int) -> int:
        found = _STRUCTURE.search(chunk, at)
        end = found.start() if found else len(chunk)
        self._keep(chunk[at : min(end, at + _TEXT)])
        if found is None:
            return end
        mark = found[0]
        if mark == b'"':
            self._text = 0
        elif mark in b"[{":
            depth = len(self._counts)
            limit = _KEYS if mark == b"{" else _ITEMS[depth] if depth < len(_ITEMS) else _DEEPER
            self._counts.append(limit)
        elif mark == b",":
            if self._counts:
                self._counts[-1] -= 1
                if not self._counts[-1] and not self._skipped_at:
                    self._skipped_at = len(self._counts)
        elif self._counts:
            self._counts.pop()
            if len(self._counts) < self._skipped_at:
                self._skipped_at = 0
        self._keep(mark)
        return end + 1

    def _keep(self, data: bytes) -> None:
        if not self._skipped_at:
            self._out += data


def _whole_escapes(text: bytes) -> bytes:
    """The text without an escape that is cut, or a character of which bytes are missing."""
    found = _HALF_ESCAPE.search(text)
    if found and len(found[1]) % 2:
        text = text[: found.end(1) - 1]
    return text.decode("utf-8", "ignore").encode() if text and text[-1] >= 0x80 else text


def closed(text: bytes) -> bytes:
    """JSON that was cut, as JSON: its last whole value, or half a text, ends it."""
    stack: list[int] = []
    safe, ending = 0, b""
    is_value = True
    for token in _TOKEN.finditer(text):
        mark = token[0][:1]
        if mark in b"[{":
            stack.append(mark[0])
            is_value = mark == b"["
            safe, ending = token.end(), b""
        elif mark in b"]}":
            if stack:
                stack.pop()
            safe, ending = token.end(), b""
        elif mark == b",":
            is_value = bool(stack) and stack[-1] == ord("[")
        elif mark == b":":
            is_value = True
        elif not is_value:
            continue
        elif mark == b'"':
            whole = _is_whole(token[0])
            kept = token[0] if whole else _whole_escapes(token[0])
            safe, ending = token.start() + len(kept), b"" if whole else b'"'
        elif token.end() < len(text):
            safe, ending = token.end(), b""
    return text[:safe] + ending + b"".join(_CLOSERS[mark] for mark in reversed(stack))


@frozen
class Beginning:
    """What a head shows: the one document, or the first lines that are JSON. Other files have neither."""

    document: Any
    lines: tuple[Any, ...]
    is_cut: bool
    """Whether the head ends in the middle of its last value."""

    @property
    def records(self) -> list[Mapping[str, Any]]:
        """The JSON objects that the file begins with: one a line, or the document itself."""
        return [value for value in (*self.lines, self.document) if isinstance(value, dict)]


@lru_cache(maxsize=4)
def beginning(head: bytes) -> Beginning:
    """Parses a head, or any beginning of a file."""
    text = head.removeprefix(BOM).strip(_SPACE)
    if text[:1] in (b"[", b"{") and not is_lines(io.BytesIO(text)):
        document = parse(text)
        if not isinstance(document, Unreadable):
            return Beginning(document, (), is_cut=False)
        document = parse(closed(text))
        return Beginning(None if isinstance(document, Unreadable) else document, (), is_cut=True)
    found = []
    lines = text.split(b"\n")
    is_cut = False
    for number, line in enumerate(lines, 1):
        line = line.strip(_SPACE)
        if line[:1] not in (b"[", b"{"):
            continue
        value = parse(line)
        if isinstance(value, Unreadable) and number == len(lines):
            is_cut = True
            value = parse(closed(line))
        if not isinstance(value, Unreadable):
            found.append(value)
    return Beginning(None, tuple(found), is_cut)
