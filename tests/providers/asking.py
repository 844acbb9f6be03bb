"""How tests ask a provider: what it says, and a client of little patience."""

from __future__ import annotations

from typing import Any

from refold.providers.client import Client
from refold.providers.exchange import Answer, Delta
from refold.providers.lines import Patience
from refold.providers.provider import ProviderConfig
from refold.values.messages import Request, UserMessage
from refold.values.rows import Image
from refold.values.sizes import Model

QUICK = Patience(connect=2.0, silence=5.0, attempts=4, first_wait=0.01, longest_wait=2.0, lookup=2.0)
KEY = "sk-very-secret-0123456789"

HELLO = (
    {"choices": [{"delta": {"content": "Hel"}}]},
    {"choices": [{"delta": {"content": "lo"}, "finish_reason": "stop"}]},
)
USAGE = {
    "choices": [],
    "usage": {"prompt_tokens": 12, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}},
}
DONE = "data: [DONE]\n\n"
WHOLE = {"model": "m", "choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}


def no_images(image: Image) -> bytes:
    raise AssertionError("no image is in these requests")


def request_for(protocol: str = "openai-chat", model: str = "m") -> Request:
    return Request(Model(model, protocol, f"p/-/{model}"), "Be brief.", (), (UserMessage("Hello?"),))


def config_of(provider: Any, protocol: str = "openai-chat", **more: Any) -> ProviderConfig:
    return ProviderConfig("p", protocol, provider.url, **more)


def everything(client: Client, **more: Any) -> tuple[list[Delta], Answer]:
    *deltas, answer = client.stream(request_for(), no_images, **more)
    assert isinstance(answer, Answer)
    return [delta for delta in deltas if not isinstance(delta, Answer)], answer
