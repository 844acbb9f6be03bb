"""What stands in the body of an error, whichever way a server nests it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from attrs import frozen

READ = 1 << 16
"""Bytes of an error's body that are read."""

_RETRY = re.compile("retry", re.IGNORECASE)  # a text that says nothing without its key
_DEEPEST = 8
_LONGEST_CODE = 80
_CODES = ("code", "type", "status", "status_code")
_WORDS = ("message", "detail", "error", "msg", "status_msg", "error_msg", "errors", "raw")


@frozen
class ErrorBody:
    """`codes` are the typed words of every level, lower case; `text` is all that was said, to be searched; `words` is
    what to show a person."""

    codes: frozenset[str]
    text: str
    words: str


def read(text: str) -> ErrorBody:
    """Reads a body, or the plain text of an error. It never fails: what is no JSON is taken as words.

    >>> read('{"error": {"code": "context_length_exceeded", "message": "too big"}}').words
    'too big'
    """
    value = _json(text)
    if value is None:
        return ErrorBody(frozenset(), text, text)
    leaves = list(_leaves("", value, 0))
    codes = {str(leaf).lower() for key, leaf in leaves if key in _CODES and len(str(leaf)) <= _LONGEST_CODE}
    said = [leaf if isinstance(leaf, str) and not _RETRY.match(key) else f'"{key}": {leaf}' for key, leaf in leaves]
    words = [leaf for key, leaf in leaves if key in _WORDS and isinstance(leaf, str) and leaf.strip()]
    return ErrorBody(frozenset(codes), "\n".join(said), ": ".join(dict.fromkeys(words)) or text)


def _leaves(key: str, value: Any, depth: int) -> Iterator[tuple[str, str | int]]:
    """Every text and number with the key it stands under, JSON inside a text included."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _leaves(name, each, depth + 1)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(key, each, depth + 1)
    elif isinstance(value, str):
        inner = _json(value)
        if inner is None:
            yield key, value
        else:
            yield from _leaves(key, inner, depth + 1)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield key, value


def _json(text: str) -> Any:
    """The object or list that a text is; None when it is anything else."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, (dict, list)) else None
