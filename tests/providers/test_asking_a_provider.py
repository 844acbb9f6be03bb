"""The client against a real server: answers, retries and faults."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from refold.providers.client import Client
from refold.providers.exchange import Answer, CallDelta, TextDelta, Usage
from refold.providers.failures import Interrupted, ProviderError, Unreachable
from refold.providers.lines import Patience
from refold.providers.provider import ProviderConfig
from refold.values.rows import Call

from .asking import DONE, HELLO, QUICK, USAGE, WHOLE, config_of, everything, no_images, request_for


@pytest.fixture
def client(provider: Any) -> Iterator[Client]:
    with Client(config_of(provider), QUICK) as made:
        yield made


def test_an_answer_comes_in_pieces_and_then_whole(provider: Any, client: Client) -> None:
    provider.plays(provider.streams(*HELLO, USAGE, DONE))
    deltas, answer = everything(client)
    assert deltas == [TextDelta("Hel"), TextDelta("lo")]
    assert (answer.text, answer.stop, answer.usage) == ("Hello", "end", Usage(12, 8, 2))
    [asked] = provider.asked
    assert (asked.method, asked.path) == ("POST", "/v1/chat/completions")
    assert asked.body["stream"] is True
    assert asked.body["messages"][-1] == {"role": "user", "content": "Hello?"}


def test_a_whole_answer_is_asked_for_without_a_stream(provider: Any, client: Client) -> None:
    provider.plays(provider.says(WHOLE))
    assert client.ask(request_for(), no_images).text == "Hello"
    assert "stream" not in provider.asked[0].body


def test_a_server_that_does_not_stream_is_understood(provider: Any, client: Client) -> None:
    provider.plays(provider.says(WHOLE))
    assert everything(client) == ([], client.ask(request_for(), no_images))


def test_one_connection_serves_one_request_after_another(provider: Any, client: Client) -> None:
    provider.plays(provider.streams(*HELLO, DONE))
    for _ in range(3):
        everything(client)
    assert len({asked.client for asked in provider.asked}) == 1


def test_requests_in_several_threads_do_not_wait_for_each_other(provider: Any, client: Client) -> None:
    provider.plays(provider.streams(*HELLO, DONE))
    answers: list[Answer] = []
    threads = [threading.Thread(target=lambda: answers.append(everything(client)[1])) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.text for answer in answers] == ["Hello"] * 6


# Trying again


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529, 408])
def test_a_refusal_that_passes_is_tried_again(provider: Any, client: Client, status: int) -> None:
    provider.plays(provider.says({"error": {"message": "busy"}}, status), provider.streams(*HELLO, DONE))
    assert everything(client)[1].text == "Hello"
    assert len(provider.asked) == 2
    assert provider.asked[0].body == provider.asked[1].body


def test_the_wait_that_a_provider_asks_for_is_honoured(provider: Any, client: Client) -> None:
    provider.plays(provider.says("slow down", 429, {"retry-after": "0.4"}), provider.says(WHOLE))
    began = time.monotonic()
    client.ask(request_for(), no_images)
    assert time.monotonic() - began >= 0.4


def test_a_provider_that_asks_for_a_long_wait_is_not_asked_again(provider: Any, client: Client) -> None:
    provider.plays(provider.says("slow down", 429, {"retry-after": "3600"}))
    with pytest.raises(ProviderError) as caught:
        everything(client)
    assert (caught.value.refusal.kind, caught.value.refusal.retry_after) == ("rate", 3600.0)
    assert len(provider.asked) == 1


def test_trying_again_ends(provider: Any, client: Client) -> None:
    provider.plays(provider.says("", 503))
    with pytest.raises(ProviderError, match="status 503"):
        everything(client)
    assert len(provider.asked) == QUICK.attempts


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": {"code": "context_length_exceeded", "message": "too much"}}, "too_large"),
        (400, {"error": {"message": "bad schema"}}, "malformed"),
        (401, {"error": {"message": "bad key"}}, "auth"),
        (404, {"error": {"message": "no such model"}}, "not_found"),
        (413, "<html>", "too_many_bytes"),
        (413, "tokens per minute (TPM): Limit 6000, Requested 9000", "rate"),
        (429, {"error": {"code": "insufficient_quota"}}, "quota"),
        (302, "", "other"),
    ],
)
def test_a_refusal_that_stays_is_not_tried_again(
    provider: Any, client: Client, status: int, body: Any, kind: str
) -> None:
    provider.plays(provider.says(body, status))
    with pytest.raises(ProviderError) as caught:
        everything(client)
    assert (caught.value.refusal.kind, caught.value.streamed) == (kind, False)
    assert "\n" not in str(caught.value)
    assert len(provider.asked) == 1


def test_a_failure_inside_a_stream_is_tried_again_only_before_anything_was_handed_out(
    provider: Any, client: Client
) -> None:
    busy = {"error": {"message": "overloaded", "code": 503}}
    provider.plays(provider.streams(busy), provider.streams(*HELLO, DONE))
    assert everything(client)[1].text == "Hello"
    provider.plays(provider.streams(HELLO[0], busy), provider.streams(*HELLO, DONE))
    with pytest.raises(ProviderError) as caught:
        everything(client)
    assert (caught.value.streamed, caught.value.transient, caught.value.refusal.kind) == (True, False, "overloaded")
    assert len(provider.asked) == 3


def test_a_window_that_is_full_is_told_inside_a_stream_too(provider: Any, client: Client) -> None:
    refused = {
        "error": {"code": 400, "type": "exceed_context_size_error", "message": "", "n_prompt_tokens": 9, "n_ctx": 8}
    }
    provider.plays(provider.streams(refused))
    with pytest.raises(ProviderError) as caught:
        everything(client)
    refusal = caught.value.refusal
    assert (refusal.kind, refusal.limit, refusal.requested, caught.value.streamed) == ("too_large", 8, 9, False)


# Broken connections


def test_a_stream_that_breaks_off_is_interrupted(provider: Any, client: Client) -> None:
    provider.plays(provider.streams(HELLO[0], end="cut"))
    pieces = client.stream(request_for(), no_images)
    assert next(pieces) == TextDelta("Hel")
    with pytest.raises(Interrupted) as caught:
        next(pieces)
    assert caught.value.streamed
    assert len(provider.asked) == 1


def test_a_stream_that_ends_without_its_end_is_interrupted(provider: Any, client: Client) -> None:
    provider.plays(provider.streams(HELLO[0]))
    with pytest.raises(Interrupted):
        everything(client)


def test_a_stream_that_breaks_off_before_its_first_piece_is_tried_again(provider: Any, client: Client) -> None:
    provider.plays(provider.streams(end="cut"), provider.streams(), provider.streams(*HELLO, DONE))
    assert everything(client)[1].text == "Hello"
    assert len(provider.asked) == 3


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        ("just some words\n\n",),
        (DONE,),
        ({"choices": None}, DONE),
        ({"choices": []}, DONE),
        ({"choices": [{"delta": None, "finish_reason": "stop"}]}, DONE),
    ],
    ids=["empty", "garbage", "done", "null", "none", "no-delta"],
)
def test_a_stream_without_an_answer_is_interrupted_and_tried_again(
    provider: Any, client: Client, pieces: tuple[Any, ...]
) -> None:
    provider.plays(provider.streams(*pieces), provider.streams(*HELLO, DONE))
    assert everything(client)[1].text == "Hello"
    provider.plays(provider.streams(*pieces))
    with pytest.raises(Interrupted, match="nothing came back"):
        everything(client)


def test_a_stream_that_legally_says_nothing_is_an_empty_answer(provider: Any, client: Client) -> None:
    provider.plays(provider.streams({"choices": [{"delta": {}, "finish_reason": "stop"}]}, DONE))
    assert everything(client)[1].text == ""


def test_a_character_that_is_cut_in_two_is_handed_out_whole(provider: Any, client: Client) -> None:
    halves = [f'data: {{"choices":[{{"delta":{{"content":"{half}"}}}}]}}\n\n' for half in ("a\\ud83d", "\\ude00b")]
    provider.plays(provider.streams(*halves, DONE))
    deltas, answer = everything(client)
    assert [delta.text for delta in deltas] == ["a", "\U0001f600b"]
    assert answer.text == "a\U0001f600b"


def test_half_a_character_at_the_end_is_replaced(provider: Any, client: Client) -> None:
    provider.plays(provider.streams('data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n', DONE))
    deltas, answer = everything(client)
    assert "".join(delta.text for delta in deltas) == answer.text == "a\ufffd"


def test_a_provider_that_asks_for_no_wait_is_waited_for_all_the_same(provider: Any) -> None:
    provider.plays(provider.says("slow down", 429, {"retry-after": "0"}), provider.says(WHOLE))
    with Client(config_of(provider), Patience(first_wait=0.2)) as client:
        began = time.monotonic()
        client.ask(request_for(), no_images)
    assert time.monotonic() - began >= 0.2


def test_a_provider_that_is_not_there_cannot_be_reached() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        config = ProviderConfig("p", "openai-chat", f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        with Client(config, QUICK) as client, pytest.raises(Unreachable, match="provider p cannot be reached"):
            everything(client)


def test_a_provider_that_falls_silent_is_left_after_a_while(provider: Any) -> None:
    provider.plays(provider.silence)
    with Client(config_of(provider), Patience(silence=0.2, attempts=3)) as client:
        began = time.monotonic()
        with pytest.raises(Unreachable, match="fell silent"):
            everything(client)
    assert time.monotonic() - began < 2
    assert len(provider.asked) == 1


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", "{not json"),
        ("application/json", "[1]"),
        ("application/json", "{}"),
        ("application/json", '{"choices": []}'),
        ("application/json", '{"choices": [{"message": null, "finish_reason": "stop"}]}'),
        ("text/html", "<html>Welcome to the gateway</html>"),
        ("text/event-stream", "data: {not json\n\n"),
        ("text/event-stream", "data: 3\n\n"),
    ],
)
def test_what_is_no_answer_is_an_error_of_one_line(provider: Any, client: Client, kind: str, body: str) -> None:
    provider.plays(provider.says(body, kind=kind))
    with pytest.raises(ProviderError, match=r"no answer.*check baseUrl") as caught:
        everything(client)
    assert not isinstance(caught.value, Interrupted)
    assert len(provider.asked) == 1


# Counting


@pytest.mark.parametrize(
    ("protocol", "path", "answer"),
    [
        ("openai-responses", "/v1/responses/input_tokens", {"object": "response.input_tokens", "input_tokens": 33}),
        ("anthropic", "/v1/messages/count_tokens", {"input_tokens": 33}),
        ("gemini", "/v1beta/models/m:countTokens", {"totalTokens": 33}),
    ],
)
def test_a_request_is_counted_where_the_protocol_can(provider: Any, protocol: str, path: str, answer: Any) -> None:
    provider.plays(provider.says(answer))
    with Client(config_of(provider, protocol, count=True), QUICK) as client:
        assert client.count(request_for(protocol), no_images) == 33
    [asked] = provider.asked
    assert asked.path == path
    assert not {"stream", "max_tokens", "max_output_tokens"} & asked.body.keys()


def test_counting_is_off_unless_it_is_switched_on_and_never_an_error(provider: Any) -> None:
    provider.plays(provider.says("busy", 503), provider.streams(end="cut"), provider.says("no such page", 404))
    with Client(config_of(provider, "anthropic"), QUICK) as client:
        assert client.count(request_for("anthropic"), no_images) is None
    with Client(config_of(provider, count=True), QUICK) as client:
        assert client.count(request_for(), no_images) is None
    assert provider.asked == []
    with Client(config_of(provider, "anthropic", count=True), QUICK) as client:
        for _ in range(4):  # an endpoint that is not there is asked once
            assert client.count(request_for("anthropic"), no_images) is None
    assert len(provider.asked) == 3


def test_pieces_of_calls_add_up_to_the_call(provider: Any, client: Client) -> None:
    def piece(**call: Any) -> Any:
        return {"choices": [{"delta": {"tool_calls": [{"index": 0, **call}]}}]}

    provider.plays(
        provider.streams(
            piece(id="c1", type="function", function={"name": "read", "arguments": ""}),
            piece(function={"arguments": '{"path":'}),
            piece(function={"arguments": ' "a"}'}),
            {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
            DONE,
        )
    )
    deltas, answer = everything(client)
    assert answer.calls == (Call("c1", "read", {"path": "a"}),)
    assert answer.stop == "tool"
    assert deltas[0] == CallDelta(0, "c1", "read", "")
    assert "".join(delta.arguments for delta in deltas if isinstance(delta, CallDelta)) == '{"path": "a"}'
