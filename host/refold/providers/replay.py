"""Opaque items of a provider, on their way back to it."""

from __future__ import annotations

from typing import Any

import orjson

from refold.values.errors import ProjectionFailed
from refold.values.rows import Replay


def items(replay: Replay) -> list[dict[str, Any]]:
    """The wire items in a payload: a JSON object, or a list of them.

    Raises ProjectionFailed when the payload is anything else: what the provider cannot read it would refuse, and
    leaving it out could drop what the item stands for.
    """
    try:
        value = orjson.loads(replay.payload)
    except orjson.JSONDecodeError:
        value = None
    found = value if isinstance(value, list) else [value]
    if not all(isinstance(item, dict) for item in found):
        raise ProjectionFailed(
            f"an opaque item of {replay.owner} is not a JSON object; nothing was sent; "
            "compact again or switch to another model, which leaves such items out"
        )
    return found
