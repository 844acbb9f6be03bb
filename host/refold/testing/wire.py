"""Requests as every provider would get them, and whether one begins with another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from refold.providers.alternation import CONTINUE
from refold.providers.pictures import ImageBytes
from refold.providers.protocols import PROTOCOLS
from refold.values.json_text import json_bytes
from refold.values.messages import Request

_MESSAGES = {"openai-responses": "input", "gemini": "contents"}
_PARTS = {"anthropic": "content", "gemini": "parts"}

Wires = Mapping[str, dict[str, Any]]
"""The request's body by protocol."""


def encoded(request: Request, image_bytes: ImageBytes) -> Wires:
    """The body of the request in each protocol."""
    return {
        name: each.encode(evolve(request, model=evolve(request.model, protocol=name)), image_bytes)
        for name, each in PROTOCOLS.items()
    }


def written(wires: Wires) -> dict[str, bytes]:
    """The bodies as bytes."""
    return {name: json_bytes(wire) for name, wire in wires.items()}


def extends(before: Wires, after: Wires) -> str | None:
    """What keeps `after` from beginning with `before`; None when it does in every protocol.

    System prompt and tools are equal, and so is each message; the last one may have grown by parts that were joined
    to it.
    """
    faults = (_extends(name, before[name], after[name]) for name in before)
    return next((fault for fault in faults if fault), None)


def _extends(protocol: str, before: dict[str, Any], after: dict[str, Any]) -> str | None:
    key, parts = _MESSAGES.get(protocol, "messages"), _PARTS.get(protocol)
    fixed = [name for name in before.keys() | after.keys() if name != key]
    if changed := [name for name in sorted(fixed) if json_bytes(before.get(name)) != json_bytes(after.get(name))]:
        return f"{protocol}: {changed[0]} differs"
    first, then = before[key], after[key]
    if first and _is_continue(first[-1], parts):
        first = first[:-1]
    for at, message in enumerate(first):
        grown = then[at] if at < len(then) else None
        if grown is not None and at == len(first) - 1 and grown.get("role") == message.get("role"):
            if parts:
                grown = {**grown, parts: grown[parts][: len(message[parts])]}
            elif protocol == "openai-chat":
                grown = {key: _start(value, message[key]) for key, value in grown.items() if key in message}
        if json_bytes(grown) != json_bytes(message):
            return f"{protocol}: message {at + 1} of {len(first)} differs"
    return None


def _is_continue(message: dict[str, Any], parts: str | None) -> bool:
    return bool(message[parts][-1].get("text") == CONTINUE if parts else message.get("content") == CONTINUE)


def _start(grown: Any, first: Any) -> Any:
    """What of a joined value was there before: texts and lists only grow, and a text may have become the first part."""
    if first is None:
        return None
    if isinstance(first, str) and isinstance(grown, list):
        grown = grown[0].get("text")
    return grown[: len(first)] if isinstance(first, (str, list)) and isinstance(grown, type(first)) else grown
