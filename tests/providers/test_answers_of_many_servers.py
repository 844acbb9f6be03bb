"""What decoders make of the ways in which servers differ from their protocol."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refold.providers.decoding import CutOff, RefusedInside, Unreadable
from refold.providers.exchange import Answer, TextDelta, Usage, unparsed
from refold.providers.routes import ROUTES
from refold.providers.sse import Event

OWNER = "p/-/m"


def _streamed(protocol: str, *values: Any) -> tuple[list[Any], Answer]:
    decoder = ROUTES[protocol].decoder(OWNER)
    deltas = [
        delta
        for value in values
        for delta in decoder.feed(Event("", value if isinstance(value, str) else json.dumps(value)))
    ]
    return deltas, decoder.answer()


def _chat(*values: Any) -> Answer:
    return _streamed("openai-chat", *values)[1]


def _delta(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"delta": delta, "finish_reason": finish}]}


def _call(id: str | None, name: str | None, arguments: Any, index: int | None = 0) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    call: dict[str, Any] = {"function": function}
    if id is not None:
        call["id"] = id
    if index is not None:
        call["index"] = index
    return _delta(tool_calls=[call])


STOP = _delta("stop")
TOOL = _delta("tool_calls")


# Calls


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([_call("a", "f", '{"x":1}', 0), _call("b", "g", "{}", 1)], id="by index"),
        pytest.param([_call("a", "f", '{"x":1}', 0), _call("b", "g", "{}", 0)], id="every index is 0"),
        pytest.param([_call("a", "f", '{"x":1}', None), _call("b", "g", "{}", None)], id="no index"),
        pytest.param(
            [_call("a", "f", '{"x"', 0), _call("a", "f", ":1}", 0), _call("b", "g", "{}", 1)], id="id and name repeated"
        ),
        pytest.param([_call("a", "f", {"x": 1}, 0), _call("b", "g", None, 1)], id="arguments as an object, or none"),
        pytest.param(
            [
                _call("a", "f", "", 0),
                _call("b", "g", "", 1),
                _call(None, None, '{"x":1}', 0),
                _call(None, None, "{}", 1),
            ],
            id="pieces in turns",
        ),
    ],
)
def test_parallel_calls_are_told_apart_however_they_are_numbered(pieces: list[Any]) -> None:
    answer = _chat(*pieces, TOOL)
    assert [(call.id, call.name, call.arguments) for call in answer.calls] == [("a", "f", {"x": 1}), ("b", "g", {})]


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        ([_call(None, "f", '{"x"'), _call(None, "f", ":1}")], [("f", {"x": 1})]),
        ([_call(None, "f", '{"x":1}'), _call(None, "g", "{}")], [("f", {"x": 1}), ("g", {})]),
        ([_call(None, "f", '{"x":1}'), _call(None, "f", '{"x":2}')], [("f", {"x": 1}), ("f", {"x": 2})]),
    ],
)
def test_without_ids_a_name_begins_a_call_only_behind_a_complete_one(pieces: list[Any], calls: list[Any]) -> None:
    assert [(call.name, call.arguments) for call in _chat(*pieces, TOOL).calls] == calls


def test_calls_without_ids_get_one_by_their_place() -> None:
    answer = _chat(_call(None, "f", "{}", 0), _call(None, "g", "{}", 1), TOOL)
    assert [call.id for call in answer.calls] == ["call_1", "call_2"]


@pytest.mark.parametrize("arguments", ['{"x": ', "[1]", "nonsense", '{"x": NaN}', '"text"'])
def test_arguments_that_are_no_object_are_kept_as_they_were_written(arguments: str) -> None:
    [call] = _chat(_call("a", "f", arguments), TOOL).calls
    assert unparsed(call) == arguments


@pytest.mark.parametrize("arguments", ["", "  ", "{}", None])
def test_no_arguments_are_an_empty_object(arguments: str | None) -> None:
    [call] = _chat(_call("a", "f", arguments), TOOL).calls
    assert (call.arguments, unparsed(call)) == ({}, None)


def test_large_whole_numbers_in_arguments_stay_whole() -> None:
    [call] = _chat(_call("a", "f", '{"x": 123456789012345678901234567890}'), TOOL).calls
    assert call.arguments == {"x": 123456789012345678901234567890}


@pytest.mark.parametrize(
    ("finish", "stop"),
    [("stop", "tool"), ("tool_calls", "tool"), ("function_call", "tool"), ("length", "length"), ("eos", "tool")],
)
def test_an_answer_with_calls_stops_for_them_unless_it_was_cut(finish: str, stop: str) -> None:
    assert _chat(_call("a", "f", "{}"), _delta(finish)).stop == stop


# Stops


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", "end"),
        ("length", "length"),
        ("model_context_window_exceeded", "length"),
        ("content_filter", "refusal"),
        ("sensitive", "refusal"),
        ("tool_calls", "other"),
        ("network_error", "other"),
    ],
)
def test_the_reason_why_an_answer_ended_is_read(finish: str, stop: str) -> None:
    answer = _chat(_delta(content="x"), _delta(finish))
    assert (answer.stop, answer.raw_stop) == (stop, finish)


def test_either_end_mark_is_enough() -> None:
    assert _chat(_delta(content="x"), "[DONE]").text == "x"
    assert _chat(_delta("stop", content="x")).text == "x"
    with pytest.raises(CutOff):
        _chat(_delta(content="x"))


def test_a_refusal_in_words_is_the_text_of_a_refused_answer() -> None:
    answer = _chat(_delta(refusal="I can"), _delta(refusal="not."), STOP)
    assert (answer.text, answer.stop) == ("I cannot.", "refusal")


# Reasoning


@pytest.mark.parametrize(
    "piece",
    [
        _delta(reasoning_content="hm"),
        _delta(reasoning="hm"),
        _delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]),
    ],
)
def test_reasoning_is_shown_and_is_no_part_of_the_answer(piece: Any) -> None:
    deltas, answer = _streamed("openai-chat", piece, _delta(content="x"), STOP)
    assert [type(delta).__name__ for delta in deltas] == ["ReasoningDelta", "TextDelta"]
    assert (answer.text, answer.reasoned, answer.replays) == ("x", True, ())


def test_reasoning_goes_back_with_calls_where_the_provider_wants_it() -> None:
    answer = _chat(_delta(reasoning_content="h"), _delta(reasoning_content="m"), _call("a", "f", "{}"), TOOL)
    [replay] = answer.replays
    assert (replay.owner, json.loads(replay.payload)) == (OWNER, {"reasoning_content": "hm"})
    plain = _chat(_delta(reasoning="hm"), _call("a", "f", "{}"), TOOL)
    assert plain.replays == ()


def test_pieces_of_reasoning_details_are_joined_and_their_seals_kept() -> None:
    def detail(index: int, **more: Any) -> Any:
        return _delta(reasoning_details=[{"type": "reasoning.text", "index": index, **more}])

    answer = _chat(
        detail(0, text="h", format="anthropic"), detail(0, text="m", signature=None), detail(0, signature="s"),
        detail(1, text="x"), _delta(content="ok"), STOP,
    )  # fmt: skip
    [replay] = answer.replays
    assert json.loads(replay.payload) == {
        "reasoning_details": [
            {"type": "reasoning.text", "index": 0, "text": "hm", "format": "anthropic", "signature": "s"},
            {"type": "reasoning.text", "index": 1, "text": "x"},
        ]
    }


def _anthropic(*blocks: dict[str, Any], stop: str = "tool_use") -> Answer:
    return ROUTES["anthropic"].decoder(OWNER).whole({"content": list(blocks), "stop_reason": stop})


THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
REDACTED = {"type": "redacted_thinking", "data": "x"}
USED = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
SAID = {"type": "text", "text": "ok"}


@pytest.mark.parametrize(
    ("blocks", "kept"),
    [
        ((THINKING, REDACTED, SAID, USED), [THINKING, REDACTED]),
        ((THINKING, USED), [THINKING]),
        ((SAID, THINKING, USED), None),
        ((THINKING, USED, THINKING, USED), None),
        ((THINKING,), None),
        (({"type": "thinking", "thinking": "hm", "signature": ""}, SAID), None),
        ((SAID,), None),
    ],
)
def test_thinking_goes_back_only_if_it_keeps_its_place(blocks: Any, kept: Any) -> None:
    replays = _anthropic(*blocks).replays
    if kept is None:
        assert replays == ()
    else:
        found = json.loads(replays[0].payload)
        assert (found if isinstance(found, list) else [found]) == kept


def _responses(*items: dict[str, Any], **more: Any) -> Answer:
    body = {"status": "completed", "output": list(items), **more}
    return ROUTES["openai-responses"].decoder(OWNER).whole(body)


def test_reasoning_that_cannot_go_back_is_left_out() -> None:
    sealed = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"}
    open_one = {"type": "reasoning", "id": "r", "summary": []}
    used = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    assert json.loads(_responses(sealed, used).replays[0].payload) == sealed
    assert json.loads(_responses(sealed, used, sealed, used).replays[0].payload) == sealed
    assert _responses(open_one, used).replays == ()
    assert _responses(sealed, status="incomplete").replays == ()


@pytest.mark.parametrize(
    ("reason", "stop"), [("max_output_tokens", "length"), ("content_filter", "refusal"), ("new_reason", "other")]
)
def test_an_incomplete_response_says_why(reason: str, stop: str) -> None:
    said = {"type": "message", "content": [{"type": "output_text", "text": "x"}]}
    answer = _responses(said, status="incomplete", incomplete_details={"reason": reason})
    assert (answer.text, answer.stop, answer.raw_stop) == ("x", stop, reason)


def test_a_response_whose_last_event_has_no_output_is_made_of_its_finished_items() -> None:
    item = {"type": "message", "content": [{"type": "output_text", "text": "x"}]}
    _, answer = _streamed(
        "openai-responses",
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    )
    assert answer.text == "x"


@pytest.mark.parametrize(
    ("parts", "signature"),
    [
        ([{"functionCall": {"name": "f"}, "thoughtSignature": "c"}], "c"),
        ([{"text": "x", "thoughtSignature": "t"}], "t"),
        ([{"text": "x"}, {"text": "", "thoughtSignature": "t"}], "t"),
        ([{"text": "x", "thoughtSignature": "t"}, {"functionCall": {"name": "f"}, "thoughtSignature": "c"}], "c"),
        ([{"text": "x", "thoughtSignature": "t"}, {"functionCall": {"name": "f"}}], None),
        ([{"text": "", "thoughtSignature": "t"}], None),
        ([{"text": "x"}], None),
    ],
)
def test_a_gemini_signature_goes_back_with_the_part_it_seals(parts: Any, signature: str | None) -> None:
    _, answer = _streamed("gemini", {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})
    found = [json.loads(replay.payload)["thoughtSignature"] for replay in answer.replays]
    assert found == ([] if signature is None else [signature])


def test_a_blocked_prompt_is_a_refused_answer() -> None:
    _, answer = _streamed("gemini", {"promptFeedback": {"blockReason": "SAFETY"}})
    assert (answer.text, answer.stop, answer.raw_stop) == ("", "refusal", "SAFETY")


# Usage


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 650, "prompt_tokens_details": {"cached_tokens": 600}}, Usage(650, 600)),
        ({"prompt_tokens": 650, "prompt_cache_hit_tokens": 600, "completion_tokens": 3}, Usage(650, 600, 3)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Usage(None, None, 0)),
        ({"completion_tokens": 20}, Usage(None, None, 20)),
        ({"prompt_tokens": "650", "completion_tokens": -1}, Usage()),
        ({"prompt_tokens": None, "prompt_tokens_details": None}, Usage()),
    ],
)
def test_usage_of_chat_servers_includes_what_was_cached(usage: Any, counted: Usage) -> None:
    assert _chat(_delta("stop", content="x"), {"choices": [], "usage": usage}).usage == counted
    assert _chat(_delta("stop", content="x"), {"choices": [], "x_groq": {"usage": usage}}).usage == counted


def test_usage_of_anthropic_is_added_up() -> None:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 650, "cache_creation_input_tokens": 0, "output_tokens": 1}
    body = {"content": [SAID], "stop_reason": "end_turn", "usage": usage}
    assert ROUTES["anthropic"].decoder(OWNER).whole(body).usage == Usage(653, 650, 1)


# Errors inside


@pytest.mark.parametrize("protocol", list(ROUTES))
@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "overloaded", "type": "overloaded_error"}},
        {"type": "error", "error": {"message": "overloaded", "type": "overloaded_error"}},
        {"error": "overloaded"},
    ],
)
def test_an_error_inside_a_stream_is_a_refusal(protocol: str, error: Any) -> None:
    with pytest.raises(RefusedInside, match="overloaded"):
        _streamed(protocol, error)


def test_a_failed_response_is_a_refusal_with_its_code() -> None:
    failed = {"status": "failed", "error": {"code": "context_length_exceeded", "message": "too much"}}
    with pytest.raises(RefusedInside) as caught:
        _streamed("openai-responses", {"type": "response.failed", "response": failed})
    assert caught.value.code == "context_length_exceeded"


def test_a_refusal_under_status_200_in_a_whole_body_is_a_refusal() -> None:
    body = {"choices": None, "base_resp": {"status_code": 2013, "status_msg": "context window exceeds limit"}}
    with pytest.raises(RefusedInside) as caught:
        ROUTES["openai-chat"].decoder(OWNER).whole(body)
    assert caught.value.status == 400


def test_a_character_cut_into_two_escapes_is_whole_in_the_answer() -> None:
    answer = _chat(
        '{"choices":[{"delta":{"content":"\\ud83d"}}]}', '{"choices":[{"delta":{"content":"\\ude00"}}]}', STOP
    )
    assert answer.text == "\U0001f600"


def test_a_message_where_the_piece_should_be_is_read() -> None:
    deltas, answer = _streamed("openai-chat", {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]})
    assert (deltas, answer.text) == ([TextDelta("x")], "x")


_NAMES = [
    *("choices", "delta", "content", "tool_calls", "function", "arguments", "index", "usage", "type", "item"),
    *("output", "response", "candidates", "parts", "functionCall", "content_block", "message", "name"),
]
_EVENTS = [
    *("", "error", "response.completed", "response.output_item.done", "response.output_item.added"),
    *("content_block_start", "content_block_delta", "message_delta", "message_start"),
]
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(_NAMES),
            inner,
            max_size=4,
        )
    ),
    max_leaves=14,
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(list(ROUTES)),
    st.lists(
        st.tuples(
            st.sampled_from(_EVENTS),
            st.dictionaries(st.sampled_from(["choices", "item", "response", "candidates", "delta", "usage"]), _JSON),
        ),
        max_size=5,
    ),
)
def test_whatever_a_server_sends_a_decoder_ends_in_an_answer_or_a_known_error(
    protocol: str, sent: list[tuple[str, dict[str, Any]]]
) -> None:
    decoder = ROUTES[protocol].decoder(OWNER)
    try:
        for name, value in sent:
            list(decoder.feed(Event(name, json.dumps(value))))
        assert isinstance(decoder.answer(), Answer)
    except (CutOff, RefusedInside, Unreadable):
        pass
