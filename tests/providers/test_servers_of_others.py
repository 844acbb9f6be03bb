"""Servers that others wrote: llama.cpp with a tiny random model, and a mock that speaks in vendors' own words."""

from __future__ import annotations

import contextlib
import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from refold.providers.client import Client
from refold.providers.exchange import Answer, CallDelta, TextDelta
from refold.providers.failures import Cancelled, Interrupted, ProviderError
from refold.providers.lines import Patience
from refold.providers.provider import ProviderConfig
from refold.values.messages import AssistantMessage, Request, ResultMessage, ToolSpec, UserMessage
from refold.values.rows import Image
from refold.values.sizes import Model

from .peers import llama_server, mock_server

CONTEXT = 1024
QUICK = Patience(connect=5.0, silence=20.0, attempts=3, first_wait=0.01, lookup=10.0)
ONCE = Patience(connect=5.0, silence=20.0, attempts=1)


def _no_images(image: Image) -> bytes:
    raise AssertionError("no image is in these requests")


def _request(protocol: str, model: str, *texts: str, output: int = 8, tools: tuple[ToolSpec, ...] = ()) -> Request:
    return Request(Model(model, protocol, f"p/-/{model}"), "", tools, tuple(map(UserMessage, texts)), output)


def _answer(client: Client, request: Request, **more: Any) -> tuple[list[Any], Answer]:
    *deltas, answer = client.stream(request, _no_images, **more)
    assert isinstance(answer, Answer)
    return deltas, answer


# llama.cpp


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    with llama_server(CONTEXT) as address:
        yield address


LLAMA_WIRES = ["openai-chat", "openai-responses", "anthropic"]


@pytest.mark.parametrize("protocol", LLAMA_WIRES)
def test_llama_cpp_answers_on_every_wire_it_speaks_and_counts_alike(llama: str, protocol: str) -> None:
    request = _request(protocol, "tiny", "How are you?")
    with Client(ProviderConfig("p", protocol, llama, count=True), QUICK) as client:
        deltas, answer = _answer(client, request)
        whole = client.ask(request, _no_images)
    assert answer.text == "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    assert whole.usage.input_tokens == answer.usage.input_tokens is not None
    assert answer.usage.output_tokens
    assert answer.usage.output_tokens <= 8
    assert answer.stop in ("length", "end")


@pytest.mark.parametrize("protocol", ["openai-responses", "anthropic"])
def test_llama_cpp_counts_what_it_then_reports(llama: str, protocol: str) -> None:
    request = _request(protocol, "tiny", "Please count this.")
    with Client(ProviderConfig("p", protocol, llama, count=True), QUICK) as client:
        assert client.count(request, _no_images) == client.ask(request, _no_images).usage.input_tokens


@pytest.mark.parametrize("protocol", LLAMA_WIRES)
@pytest.mark.parametrize("streamed", [True, False])
def test_llama_cpp_refuses_what_does_not_fit_with_both_numbers(llama: str, protocol: str, streamed: bool) -> None:
    request = _request(protocol, "tiny", "word " * 400)
    with Client(ProviderConfig("p", protocol, llama), QUICK) as client, pytest.raises(ProviderError) as caught:
        _answer(client, request) if streamed else client.ask(request, _no_images)
    refusal = caught.value.refusal
    assert (refusal.kind, refusal.limit, caught.value.streamed) == ("too_large", CONTEXT, False)
    assert refusal.requested is not None
    assert refusal.requested > 2000


def test_llama_cpp_tells_the_window_that_it_serves(llama: str) -> None:
    with Client(ProviderConfig("p", "openai-chat", llama), QUICK) as client:
        [listed] = client.models()
    assert (listed.id, listed.window, listed.inputs) == ("tiny", CONTEXT, frozenset({"text"}))


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic"])
def test_what_llama_cpp_cached_is_part_of_what_it_counts(llama: str, protocol: str) -> None:
    first = _request(protocol, "tiny", f"A prefix that is only here, for {protocol}. " * 8)
    with Client(ProviderConfig("p", protocol, llama), QUICK) as client:
        before, after = _answer(client, first)[1].usage, _answer(client, first)[1].usage
    assert before.input_tokens == after.input_tokens
    assert after.cached_tokens
    assert after.input_tokens is not None
    assert after.cached_tokens <= after.input_tokens


def test_a_cancelled_generation_frees_llama_cpp_for_the_next_one(llama: str) -> None:
    endless = _request("openai-chat", "tiny", "Go on.", output=900)
    with Client(ProviderConfig("p", "openai-chat", llama), QUICK) as client:
        seen: list[Any] = []
        with contextlib.suppress(Cancelled):  # a fast machine may be done first
            seen.extend(client.stream(endless, _no_images, cancelled=lambda: bool(seen)))
        assert _answer(client, _request("openai-chat", "tiny", "And now?"))[1].usage.output_tokens


# A mock with vendors' own refusals


@pytest.fixture(scope="module")
def running_mock() -> Iterator[str]:
    with mock_server(500) as address:
        yield address


@pytest.fixture
def mock(running_mock: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MOCK_KEY", "mock-key-0123456789")
    return running_mock


def _config(mock: str, protocol: str, path: str) -> ProviderConfig:
    return ProviderConfig("p", protocol, mock + path, "MOCK_KEY")


def _script(mock: str, **behavior: Any) -> None:
    """What the next request meets."""
    body = json.dumps({"behaviors": [behavior]}).encode()
    with urllib.request.urlopen(f"{mock}/_llmock/scenario", body, timeout=5) as answer:
        assert answer.status == 201


WIRES = [
    ("openai-chat", "/v1", "gpt-4o"),
    ("openai-responses", "/v1", "gpt-4o"),
    ("anthropic", "/anthropic", "claude-sonnet-4-5"),
    ("gemini", "/gemini/v1beta", "gemini-2.5-flash"),
    ("openai-chat", "/groq/openai/v1", "llama-3.3-70b-versatile"),
    ("openai-chat", "/mistral/v1", "mistral-large-latest"),
    ("openai-chat", "/xai/v1", "grok-4"),
]
every_wire = pytest.mark.parametrize(("protocol", "path", "model"), WIRES, ids=[f"{w[0]} {w[1]}" for w in WIRES])


@every_wire
def test_the_mock_answers_on_every_wire(mock: str, protocol: str, path: str, model: str) -> None:
    with Client(_config(mock, protocol, path), QUICK) as client:
        deltas, answer = _answer(client, _request(protocol, model, "Hello?", output=64))
        assert answer.text
        assert answer.text == "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
        assert answer.usage.input_tokens
        assert client.ask(_request(protocol, model, "Hello?", output=64), _no_images).text


@every_wire
def test_the_mock_refuses_in_the_vendors_words_and_is_understood(
    mock: str, protocol: str, path: str, model: str
) -> None:
    with Client(_config(mock, protocol, path), QUICK) as client, pytest.raises(ProviderError) as caught:
        _answer(client, _request(protocol, model, "word " * 1000, output=64))
    refusal = caught.value.refusal
    assert refusal.kind == "too_large", refusal
    assert refusal.limit in (500, None)


@every_wire
def test_the_mock_calls_a_tool_and_takes_the_result(mock: str, protocol: str, path: str, model: str) -> None:
    tool = ToolSpec(
        "weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    )
    with Client(_config(mock, protocol, path), QUICK) as client:
        request = _request(protocol, model, "What is the weather in Oslo?", output=64, tools=(tool,))
        deltas, answer = _answer(client, request)
        assert answer.stop == "tool"
        assert answer.calls[0].name == "weather"
        assert isinstance(answer.calls[0].arguments["city"], str)
        assert any(isinstance(delta, CallDelta) for delta in deltas)
        results = tuple(ResultMessage(call.id, call.name, "rain") for call in answer.calls)
        messages = (*request.messages, AssistantMessage(answer.text, answer.calls), *results)
        after = Request(request.model, "", (tool,), messages, 64)
        assert _answer(client, after)[1].stop == "end"


@pytest.mark.parametrize("fault", ["disconnect", "truncate", "malformed"])
@pytest.mark.parametrize(("protocol", "path", "model"), WIRES[:4], ids=[wire[0] for wire in WIRES[:4]])
def test_a_broken_stream_is_never_taken_for_an_answer(
    mock: str, fault: str, protocol: str, path: str, model: str
) -> None:
    _script(mock, type="stream_fault", kind=fault, after_chunks=1)
    with Client(_config(mock, protocol, path), ONCE) as client, pytest.raises(ProviderError) as caught:
        _answer(client, _request(protocol, model, "Hello?", output=64))
    assert caught.value.refusal.kind == "other"
    if fault != "malformed":
        assert isinstance(caught.value, Interrupted)


@pytest.mark.parametrize(("protocol", "path", "model"), [WIRES[0], WIRES[2]], ids=["openai-chat", "anthropic"])
def test_a_refusal_that_passes_is_tried_again(mock: str, protocol: str, path: str, model: str) -> None:
    _script(mock, type="fail", status=429, times=1)
    with Client(_config(mock, protocol, path), QUICK) as client:
        assert _answer(client, _request(protocol, model, "Hello?", output=64))[1].text
