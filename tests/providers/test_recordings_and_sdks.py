"""One answer recorded on four wires: all decoders agree on it, and with what the vendors' own SDKs make of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from refold.providers.client import Client
from refold.providers.decoding import CutOff
from refold.providers.exchange import Answer, CallDelta, ReasoningDelta, TextDelta, Usage
from refold.providers.protocols import PROTOCOLS as CODECS
from refold.providers.protocols import codec
from refold.providers.provider import ProviderConfig
from refold.providers.routes import ROUTES
from refold.providers.sse import Events
from refold.values.messages import AssistantMessage, Request, ResultMessage, ToolSpec, UserMessage
from refold.values.rows import Image
from refold.values.sizes import Model

RECORDINGS = Path(__file__).with_name("recordings")
PROTOCOLS = list(ROUTES)
OWNER = "p/0a1b2c3d/m"
MODELS = {
    "openai-chat": "gpt-4.1-2025-04-14",
    "openai-responses": "gpt-5-2025-08-07",
    "anthropic": "claude-sonnet-4-5-20250929",
    "gemini": "gemini-3-pro-preview",
}
TEXT = "I will read both – now."
REPLAYED = {
    "openai-chat": [],
    "openai-responses": [
        {
            "id": "rs_1",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "Two files."}],
            "encrypted_content": "gAAAAAB-whole",
        }
    ],
    "anthropic": [{"type": "thinking", "thinking": "The user wants two files.", "signature": "c2lnbmF0dXJl"}],
    "gemini": [{"thoughtSignature": "c2lnbmF0dXJl"}],
}


def _recorded(protocol: str) -> bytes:
    return (RECORDINGS / f"{protocol}.sse").read_bytes()


def _whole(protocol: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((RECORDINGS / f"{protocol}.json").read_bytes())
    return value


def _no_images(image: Image) -> bytes:
    raise AssertionError("no image is in these requests")


def _decoded(protocol: str, data: bytes) -> tuple[list[Any], Answer]:
    events, decoder = Events(), ROUTES[protocol].decoder(OWNER)
    deltas = [delta for event in [*events.feed(data), *events.end()] for delta in decoder.feed(event)]
    return deltas, decoder.answer()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_means_the_same_on_every_wire(protocol: str) -> None:
    deltas, answer = _decoded(protocol, _recorded(protocol))
    assert answer.text == TEXT == "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    assert [(call.name, call.arguments) for call in answer.calls] == [("read", {"path": "a.py"}), ("now", {})]
    assert len({call.id for call in answer.calls}) == 2
    assert (answer.stop, answer.model) == ("tool", MODELS[protocol])
    thought = None if protocol == "anthropic" else 20
    assert answer.usage == Usage(2112, 2000, 57, thought)
    assert [item for replay in answer.replays for item in _items(replay.payload)] == REPLAYED[protocol]
    assert all(replay.owner == OWNER for replay in answer.replays)
    assert answer.reasoned is (protocol != "openai-chat")
    assert any(isinstance(delta, ReasoningDelta) for delta in deltas) is answer.reasoned


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_streamed_and_whole_answers_are_equal(protocol: str) -> None:
    _, streamed = _decoded(protocol, _recorded(protocol))
    assert ROUTES[protocol].decoder(OWNER).whole(_whole(protocol)) == streamed


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pieces_of_calls_spell_their_arguments(protocol: str) -> None:
    deltas, answer = _decoded(protocol, _recorded(protocol))
    for index, call in enumerate(answer.calls):
        pieces = [delta for delta in deltas if isinstance(delta, CallDelta) and delta.index == index]
        assert (pieces[0].id, pieces[0].name) == (call.id, call.name)
        assert json.loads("".join(piece.arguments for piece in pieces) or "{}") == call.arguments


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_cut_at_any_event_is_cut_off_or_whole(protocol: str) -> None:
    whole = _recorded(protocol)
    _, answer = _decoded(protocol, whole)
    blocks = whole.replace(b"\r\n", b"\n").split(b"\n\n")
    for end in range(len(blocks)):
        try:
            _, found = _decoded(protocol, b"\n\n".join(blocks[:end]) + b"\n\n")
        except CutOff:
            continue
        assert evolve(found, usage=answer.usage) == answer


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_opaque_items_go_back_unchanged_and_only_to_their_owner(protocol: str) -> None:
    _, answer = _decoded(protocol, _recorded(protocol))
    results = tuple(ResultMessage(call.id, call.name, "done") for call in answer.calls)
    messages = (UserMessage("Go."), *answer.replays, AssistantMessage(answer.text, answer.calls), *results)
    tools = tuple(ToolSpec(name, name, {"type": "object"}) for name in ("read", "now"))
    for owner, sent in ((OWNER, True), ("p/ffffffff/m", False), ("q/0a1b2c3d/m", False), ("p/0a1b2c3d/n", False)):
        request = Request(Model(MODELS[protocol], protocol, owner), "", tools, messages)
        wire = json.dumps(codec(protocol).encode(request, _no_images))
        for item in REPLAYED[protocol]:
            secret = item.get("encrypted_content") or item.get("signature") or item["thoughtSignature"]
            assert (secret in wire) is sent


def test_every_protocol_can_be_encoded_and_spoken() -> None:
    assert set(CODECS) == set(ROUTES)


def _items(payload: str) -> list[Any]:
    value = json.loads(payload)
    return value if isinstance(value, list) else [value]


# The vendors' SDKs read the same bytes from the same server.


def _ours(provider: Any, protocol: str) -> Answer:
    request = Request(Model(MODELS[protocol], protocol, OWNER), "", (), (UserMessage("Go."),))
    with Client(ProviderConfig("p", protocol, provider.url)) as client:
        *_, answer = client.stream(request, _no_images)
    assert isinstance(answer, Answer)
    return answer


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses"])
def test_the_openai_sdk_reads_the_recording_as_we_do(provider: Any, protocol: str) -> None:
    openai = pytest.importorskip("openai")
    provider.plays(provider.streams(_recorded(protocol)))
    ours = _ours(provider, protocol)
    with openai.OpenAI(base_url=f"{provider.url}/v1", api_key="k", max_retries=0) as sdk:
        if protocol == "openai-chat":
            with sdk.chat.completions.stream(model="m", messages=[{"role": "user", "content": "Go."}]) as stream:
                final = stream.get_final_completion()
            message = final.choices[0].message
            text, usage = message.content, final.usage
            calls = [(call.id, call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls]
            counted = (usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens, usage.completion_tokens)
        else:
            with sdk.responses.stream(model="m", input="Go.") as stream:
                final = stream.get_final_response()
            text, usage = final.output_text, final.usage
            calls = [
                (item.call_id, item.name, json.loads(item.arguments))
                for item in final.output
                if item.type == "function_call"
            ]
            counted = (usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens)
    _agree(ours, text, calls, counted)


def test_the_anthropic_sdk_reads_the_recording_as_we_do(provider: Any) -> None:
    anthropic = pytest.importorskip("anthropic")
    provider.plays(provider.streams(_recorded("anthropic")))
    ours = _ours(provider, "anthropic")
    with (
        anthropic.Anthropic(base_url=provider.url, api_key="k", max_retries=0) as sdk,
        sdk.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "Go."}]) as stream,
    ):
        final = stream.get_final_message()
    text = "".join(block.text for block in final.content if block.type == "text")
    calls = [(block.id, block.name, block.input) for block in final.content if block.type == "tool_use"]
    usage = final.usage
    whole = usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens
    _agree(ours, text, calls, (whole, usage.cache_read_input_tokens, usage.output_tokens))
    thinking = [block.model_dump(exclude_none=True) for block in final.content if block.type == "thinking"]
    assert thinking == _items(ours.replays[0].payload)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:there are non-text parts")
def test_the_gemini_sdk_reads_the_recording_as_we_do(provider: Any) -> None:
    genai = pytest.importorskip("google.genai")
    provider.plays(provider.streams(_recorded("gemini")))
    ours = _ours(provider, "gemini")
    sdk = genai.Client(api_key="k", http_options={"base_url": provider.url})
    chunks = list(sdk.models.generate_content_stream(model="m", contents="Go."))
    sdk.close()
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts]
    text = "".join(part.text for part in parts if part.text and not part.thought)
    calls = [
        (part.function_call.id, part.function_call.name, part.function_call.args)
        for part in parts
        if part.function_call
    ]
    usage = chunks[-1].usage_metadata
    output = usage.candidates_token_count + usage.thoughts_token_count
    _agree(ours, text, calls, (usage.prompt_token_count, usage.cached_content_token_count, output))


def _agree(ours: Answer, text: str, calls: list[Any], counted: tuple[int, int, int]) -> None:
    assert ours.text == text
    assert [(call.id, call.name, call.arguments) for call in ours.calls] == calls
    assert (ours.usage.input_tokens, ours.usage.cached_tokens, ours.usage.output_tokens) == counted
