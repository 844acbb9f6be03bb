"""What single codecs do with single messages."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from refold import Call, Image, Model, NotFound, ProjectionFailed, Refused, Replay
from refold.providers.alternation import CONTINUE, MISSING_START
from refold.providers.identifiers import NINE, USUAL, CallIds, tool_name
from refold.providers.protocols import PROTOCOLS, codec
from refold.values.json_text import json_bytes
from refold.values.messages import AssistantMessage, Message, Request, ResultMessage, UserMessage

from tests import pictures

PNG = Image("k", "image/png", 640, 480)


def pixels_of(key: str) -> bytes:
    return pictures.png() + f"pixels of {key}".encode()


DATA = base64.b64encode(pixels_of("k")).decode()


def encode(protocol: str, *messages: Message, model: str = "m", **limits: Any) -> dict[str, Any]:
    request = Request(Model(model, protocol, "me", **limits), "", (), messages)
    return codec(protocol).encode(request, lambda image: pixels_of(image.key))


def step(*results: ResultMessage, text: str = "") -> list[Message]:
    calls = tuple(Call(result.call_id, result.name, {"path": "a"}) for result in results)
    return [AssistantMessage(text, calls), *results]


def test_chat_pictures_of_results_ride_behind_all_results_of_their_step() -> None:
    results = [ResultMessage("a", "shot", "", images=(PNG,)), ResultMessage("b", "read", "text")]
    wire = encode("openai-chat", *step(*results), UserMessage("next"))
    assert [message["role"] for message in wire["messages"]] == ["user", "assistant", "tool", "tool", "user"]
    assert wire["messages"][2]["content"] == "(no output)"
    assert wire["messages"][4]["content"] == [
        {"type": "text", "text": "[images in the result of shot]"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
        {"type": "text", "text": "next"},
    ]


def test_chat_joins_messages_of_one_role_and_stays_with_strings_until_a_picture_joins() -> None:
    said = [UserMessage("one"), UserMessage("two")]
    assert encode("openai-chat", *said)["messages"] == [{"role": "user", "content": "one\n\ntwo"}]
    pictured = encode("openai-chat", *said, UserMessage("", (PNG,)), UserMessage("three"))["messages"]
    assert [message["role"] for message in pictured] == ["user"]
    assert [part["type"] for part in pictured[0]["content"]] == ["text", "image_url", "text"]
    assert pictured[0]["content"][0]["text"] == "one\n\ntwo"


def test_chat_joins_an_answer_to_the_one_that_broke_off_before_it() -> None:
    parts = (UserMessage("go"), AssistantMessage("half"), *step(ResultMessage("a", "read", "x")))
    messages = encode("openai-chat", *parts)["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert messages[1]["content"].startswith("half")
    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"]


def test_chat_begins_and_ends_with_the_user() -> None:
    messages = encode("openai-chat", AssistantMessage("hi"))["messages"]
    assert [message["content"] for message in messages] == [MISSING_START, "hi", CONTINUE]


def test_the_other_protocols_keep_pictures_inside_the_result() -> None:
    messages = step(ResultMessage("a", "shot", "done", images=(PNG,)))
    output = encode("openai-responses", *messages)["input"][1]["output"]
    assert [part["type"] for part in output] == ["input_text", "input_image"]
    result = encode("anthropic", *messages)["messages"][2]["content"][0]
    assert result["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": DATA}
    response = encode("gemini", *messages, model="gemini-3-pro")["contents"][2]["parts"][0]["functionResponse"]
    assert response["parts"] == [{"inlineData": {"mimeType": "image/png", "data": DATA}}]


def test_gemini_before_3_takes_pictures_behind_all_responses_of_the_step() -> None:
    results = [ResultMessage("a", "shot", "x", images=(PNG,)), ResultMessage("b", "read", "y")]
    parts = encode("gemini", *step(*results), model="gemini-2.5-pro")["contents"][2]["parts"]
    assert [next(iter(part)) for part in parts] == ["functionResponse", "functionResponse", "text", "inlineData"]


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_a_model_that_reads_text_only_is_told_of_the_picture(protocol: str) -> None:
    wire = encode(protocol, UserMessage("look", (PNG,)), inputs=frozenset({"text"}))
    assert r"look\n[image image/png 640x480 omitted: the model reads text only]" in json_bytes(wire).decode()


def test_a_media_type_that_the_provider_refuses_becomes_a_line() -> None:
    wire = encode("anthropic", UserMessage("", (Image("k", "image/svg+xml", 0, 0),)))
    (block,) = wire["messages"][0]["content"]
    assert block["text"] == "[image image/svg+xml of unknown size omitted: the provider does not take this type]"


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
@pytest.mark.parametrize("owner", [None, "gone"])
def test_a_picture_whose_bytes_nobody_has_becomes_a_line(protocol: str, owner: str | None) -> None:
    def image_bytes(image: Image) -> bytes:
        if image.key == "empty":
            return b""
        raise NotFound("nobody has it")

    lost = (Image("https://example.org/a.png", "image/png", 640, 480, owner), Image("empty", "image/png", 1, 1, owner))
    messages = (*step(ResultMessage("a", "shot", "", images=lost)), UserMessage("look", lost))
    wire = codec(protocol).encode(Request(Model("m", protocol, "me"), "", (), messages), image_bytes)
    text = json_bytes(wire).decode()
    where = owner or "the transcript"
    assert text.count(f"[image image/png 640x480 omitted: its bytes are not in {where}]") == 2
    assert text.count(f"[image image/png 1x1 omitted: its bytes are not in {where}]") == 2
    assert "base64" not in text


@pytest.mark.parametrize(
    ("most", "count", "shown"),
    [(2, 2, 2), (2, 3, 2), (1, 5, 1), (0, 3, 0), (8, 8, 8), (8, 9, 7), (8, 10, 8), (8, 11, 7), (20, 21, 16)],
)
def test_too_many_pictures_leave_oldest_first_and_a_batch_at_a_time(most: int, count: int, shown: int) -> None:
    messages = [UserMessage(f"{n}", (Image(f"{n}", "image/png", 9, 9),)) for n in range(count)]
    wire = encode("openai-responses", *messages, max_images=most)
    pixels = [n for n, item in enumerate(wire["input"]) if isinstance(item["content"], list)]
    assert pixels == list(range(count - shown, count))


@pytest.mark.parametrize(
    ("protocol", "key", "parts"), [("anthropic", "messages", "content"), ("gemini", "contents", "parts")]
)
def test_an_answer_at_either_end_gets_words_of_the_user_around_it(protocol: str, key: str, parts: str) -> None:
    said = [message[parts][0]["text"] for message in encode(protocol, AssistantMessage("hi"))[key]]
    assert said == [MISSING_START, "hi", CONTINUE]


def test_anthropic_joins_what_the_user_says_after_results_behind_them() -> None:
    wire = encode("anthropic", UserMessage("q"), *step(ResultMessage("a", "read", "x", ok=False)), UserMessage("also"))
    assert [block["type"] for block in wire["messages"][2]["content"]] == ["tool_result", "text"]
    assert wire["messages"][2]["content"][0]["is_error"] is True


def test_anthropic_history_with_calls_defines_a_tool_that_cannot_be_called() -> None:
    assert "tools" not in encode("anthropic", UserMessage("q"))
    wire = encode("anthropic", UserMessage("q"), *step(ResultMessage("a", "read", "x")))
    assert wire["tool_choice"] == {"type": "none"}


def test_anthropic_marks_the_two_newest_messages_of_the_user_but_not_the_placeholder() -> None:
    wire = encode("anthropic", UserMessage("1"), AssistantMessage("a"), UserMessage("2"), AssistantMessage("b"))
    marked = codec("anthropic").with_cache_marks(wire)
    carrying = [
        block["text"] for message in marked["messages"] for block in message["content"] if "cache_control" in block
    ]
    assert carrying == ["1", "2"]


def test_an_opaque_item_goes_to_its_owner_alone_and_in_its_own_place() -> None:
    thought = {"type": "thinking", "thinking": "t", "signature": "s"}
    mine, foreign = Replay("me", json.dumps(thought)), Replay("you", json.dumps(thought))
    wire = encode("anthropic", UserMessage("q"), foreign, mine, AssistantMessage("a"))
    assert wire["messages"][1]["content"] == [thought, {"type": "text", "text": "a"}]
    left_out = encode("anthropic", UserMessage("q"), mine, UserMessage("r"))
    assert [block["type"] for block in left_out["messages"][0]["content"]] == ["text", "text"]

    item = {"type": "reasoning", "id": "rs_1", "summary": []}
    items = encode(
        "openai-responses", Replay("me", json.dumps(item)), AssistantMessage("a"), Replay("me", json.dumps(item))
    )
    assert [entry["type"] for entry in items["input"]] == ["reasoning", "message"]

    chat = encode("openai-chat", Replay("me", '{"reasoning_content": "r", "role": "system"}'), AssistantMessage("a"))
    assert chat["messages"][1] == {"role": "assistant", "content": "a", "reasoning_content": "r"}


def test_gemini_signatures_stand_on_the_first_call_of_a_step() -> None:
    results = [ResultMessage("a", "read", "x"), ResultMessage("b", "read", "y")]
    signed = [Replay("me", '{"thoughtSignature": "c2ln"}'), *step(*results, text="look")]
    parts = encode("gemini", UserMessage("q"), *signed, model="gemini-3-pro")["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == [None, "c2ln", None]
    foreign = encode("gemini", UserMessage("q"), *step(*results), model="gemini-3-pro")["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in foreign] == ["skip_thought_signature_validator", None]
    old = encode("gemini", UserMessage("q"), *step(*results), model="gemini-2.5-pro")["contents"][1]["parts"]
    assert not any("thoughtSignature" in part for part in old)


@pytest.mark.parametrize("payload", ["", "nonsense", "3", '["x"]'])
def test_an_opaque_item_that_nobody_can_read_fails_the_request_in_one_line(payload: str) -> None:
    with pytest.raises(ProjectionFailed, match="opaque item of me is not a JSON object; nothing was sent"):
        encode("gemini", UserMessage("q"), Replay("me", payload), AssistantMessage("a"))


def test_an_unknown_protocol_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(Refused, match="use one of openai-chat, openai-responses, anthropic, gemini"):
        codec("smoke-signals")


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("gpt-5.4", "max_completion_tokens"), ("openai/o3", "max_completion_tokens"), ("gpt-oss-120b", "max_tokens"),
        ("qwen3", "max_tokens"), ("local/small", "max_tokens"),
    ],
)  # fmt: skip
def test_chat_names_the_output_limit_as_the_server_knows_it(model: str, key: str) -> None:
    request = Request(Model(model, "openai-chat", ""), "", (), (UserMessage("x"),), 77)
    assert codec("openai-chat").encode(request, bytes)[key] == 77


def test_call_ids_stay_when_legal_and_new_and_are_derived_otherwise() -> None:
    ids = CallIds(USUAL)
    taken = [ids.take(id) for id in ["a", "a", "a", "", "", "x|y", "z" * 65]]
    assert taken[0] == "a"
    assert len(set(taken)) == len(taken)
    assert [CallIds(USUAL).take("x|y"), CallIds(NINE).take("x|y")[:9]] == [taken[5], CallIds(NINE).take("x|y")]
    assert CallIds(NINE).take("abcdefghi") == "abcdefghi"


def test_a_derived_id_gives_way_to_one_that_was_there_before() -> None:
    derived = CallIds(USUAL).take("")
    ids = CallIds(USUAL)
    assert ids.take(derived) == derived
    assert ids.take("") not in ("", derived)


def test_tool_names_are_cut_and_cleaned() -> None:
    assert [tool_name("a.b c"), tool_name(""), tool_name("n" * 99, 10)] == ["a_b_c", "tool", "n" * 10]


def test_bytes_hold_wide_integers_and_replace_lone_surrogates_and_change_nothing_else() -> None:
    plain = {"f": 1e16, "escape": "\x1b", "list": (1, 2), "big": 2**64 - 1}
    wide = {**plain, "n": [2**64, -(2**63) - 1], "s": "a\ud800b\U0001f642"}
    assert json_bytes(wide) == json_bytes(plain)[:-1] + (
        b',"n":[18446744073709551616,-9223372036854775809],"s":"a\xef\xbf\xbdb\xf0\x9f\x99\x82"}'
    )
