"""How each protocol is spoken over HTTP: addresses, headers, and what a body carries besides the request."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from attrs import frozen

from refold.providers.anthropic_answers import AnthropicDecoder
from refold.providers.decoding import Decoder, count
from refold.providers.gemini_answers import GeminiDecoder
from refold.providers.openai_chat_answers import ChatDecoder
from refold.providers.openai_responses_answers import ResponsesDecoder

Wire = dict[str, Any]

_VERSION = re.compile(r"v\d+\w*")
_REASONING = re.compile(r"(?:^|/)(?:gpt-[5-9](?!.*chat)|o[1-9]|codex)")
_ANTHROPIC_VERSION = "2023-06-01"


@frozen
class Counting:
    """The endpoint that counts a request: its path by model, its body, and where the tokens stand in the answer."""

    path: Callable[[str], str]
    body: Callable[[Wire, str], Wire]
    field: str


@frozen
class Route:
    """One protocol over HTTP. Paths are relative to the provider's base address.

    `version` is what stands in front of every path when the base address does not say it; `always` says that an
    address with other words in its path lacks it too.
    """

    version: str
    always: bool
    headers: Callable[[str | None], dict[str, str]]
    path: Callable[[str, bool], str]
    body: Callable[[Wire, str, bool], Wire]
    decoder: Callable[[str], Decoder]
    listing: str
    counting: Counting | None = None

    def address(self, base_url: str, path: str) -> str:
        """The whole address.

        >>> ROUTES["anthropic"].address("https://api.anthropic.com", "messages")
        'https://api.anthropic.com/v1/messages'
        >>> ROUTES["openai-chat"].address("https://api.z.ai/api/paas/v4/", "models")
        'https://api.z.ai/api/paas/v4/models'
        """
        base = base_url.rstrip("/")
        last = urlsplit(base).path.rpartition("/")[2]
        versioned = _VERSION.fullmatch(last) is not None
        if not versioned and (self.always or not last):
            base = f"{base}/{self.version}"
        return f"{base}/{path}"

    def counted(self, answer: Mapping[str, Any]) -> int | None:
        """The tokens that a count endpoint answered."""
        return count(answer.get(self.counting.field)) if self.counting else None


def _bearer(key: str | None) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}


def _anthropic_headers(key: str | None) -> dict[str, str]:
    return {"anthropic-version": _ANTHROPIC_VERSION} | ({"x-api-key": key} if key else {})


def _gemini_headers(key: str | None) -> dict[str, str]:
    return {"x-goog-api-key": key} if key else {}


def _chat_body(wire: Wire, model: str, streamed: bool) -> Wire:
    return {**wire, "stream": True, "stream_options": {"include_usage": True}} if streamed else wire


def _responses_body(wire: Wire, model: str, streamed: bool) -> Wire:
    # Models that do not reason refuse to be asked for their reasoning.
    body = {**wire, "include": ["reasoning.encrypted_content"]} if _REASONING.search(model) else dict(wire)
    return {**body, "stream": True} if streamed else body


def _responses_count(wire: Wire, model: str) -> Wire:
    return {key: value for key, value in wire.items() if key not in ("store", "max_output_tokens")}


def _anthropic_body(wire: Wire, model: str, streamed: bool) -> Wire:
    return {**wire, "stream": True} if streamed else wire


def _anthropic_count(wire: Wire, model: str) -> Wire:
    return {key: value for key, value in wire.items() if key != "max_tokens"}


def _gemini_path(model: str, streamed: bool) -> str:
    method = "streamGenerateContent?alt=sse" if streamed else "generateContent"
    return f"{_gemini_model(model)}:{method}"


def _gemini_body(wire: Wire, model: str, streamed: bool) -> Wire:
    return wire


def _gemini_count(wire: Wire, model: str) -> Wire:
    return {"generateContentRequest": {"model": f"models/{model.removeprefix('models/')}", **wire}}


def _gemini_model(model: str) -> str:
    return "models/" + quote(model.removeprefix("models/"), safe="")


def _fixed(path: str) -> Callable[[str, bool], str]:
    return lambda model, streamed: path


ROUTES: dict[str, Route] = {
    "openai-chat": Route("v1", False, _bearer, _fixed("chat/completions"), _chat_body, ChatDecoder, "models"),
    "openai-responses": Route(
        "v1",
        False,
        _bearer,
        _fixed("responses"),
        _responses_body,
        ResponsesDecoder,
        "models",
        Counting(lambda model: "responses/input_tokens", _responses_count, "input_tokens"),
    ),
    "anthropic": Route(
        "v1",
        True,
        _anthropic_headers,
        _fixed("messages"),
        _anthropic_body,
        AnthropicDecoder,
        "models?limit=1000",
        Counting(lambda model: "messages/count_tokens", _anthropic_count, "input_tokens"),
    ),
    "gemini": Route(
        "v1beta",
        True,
        _gemini_headers,
        _gemini_path,
        _gemini_body,
        GeminiDecoder,
        "models?pageSize=1000",
        Counting(lambda model: f"{_gemini_model(model)}:countTokens", _gemini_count, "totalTokens"),
    ),
}
