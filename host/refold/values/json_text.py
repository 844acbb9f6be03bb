"""JSON as refold writes it: compact, keys in the order given, and never an error for a value that Python can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

_WRITABLE = range(-(1 << 63), 1 << 64)  # what orjson writes; JSON itself has no limit


def json_bytes(value: Any) -> bytes:
    """Compact JSON in UTF-8.

    Integers beyond 64 bits are written in full, and a lone surrogate, which no UTF-8 can hold, becomes U+FFFD. Neither
    changes how anything else is written, so a longer value still begins with the bytes of a shorter one.

    >>> json_bytes({"seen": 2**70})
    b'{"seen":1180591620717411303424}'
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(_writable(value))


def json_text(value: Any) -> str:
    """The same as text."""
    return json_bytes(value).decode()


def _writable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, int) and not isinstance(value, bool) and value not in _WRITABLE:
        return orjson.Fragment(str(value))
    if isinstance(value, Mapping):
        return {_writable(key): _writable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_writable(item) for item in value]
    return value
