"""Untrusted JSON, line by line: nothing here raises, and nothing disappears without a reason.

A line that cannot be read becomes an `Unreadable`, which says why; the lines around it are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, BinaryIO

import orjson
from attrs import frozen

LINE_LIMIT = 64 * 1024 * 1024
"""Bytes of the longest line that is read; it bounds the memory of an import whatever the file holds."""

BOM = b"\xef\xbb\xbf"
# orjson turns integers beyond 64 bits into floats without a word; lines that may hold one take the exact parser. Making
# all digits alike and looking for a run is ten times faster than a regular expression.
_ALIKE = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
_LONG_NUMBER = b"0" * 19
# What a JSON value begins with (NaN and Infinity, too); anything else needs no parser to be told apart.
_BEGINNINGS = frozenset(b'{["-0123456789tfnNI')
_DIGITS_LIMIT = 4000  # Python refuses to convert longer numbers


@frozen
class Unreadable:
    """Why a line was skipped, in words for people."""

    reason: str


def parse(line: bytes) -> Any:
    """The JSON value of one line, or an `Unreadable`.

    Bytes that are not UTF-8 become U+FFFD, lone surrogates stay, integers stay exact; one of more than 4,000 digits
    becomes the text of its digits.
    """
    if not line or line[0] not in _BEGINNINGS:
        return Unreadable("not JSON at character 1")
    if _LONG_NUMBER not in line.translate(_ALIKE):
        try:
            return orjson.loads(line)
        except orjson.JSONDecodeError as error:
            if "depth limit" in str(error):
                return Unreadable("nested too deeply to be read")
    try:
        return json.loads(line.decode("utf-8", "replace"), strict=False, parse_int=exact_integer)
    except RecursionError:
        return Unreadable("nested too deeply to be read")
    except ValueError as error:
        where = f" at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else ""
        return Unreadable(f"not JSON{where}")


def records(stream: BinaryIO, limit: int = LINE_LIMIT) -> Iterator[Any]:
    """One item a line that is not blank: its JSON value, or an `Unreadable`."""
    first = True
    while line := stream.readline(limit + 1):
        if first and line.startswith(BOM):
            line = line[len(BOM) :]
        first = False
        if len(line) > limit:
            yield Unreadable(f"a line of {len(line) + _rest(stream, limit)} bytes is over the limit of {limit}")
            continue
        whole = line.endswith(b"\n")
        line = line.strip()
        if line:
            value = parse(line)
            if isinstance(value, Unreadable) and not whole:
                value = Unreadable("the file ends in the middle of this line")
            yield value


def exact_integer(digits: str) -> int | str:
    """A JSON integer as it is; one too long for Python to convert stays the text of its digits."""
    return int(digits) if len(digits) <= _DIGITS_LIMIT else digits


def _rest(stream: BinaryIO, limit: int) -> int:
    """Reads the remainder of a line in pieces, keeps nothing, and returns its length in bytes."""
    length = 0
    while piece := stream.readline(limit):
        length += len(piece)
        if piece.endswith(b"\n"):
            break
    return length


def json_text(value: Any) -> str:
    """A value as JSON text, the same for equal values; what JSON cannot say is replaced by words that say so."""
    try:
        return orjson.dumps(value).decode()
    except (orjson.JSONEncodeError, RecursionError):
        pass  # lone surrogates, wide integers, deep nesting
    try:
        return json.dumps(value, separators=(",", ":"), default=str)
    except RecursionError:
        return '"[nested too deeply to be kept]"'


def as_text(value: Any) -> str:
    """A text as it is, nothing as an empty text, anything else as its JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json_text(value)


def as_word(value: Any) -> str:
    """A text that is looked up among known words; empty for anything but a text."""
    return value if isinstance(value, str) else ""


def as_map(value: Any) -> Mapping[str, Any]:
    """The object itself, or an empty one when something else stands in its place."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The list itself, or an empty one when something else stands in its place."""
    return value if isinstance(value, list) else []


def as_name(value: Any) -> str:
    """A file's own name for a session: printable, without spaces, at most 100 characters; else empty."""
    if not isinstance(value, str):
        return ""
    return "".join(c if c.isprintable() and not c.isspace() else "_" for c in value[:100])


def as_time(value: Any) -> str | None:
    """A moment as sessions keep it: UTC in ISO 8601, whole seconds. Takes ISO 8601, or seconds or milliseconds since
    1970; None for anything else, and for years outside 1990 to 2200."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    if not 1990 <= moment.year <= 2200:
        return None
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def as_title(value: Any) -> str | None:
    """A file's own title for a session: one line of at most 200 characters; None for nothing of the kind."""
    if not isinstance(value, str):
        return None
    line = " ".join(value[:2000].split())[:200]
    return "".join(c if c.isprintable() else "_" for c in line) or None


def as_arguments(value: Any) -> Mapping[str, Any]:
    """A call's arguments: an object, or the text of one; anything else stands whole under `input`."""
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        text = value.strip()
        parsed = parse(text.encode("utf-8", "surrogatepass")) if text else {}
        return parsed if isinstance(parsed, dict) else {"input": value}
    return {} if value is None else {"input": value}


def between(text: str, start: str, end: str) -> str | None:
    """The text between the first `start` and the next `end`; None when either is missing."""
    opening = text.find(start)
    if opening < 0:
        return None
    closing = text.find(end, opening + len(start))
    return None if closing < 0 else text[opening + len(start) : closing]
