"""How long a request of some 200,000 tokens takes from values to bytes, and how fast texts are estimated."""

from __future__ import annotations

import random
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from refold import Call, Model
from refold.providers.protocols import PROTOCOLS, codec
from refold.sizing.estimate import row_tokens, tokens
from refold.values.json_text import json_bytes
from refold.values.messages import AssistantMessage, Message, Request, ResultMessage, ToolSpec, UserMessage
from refold.values.rows import Row, SourceRef

MODELS = {"openai-chat": "gpt-5", "openai-responses": "gpt-5", "anthropic": "claude-opus-5", "gemini": "gemini-3-pro"}


@pytest.fixture(scope="module")
def source() -> str:
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:60]
    return "".join(path.read_text("utf-8") for path in files)


def request_of(source: str, protocol: str) -> Request:
    choose = random.Random(1)

    def piece(length: int) -> str:
        start = choose.randrange(len(source) - length)
        return source[start : start + length]

    messages: list[Message] = []
    for n in range(160):
        messages.append(UserMessage(piece(300)) if n % 8 == 0 else AssistantMessage(piece(300)))
        call = Call(f"call_{n}", "read", {"path": "src/module.py", "offset": n, "text": piece(500)})
        messages.append(AssistantMessage(piece(200), (call,)))
        messages.append(ResultMessage(call.id, "read", piece(3900)))
    tools = tuple(ToolSpec(f"tool_{n}", "Does a thing. " * 8, {"type": "object", "properties": {}}) for n in range(12))
    return Request(Model(MODELS[protocol], protocol, "me"), "You are helpful. " * 200, tools, tuple(messages), 4000)


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_encode_a_request_of_200k_tokens(benchmark: Any, source: str, protocol: str) -> None:
    request = request_of(source, protocol)
    wire = benchmark(lambda: json_bytes(codec(protocol).encode(request, lambda image: b"")))
    benchmark.extra_info |= {"bytes": len(wire), "rows": len(request.messages), "estimate": tokens(wire.decode())}


def test_estimate_a_megabyte_of_source(benchmark: Any, source: str) -> None:
    text = source[:1_000_000]
    benchmark.extra_info["tokens"] = benchmark(lambda: tokens(text))


def test_estimate_an_ordinary_row(benchmark: Any, source: str) -> None:
    row = Row(
        SourceRef("s", 1), "assistant", 1, 1, text=source[:900], calls=(Call("call_1", "read", {"path": "a.py"}),)
    )
    benchmark(lambda: row_tokens(row))
