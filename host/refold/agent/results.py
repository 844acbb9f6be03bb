"""What tools give back, as text and pictures: whatever a function may return, or an error that says what it may not."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from collections.abc import Set as AnySet
from typing import Any

import attrs
import orjson
from attrs import evolve, frozen

from refold.agent.tools import Cap
from refold.providers.decodable import media_type
from refold.transcript.image_header import read_header
from refold.values.rows import Image
from refold.values.tools import ToolResult

_AS_IS = "return a text, JSON values, bytes, None or a ToolResult"
_NUMBERS = (bool, int, float)
_LISTS = (Mapping, list, tuple, AnySet)


def content(value: object) -> ToolResult:
    """A value as the result that it means. Raises TypeError for one that has no words of its own.

    None is no output; dicts, lists, numbers, dataclasses and attrs classes are JSON; bytes are a picture, if they are
    one, else UTF-8 text; anything else is what `str` makes of it.

    >>> content({"rows": 3, "of": {"b", "a"}}).text
    '{"rows":3,"of":["a","b"]}'
    """
    if isinstance(value, ToolResult):
        return _checked(value)
    if value is None:
        return ToolResult()
    if isinstance(value, str):
        return ToolResult(str(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
        return ToolResult(images=(data,)) if media_type(data) else ToolResult(_decoded(data))
    if isinstance(value, (*_NUMBERS, *_LISTS)) or attrs.has(type(value)) or hasattr(value, "__dataclass_fields__"):
        return ToolResult(_json(value))
    return ToolResult(_words(value))


def shown(result: ToolResult, cap: Cap) -> tuple[str, tuple[Image, ...]]:
    """Text and pictures of a result, as much as it may take; a line tells of each picture that is left out."""
    left = cap.tokens
    kept: list[Image] = []
    lines: list[str] = []
    for number, given in enumerate(result.images, 1):
        found = _picture(given)
        if found is None:
            size = f"{len(given):,} bytes" if isinstance(given, bytes) else "no bytes"
            lines.append(f"[picture {number} left out: its {size} are no picture that can be decoded]")
            continue
        tokens = cap.sizer.image(found.width, found.height)
        if left is not None and tokens > left:
            lines.append(f"[picture {number} left out: its {tokens:,} tokens are more than this result may take]")
            continue
        left = None if left is None else left - tokens
        kept.append(found.image)
    text = evolve(cap, tokens=left).cut(result.text)
    return "\n".join([*([text] if text or not lines else []), *lines]), tuple(kept)


@frozen
class _Picture:
    """A picture and its size in pixels; 0: unknown."""

    image: Image
    width: int
    height: int


def _picture(given: bytes | Image) -> _Picture | None:
    if isinstance(given, Image):
        return _Picture(given, given.width, given.height)
    kind, header = media_type(given), read_header(given)
    if kind is None:
        return None
    return _Picture(Image.of(given, kind), header.width if header else 0, header.height if header else 0)


def _checked(result: ToolResult) -> ToolResult:
    if not isinstance(result.text, str):
        raise TypeError(f"ToolResult.text is {type(result.text).__name__}, not str")
    wrong = next((each for each in result.images if not isinstance(each, (bytes, Image))), None)
    if wrong is not None:
        raise TypeError(f"ToolResult.images holds {type(wrong).__name__}, not bytes or Image")
    return result


def _json(value: object) -> str:
    try:
        return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError as error:
        if isinstance(error.__cause__, TypeError):
            raise error.__cause__ from None
    try:  # numbers beyond 64 bits, lone surrogates
        return json.dumps(value, default=_plain, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"it returned what no JSON can hold ({error}); {_AS_IS}") from None


def _plain(value: Any) -> Any:
    """What JSON does not have, as what it has."""
    if attrs.has(type(value)):
        return {each.name: getattr(value, each.name) for each in attrs.fields(type(value))}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, AnySet):
        return sorted(value, key=str)  # the order of a set differs from process to process
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _decoded(bytes(value))
    return _words(value)


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"[{len(data):,} bytes, neither text nor a picture]"


def _words(value: object) -> str:
    kind = type(value)
    own = kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__
    if not own or callable(value) or isinstance(value, (Iterator, AsyncIterator)):
        raise TypeError(f"it returned {kind.__name__}, which is no result; {_AS_IS}")
    return str(value)
