"""Thinking that counts only behind exactly what it was made behind.

From Claude Opus 5.5, Sonnet 5.5, Haiku 5.5, Fable 5.1 and Mythos 5.1 on, a signature covers the system prompt, the
tools and every message in front of the thinking, earlier thinking included. Once one of these has changed, a request
that still holds the thinking is refused, for good. So each item is stored with the digest of the request that it
answered, and goes back only where what stands in front of it gives that digest again: thinking behind a change leaves,
thinking in front of it and thinking made since stays, and later requests repeat it unchanged.

What a provider sees decides, so the digest is taken of the encoded request: pictures that newer ones crowd out, words
that the codec puts behind a last answer and tools that it makes up count as well. The bytes of pictures do not: equal
keys, equal bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from attrs import evolve

from refold.providers import replay
from refold.providers.exchange import Answer
from refold.providers.pictures import Picture
from refold.providers.protocols import codec
from refold.values.json_text import json_bytes
from refold.values.messages import Request
from refold.values.rows import Image, Replay
from refold.values.sizes import Model

PROTOCOLS = frozenset({"anthropic", "openai-chat"})
"""Those by which such models are asked: their own, and that of gateways."""

_BLOCKS = frozenset({"thinking", "redacted_thinking"})
_FRONT = ("system", "tools")
# Family, then version: `us.anthropic.claude-opus-5-5-v1:0`, `claude-opus-5-5@20260930`, `anthropic/claude-opus-5.5`.
_MODEL = re.compile(r"claude-(opus|sonnet|haiku|fable|mythos)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_FIRST = {"opus": (5, 5), "sonnet": (5, 5), "haiku": (5, 5), "fable": (5, 1), "mythos": (5, 1)}


def binds_thinking(model: str) -> bool:
    """Whether a model, by its id, binds its thinking to what stands in front of it.

    >>> binds_thinking("eu.anthropic.claude-fable-5-1-v1:0"), binds_thinking("claude-opus-5-20260801")
    (True, False)
    """
    found = _MODEL.search(model.lower())
    return found is not None and (int(found[2]), int(found[3] or 0)) >= _FIRST[found[1]]


def outdated(request: Request) -> frozenset[int]:
    """The places of those messages of a request that are thinking made behind something else.

    Thinking whose origin nobody noted is among them. Raises ProjectionFailed for an item that is no JSON object.
    """
    return _walk(request)[0] if request.model.protocol in PROTOCOLS else frozenset()


def stamped(request: Request, answer: Answer) -> Answer:
    """The answer to that request, its opaque items with the digest of what they were made behind."""
    if not answer.replays or request.model.protocol not in PROTOCOLS:
        return answer
    behind = _walk(request)[1]
    return evolve(answer, replays=tuple(evolve(each, behind=behind) for each in answer.replays))


def _walk(request: Request) -> tuple[frozenset[int], str]:
    """The places of outdated thinking, and the digest of the whole request without it."""
    bound = {
        place: each
        for place, each in enumerate(request.messages)
        if isinstance(each, Replay) and _is_thinking(each, request.model)
    }
    bare = _encoded(request, dict.fromkeys(bound))
    marked = bare
    if bound:
        marked = _encoded(request, {place: _mark(each, place, request.model) for place, each in bound.items()})
    kept: set[int] = set()
    digest = sha256(json_bytes([bare.get(part) for part in _FRONT]))
    for plain, message in zip(bare["messages"], marked["messages"], strict=True):
        in_place = [place for place in _places(message) if bound[place].behind == digest.hexdigest()]
        kept.update(in_place)
        digest.update(json_bytes([plain, *(bound[place].payload for place in in_place)]))
    return frozenset(bound.keys() - kept), digest.hexdigest()


def _is_thinking(item: Replay, model: Model) -> bool:
    if item.owner != model.owner:
        return False
    # What a gateway hands on in fields of its own is thinking as a whole.
    return model.protocol == "openai-chat" or any(each.get("type") in _BLOCKS for each in replay.items(item))


def _encoded(request: Request, instead: Mapping[int, Replay | None]) -> dict[str, Any]:
    """The request as it is sent, with other messages in these places or none, and keys for the bytes of pictures."""
    messages = [instead.get(place, message) for place, message in enumerate(request.messages)]
    bare = evolve(request, messages=tuple(message for message in messages if message is not None))
    return codec(request.model.protocol).write(bare, _named)


def _named(image: Image) -> Picture:
    return Picture(image.media_type, image.key)


def _mark(item: Replay, place: int, model: Model) -> Replay:
    """The item with nothing but its place in it, to be found in the encoded request."""
    mark = {"type": "thinking", "place": place}
    payload = {"reasoning_details": [mark]} if model.protocol == "openai-chat" else mark
    return evolve(item, payload=json_bytes(payload).decode())


def _places(message: Mapping[str, Any]) -> list[int]:
    """The places whose marks an encoded message holds."""
    parts = message.get("reasoning_details") or message.get("content")
    marks = parts if isinstance(parts, list) else ()
    return [mark["place"] for mark in marks if mark.get("type") == "thinking" and "place" in mark]
