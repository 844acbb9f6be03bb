"""Any request becomes one that the provider takes: by its rules as written down here, and by its own SDK's types."""

from __future__ import annotations

import json
import re
import string
import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refold import Call, Image, Model, Replay
from refold.providers.alternation import CONTINUE
from refold.providers.protocols import PROTOCOLS, codec
from refold.values.json_text import json_bytes
from refold.values.messages import AssistantMessage, Message, Request, ResultMessage, ToolSpec, UserMessage

from tests import pictures

PIXELS = pictures.png()
MODELS = {
    "openai-chat": ["gpt-5", "mistral-large", "local/qwen3"],
    "openai-responses": ["gpt-5.6"],
    "anthropic": ["claude-opus-5", "claude-3-5-sonnet-20241022"],
    "gemini": ["gemini-3-pro", "gemini-2.5-flash"],
}
OWN_REPLAYS = {
    "openai-chat": [{"reasoning_content": "hm"}, {"reasoning_details": [{"type": "reasoning.text", "text": "x"}]}],
    "openai-responses": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "e"},
    ],
    "anthropic": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
    ],
    "gemini": [{"text": "hm", "thought": True}, {"thoughtSignature": "c2lnbmF0dXJl"}],
}

texts = st.sampled_from(["", " \n", "hello", "trailing ", "多语言 🙂", 'quotes " and \\ and \x1b[0m']) | st.text(
    max_size=20
)
images = st.builds(
    Image,
    key=st.sampled_from("abc"),
    media_type=st.sampled_from(["image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"]),
    width=st.integers(0, 4000),
    height=st.integers(0, 4000),
)
some_images = st.lists(images, max_size=2).map(tuple)
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=6)
arguments = st.dictionaries(st.text(max_size=5), scalars | st.lists(scalars, max_size=2), max_size=3)
call_ids = st.sampled_from(["", "a", "call_1", "fc|rs_1", "x" * 70, "toolu_01AB", "123456789", "ü"])
calls = st.builds(
    Call, call_ids, st.sampled_from(["read", "functions.exec", "", "1st", "mcp:x/y", "n" * 200]), arguments
)


@st.composite
def segments(draw: st.DrawFn, protocol: str) -> list[Message]:
    """A part of a history that may stand behind any other: a step is whole."""
    kind = draw(st.sampled_from(["user", "answer", "step", "step", "own", "foreign"]))
    if kind == "user":
        return [UserMessage(draw(texts), draw(some_images))]
    if kind == "answer":
        return [AssistantMessage(draw(texts))]
    if kind == "own":
        return [Replay("me", json.dumps(draw(st.sampled_from(OWN_REPLAYS[protocol]))))]
    if kind == "foreign":
        return [Replay("somebody else", "not even JSON")]
    made = draw(st.lists(calls, min_size=1, max_size=3))
    results = [ResultMessage(call.id, call.name, draw(texts), draw(st.booleans()), draw(some_images)) for call in made]
    return [AssistantMessage(draw(texts), tuple(made)), *results]


@st.composite
def requests(draw: st.DrawFn, protocol: str, most: int | None = None) -> Request:
    parts = draw(st.lists(segments(protocol), max_size=7))
    model = Model(
        draw(st.sampled_from(MODELS[protocol])),
        protocol,
        "me",
        draw(st.sampled_from([None, frozenset({"text"}), frozenset({"text", "image"})])),
        max_images=most,
    )
    tools = draw(st.sampled_from([(), (ToolSpec("read", "Reads.", {"type": "object", "properties": {}}),)]))
    return Request(
        model, draw(texts), tools, tuple(item for part in parts for item in part), draw(st.sampled_from([None, 500]))
    )


def encoded(request: Request) -> dict[str, Any]:
    return json.loads(json_bytes(codec(request.model.protocol).encode(request, lambda image: PIXELS)))


def blank(text: str) -> bool:
    return not text or text.isspace()


def check_openai_chat(wire: dict[str, Any]) -> None:
    open_ids: list[str] = []
    seen: set[str] = set()
    legal = r"[a-zA-Z0-9]{9}" if "mistral" in wire["model"] else r"[a-zA-Z0-9_-]{1,40}"
    for message in wire["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_ids.pop(0)
            assert not blank(message["content"])
            continue
        assert not open_ids, "every call is answered before anything else is said"
        if message["role"] == "assistant":
            made = message.get("tool_calls")
            assert made != []
            assert made or not blank(message["content"])
            open_ids = [call["id"] for call in made or []]
            assert not seen & set(open_ids)
            assert len(set(open_ids)) == len(open_ids)
            seen |= set(open_ids)
            for call in made or []:
                assert re.fullmatch(legal, call["id"])
                assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call["function"]["name"])
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
        elif isinstance(message["content"], str):
            assert not blank(message["content"])
        else:
            assert message["role"] == "user"
            assert all(not blank(part["text"]) for part in message["content"] if part["type"] == "text")
            assert any(part["type"] == "image_url" for part in message["content"])
    assert not open_ids
    said = [message["role"] for message in wire["messages"] if message["role"] != "system"]
    assert all(role != following or role == "tool" for role, following in pairwise(said)), "roles alternate"
    assert said[0] == "user"
    assert said[-1] != "assistant"


def check_openai_responses(wire: dict[str, Any]) -> None:
    assert wire["store"] is False
    items = wire["input"]
    made = [item["call_id"] for item in items if item["type"] == "function_call"]
    assert made == [item["call_id"] for item in items if item["type"] == "function_call_output"]
    assert len(set(made)) == len(made)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", id) for id in made)
    for item, following in pairwise([*items, {"type": "end"}]):
        if item["type"] == "reasoning":
            assert following["type"] in ("function_call", "reasoning") or following.get("role") == "assistant"
        if item["type"] == "function_call":
            assert following["type"] in ("function_call", "function_call_output")
        if item["type"] == "message":
            assert not blank(item["content"]) if isinstance(item["content"], str) else item["content"]


def check_alternation(messages: list[dict[str, Any]], answers: str) -> None:
    roles = [message["role"] for message in messages]
    assert roles == ["user", answers] * (len(roles) // 2) + ["user"]


def check_anthropic(wire: dict[str, Any]) -> None:
    assert wire["max_tokens"] > 0
    check_alternation(wire["messages"], "assistant")
    open_ids: list[str] = []
    seen: set[str] = set()
    for message in wire["messages"]:
        blocks = message["content"]
        kinds = [block["type"] for block in blocks]
        assert blocks
        assert all(not blank(block["text"]) for block in blocks if block["type"] == "text")
        if message["role"] == "user":
            results = [block for block in blocks if block["type"] == "tool_result"]
            assert kinds[: len(results)] == ["tool_result"] * len(results), "results stand first"
            assert [block["tool_use_id"] for block in results] == open_ids
            assert all(not blank(block["content"]) for block in results if isinstance(block["content"], str))
            open_ids = []
        else:
            assert kinds[-1] not in ("thinking", "redacted_thinking")
            uses = [block for block in blocks if block["type"] == "tool_use"]
            open_ids = [block["id"] for block in uses]
            assert not seen & set(open_ids)
            assert len(set(open_ids)) == len(open_ids)
            seen |= set(open_ids)
            assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", id) for id in open_ids)
            assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", block["name"]) for block in uses)
    assert not open_ids
    assert wire.get("tools") or not seen, "tool blocks need tools"
    assert all(not blank(block["text"]) for block in wire.get("system", []))


def check_gemini(wire: dict[str, Any]) -> None:
    check_alternation(wire["contents"], "model")
    named: list[str] = []
    for content in wire["contents"]:
        assert content["parts"]
        for part in content["parts"]:
            assert sum(key in part for key in ("text", "inlineData", "functionCall", "functionResponse")) == 1
            assert part.get("text") != ""
        if content["role"] == "model":
            named = [part["functionCall"]["name"] for part in content["parts"] if "functionCall" in part]
            assert all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", name) for name in named)
        else:
            answered = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
            assert [response["name"] for response in answered] == named
            assert all(isinstance(response["response"], dict) for response in answered)
            named = []
    assert not named


CHECKS = {
    "openai-chat": check_openai_chat,
    "openai-responses": check_openai_responses,
    "anthropic": check_anthropic,
    "gemini": check_gemini,
}
every_protocol = pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
modest = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@every_protocol
@modest
@given(data=st.data())
def test_any_request_keeps_the_rules_of_its_provider(protocol: str, data: st.DataObject) -> None:
    request = data.draw(requests(protocol, data.draw(st.none() | st.integers(0, 3))))
    CHECKS[protocol](encoded(request))


def adds_to(value: Any, grown: Any) -> bool:
    """Whether a field of a message only grew at its end; a text may have become the first of several parts."""
    if isinstance(value, str) and isinstance(grown, list):
        grown = grown[0]["text"]
    if isinstance(value, (str, list)):
        return bool(grown[: len(value)] == value)
    return value is None or grown == value


@every_protocol
@modest
@given(data=st.data())
def test_a_longer_history_begins_with_the_bytes_of_a_shorter_one(protocol: str, data: st.DataObject) -> None:
    longer = data.draw(requests(protocol))
    cuts = [n for n, item in enumerate(longer.messages) if not isinstance(item, ResultMessage)]
    upto = data.draw(st.sampled_from([*cuts, len(longer.messages)]))
    shorter = Request(longer.model, longer.system, longer.tools, longer.messages[:upto], longer.max_output)
    key = {"openai-responses": "input", "gemini": "contents"}.get(protocol, "messages")
    before, after = (codec(protocol).encode(request, lambda image: PIXELS) for request in (shorter, longer))
    first, then = before[key], after[key]
    parts = {"anthropic": "content", "gemini": "parts"}.get(protocol)
    closing = first[-1].get(parts or "content") if first else None
    if closing == CONTINUE or (parts and closing[-1].get("text") == CONTINUE):
        first = first[:-1]
    if not first:
        return
    assert json_bytes(first[:-1]) == json_bytes(then[: len(first) - 1])
    last, grown = first[-1], then[len(first) - 1]
    if parts:
        assert grown["role"] == last["role"]
        assert json_bytes(grown[parts][: len(last[parts])]) == json_bytes(last[parts])
    elif protocol == "openai-chat":
        for field, value in last.items():
            assert adds_to(value, grown[field])
    else:
        assert json_bytes(grown) == json_bytes(last)


@every_protocol
@modest
@given(data=st.data())
def test_equal_requests_give_equal_bytes_and_the_request_stays_as_it_was(protocol: str, data: st.DataObject) -> None:
    request = data.draw(requests(protocol))
    spoken = codec(protocol)
    once = json_bytes(spoken.encode(request, lambda image: PIXELS))
    wire = spoken.encode(request, lambda image: PIXELS)
    spoken.with_cache_marks(wire)
    assert json_bytes(wire) == once


@modest
@given(request=requests("anthropic"))
def test_cache_marks_are_at_most_four_and_never_on_thinking(request: Request) -> None:
    spoken = codec("anthropic")
    wire = spoken.encode(request, lambda image: PIXELS)
    marked = spoken.with_cache_marks(wire)
    blocks = [
        *marked.get("tools", []),
        *marked.get("system", []),
        *(block for message in marked["messages"] for block in message["content"]),
    ]
    carrying = [block for block in blocks if "cache_control" in block]
    assert len(carrying) <= 4
    assert all(block.get("type") not in ("thinking", "redacted_thinking") for block in carrying)
    for block in carrying:
        del block["cache_control"]
    assert json_bytes(marked) == json_bytes(wire)


# ---- the providers' own types ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def adapters() -> Iterator[dict[str, Any]]:
    for package in ("pydantic", "openai", "anthropic", "google.genai"):
        pytest.importorskip(package)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these packages' own
        from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
        from google.genai import types as gemini
        from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
        from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
        from pydantic import TypeAdapter

        yield {
            "openai-chat": TypeAdapter(CompletionCreateParamsNonStreaming),
            "openai-responses": TypeAdapter(ResponseCreateParamsNonStreaming),
            "anthropic": TypeAdapter(MessageCreateParamsNonStreaming),
            "gemini": (TypeAdapter(list[gemini.Content]), TypeAdapter(list[gemini.Tool])),
        }


def drained(value: Any) -> Any:
    """Typed values validate lazily where the type says Iterable."""
    if isinstance(value, dict):
        return {key: drained(item) for key, item in value.items()}
    if isinstance(value, (str, bytes, int, float)) or value is None:
        return value
    return [drained(item) for item in value]


@every_protocol
@settings(modest, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], max_examples=40)
@given(data=st.data())
def test_the_providers_own_types_accept_every_request(
    protocol: str, adapters: dict[str, Any], data: st.DataObject
) -> None:
    request = data.draw(requests(protocol))
    wire = encoded(request)
    if protocol == "gemini":
        contents, tools = adapters["gemini"]
        contents.validate_python(wire["contents"])
        tools.validate_python(wire.get("tools", []))
        return
    own = {key for replay in OWN_REPLAYS["openai-chat"] for key in replay}  # fields beyond OpenAI's own chat
    for message in wire.get("messages", []) if protocol == "openai-chat" else []:
        for key in own & message.keys():
            del message[key]
    assert drained(adapters[protocol].validate_python(wire)) == wire


def test_names_that_are_offered_are_sent_as_they_are() -> None:
    legal = string.ascii_letters + string.digits + "_-"
    spec = ToolSpec(legal, "d", {"type": "object"})
    for protocol in PROTOCOLS:
        wire = codec(protocol).encode(Request(Model("m", protocol, ""), "", (spec,), (UserMessage("x"),)), bytes)
        assert legal[:64] in json_bytes(wire["tools"]).decode()
