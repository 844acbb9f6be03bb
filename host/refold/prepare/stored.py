"""What an earlier request left as JSON. It can be done without: what another version wrote, or what is damaged, reads
as absent, and the next request replaces it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from refold.values.json_text import json_text

if TYPE_CHECKING:
    from cattrs import Converter

T = TypeVar("T")


def dump(value: Any, format: int, converter: Converter) -> str:
    """The value as JSON text, with the number of its format."""
    return json_text({"format": format, **converter.unstructure(value)})


def load(text: str, format: int, cls: type[T], converter: Callable[[], Converter]) -> T | None:
    """The value of that format; None when the text holds no such one. `converter` is asked for only when it does."""
    try:
        data = orjson.loads(text)
        if not isinstance(data, dict) or data.get("format") != format:
            return None
        return converter().structure(data, cls)
    except Exception:  # a damaged value may stumble over anything that it is made with
        return None
