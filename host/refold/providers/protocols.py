"""The protocols that refold speaks, by the names that `models.json` uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import frozen

from refold.providers import anthropic, gemini, openai_chat, openai_responses
from refold.providers.pictures import ImageBytes, Look, looking
from refold.values.errors import Refused
from refold.values.messages import Request

__all__ = ["PROTOCOLS", "Codec", "codec"]


def _unmarked(wire: dict[str, Any]) -> dict[str, Any]:
    return wire


@frozen
class Codec:
    """One protocol.

    `write` turns a request into the body that the provider takes, as plain dicts for `json_bytes`. It makes any
    request legal whose results each directly follow the answer that made the call, in the calls' order and one a call:
    blank texts, repeated roles, repeated or illegal ids are its business. Equal requests give equal bytes, and the
    messages of a longer history begin with those of a shorter one.

    `with_cache_marks` is applied when a body is sent, and left out when two are compared.
    """

    write: Callable[[Request, Look], dict[str, Any]]
    with_cache_marks: Callable[[dict[str, Any]], dict[str, Any]] = _unmarked

    def encode(self, request: Request, image_bytes: ImageBytes) -> dict[str, Any]:
        """The body that is sent. A picture that cannot be decoded becomes a line of text."""
        return self.write(request, looking(image_bytes))


PROTOCOLS: dict[str, Codec] = {
    "openai-chat": Codec(openai_chat.encode),
    "openai-responses": Codec(openai_responses.encode),
    "anthropic": Codec(anthropic.encode, anthropic.with_cache_marks),
    "gemini": Codec(gemini.encode),
}


def codec(protocol: str) -> Codec:
    """The codec of a protocol. Raises Refused for a name that is none, listing the names.

    >>> codec("openai-chat").write is openai_chat.encode
    True
    """
    if protocol not in PROTOCOLS:
        raise Refused(f"no protocol is named {protocol!r}; nothing was sent; use one of {', '.join(PROTOCOLS)}")
    return PROTOCOLS[protocol]
