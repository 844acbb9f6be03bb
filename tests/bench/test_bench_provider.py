"""What asking a provider costs beside the provider: to the first byte on the wire, and per piece of an answer."""

from __future__ import annotations

import json
import random
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from attrs import define, field
from refold import Call, Model
from refold.providers.client import Client
from refold.providers.exchange import Answer
from refold.providers.provider import ProviderConfig
from refold.providers.refusals import classify
from refold.providers.routes import ROUTES
from refold.providers.sse import Events
from refold.values.messages import AssistantMessage, Message, Request, ResultMessage, UserMessage

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
    len(body := b'{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}'),
    body,
)


@define
class Wire:
    """A server that notes when the first byte of each request came."""

    url: str
    first: list[float] = field(factory=list)


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = Wire(f"http://127.0.0.1:{listening.getsockname()[1]}/v1")

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                while head := connection.recv(1 << 16):
                    made.first.append(time.perf_counter())
                    while b"\r\n\r\n" not in head:
                        head += connection.recv(1 << 16)
                    head, _, body = head.partition(b"\r\n\r\n")
                    size = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                    left = size - len(body)
                    while left > 0:
                        left -= len(connection.recv(1 << 20))
                    connection.sendall(ANSWER)

        threading.Thread(target=serve, daemon=True).start()
        yield made


def _request() -> Request:
    words = random.Random(1)
    messages: list[Message] = [UserMessage("Go.")]
    for n in range(160):
        call = Call(f"call_{n}", "read", {"path": f"src/module_{n}.py"})
        text = " ".join(str(words.randrange(100_000)) for _ in range(680))
        messages += [AssistantMessage("Next.", (call,)), ResultMessage(call.id, "read", text)]
    return Request(Model("gpt-5", "openai-chat", "me"), "You are helpful.", (), tuple(messages), 4000)


def test_a_large_request_reaches_the_wire(benchmark: Any, wire: Wire) -> None:
    request = _request()
    waited: list[float] = []
    with Client(ProviderConfig("p", "openai-chat", wire.url)) as client:

        def ask() -> None:
            wire.first.clear()
            began = time.perf_counter()
            [answer] = client.stream(request, lambda image: b"")
            assert isinstance(answer, Answer)
            waited.append(wire.first[0] - began)

        ask()  # the connection, and what loads with the first call
        benchmark(ask)
    benchmark.extra_info["first_byte_ms"] = round(statistics.median(waited) * 1000, 2)


def test_an_answer_of_many_pieces_is_decoded(benchmark: Any) -> None:
    pieces = [{"choices": [{"delta": {"content": "some words "}}]}] * 5000 + [{"choices": [{"finish_reason": "stop"}]}]
    stream = b"".join(b"data: " + json.dumps(piece).encode() + b"\n\n" for piece in pieces)

    def decode() -> Answer:
        events, decoder = Events(), ROUTES["openai-chat"].decoder("me")
        for start in range(0, len(stream), 1500):
            for event in events.feed(stream[start : start + 1500]):
                list(decoder.feed(event))
        return decoder.answer()

    assert len(benchmark(decode).text) == 55_000
    benchmark.extra_info["pieces"] = 5000


def test_a_refusal_is_classified(benchmark: Any) -> None:
    body = json.dumps({"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum", "type": "x"}})
    assert benchmark(lambda: classify(400, "", body, {})).limit == 200_000
