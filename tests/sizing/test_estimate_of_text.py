"""Raw token estimates: near the truth, quick, additive and never quadratic."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refold import Call, Image, Replay, Row, SourceRef
from refold.sizing.estimate import CALL, MESSAGE, arguments_tokens, call_tokens, row_tokens, tokens

REF = SourceRef("s", 1)

# Content and its exact count in OpenAI's o200k vocabulary.
KNOWN = [
    (
        "prose",
        "The durable transcript is append-only and complete. What the model sees is a projection of it. " * 4,
        76,
    ),
    ("code", "    for name, value in sorted(self._items.items()):\n        print(f'{name}: {value!r}')\n" * 4, 92),
    ("json", '{"id":48213,"name":"alpha beta","active":true,"score":0.4821,"tags":["x","y"]},' * 4, 113),
    ("base64", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", 53),
    ("hex", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", 43),
    ("Chinese", "对话记录只会增加,从不删除。模型看到的是它的一个投影。" * 4, 80),
    ("Russian", "Запись разговора только растёт, ничего не удаляется. " * 4, 53),
]


@pytest.mark.parametrize(
    ("text", "exact"), [(text, exact) for _, text, exact in KNOWN], ids=[name for name, *_ in KNOWN]
)
def test_an_estimate_is_near_the_exact_count(text: str, exact: int) -> None:
    assert exact * 0.7 <= tokens(text) <= exact * 1.6


def test_nothing_is_no_token_and_anything_is_at_least_one() -> None:
    assert tokens("") == 0
    assert [tokens(text) for text in (" ", "\n", "x", "\ud800", "\x00")] == [1] * 5


def test_long_unbroken_runs_are_dense() -> None:
    assert tokens("q" * 12_000) >= 12_000 * 0.4
    assert tokens("aB3" * 4_000) >= 12_000 * 0.4
    assert tokens("0123456789" * 1_000) >= 10_000 * 0.25
    assert tokens(" " * 12_000) <= 12_000 * 0.05


@pytest.mark.parametrize("piece", ["word ", "x", "é", "汉", "\U0001f642", " ", "a1", "\n", "-"])
def test_time_grows_no_faster_than_the_text(piece: str) -> None:
    def seconds(count: int) -> float:
        text = piece * count
        best = float("inf")
        for _ in range(5):
            begin = time.perf_counter()
            tokens(text)
            best = min(best, time.perf_counter() - begin)
        return best

    seconds(1000)
    assert seconds(200_000) < seconds(20_000) * 60  # linear is 10; quadratic would be 100


@given(st.text(max_size=200), st.text(max_size=200))
@settings(max_examples=100)
def test_a_text_is_about_the_sum_of_its_halves(one: str, two: str) -> None:
    assert abs(tokens(one + two) - tokens(one) - tokens(two)) <= 8


@given(st.text(max_size=300), st.text(max_size=50))
@settings(max_examples=100)
def test_more_text_never_costs_noticeably_less(text: str, more: str) -> None:
    assert tokens(text + more) >= tokens(text) - 1


def test_a_call_is_its_id_name_and_arguments_and_what_stands_around_them() -> None:
    call = Call("call_1", "read", {"path": "a.py", "limit": 10})
    assert call_tokens(call) == CALL + tokens("call_1") + tokens("read") + tokens('{"path":"a.py","limit":10}')


def test_arguments_that_json_in_64_bits_cannot_hold_still_count() -> None:
    assert arguments_tokens({"n": 2**80}) >= 8
    assert arguments_tokens({"text": "a\ud800b"}) >= 4


def test_a_row_is_the_sum_over_what_it_is_sent_as() -> None:
    calls = (Call("a", "read", {}), Call("b", "grep", {"text": "x"}))
    assistant = Row(REF, "assistant", 1, 1, text="Looking.", calls=calls)
    assert row_tokens(assistant) == MESSAGE + tokens("Looking.") + sum(map(call_tokens, calls))
    result = Row(REF, "result", 1, 1, text="found", call_id="a")
    assert row_tokens(result) == MESSAGE + tokens("found") + tokens("a")
    opaque = Row(REF, "replay", 1, 1, replay=Replay("o", "gAAAAB" * 100))
    assert row_tokens(opaque) == MESSAGE + tokens("gAAAAB" * 100)


def test_pictures_and_events_are_not_in_a_rows_figure() -> None:
    plain = Row(REF, "user", 1, 0, text="look")
    pictured = Row(REF, "user", 1, 0, text="look", images=(Image("k", "image/png", 4000, 4000),))
    assert row_tokens(pictured) == row_tokens(plain)
    assert row_tokens(Row(REF, "event", 1, 0, event="notice", text="long " * 100)) == 0
