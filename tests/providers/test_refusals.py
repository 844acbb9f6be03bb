"""What refusals mean: the table of wordings, and what else is read of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refold import Call
from refold.providers.exchange import Answer, Usage, cut_short, overran
from refold.providers.refusals import WORDS, classify, may_be_too_large

SAMPLES = json.loads(Path(__file__).with_name("refusals.json").read_text("utf-8"))
"""Refusals as servers word them, in the bodies they send, with what each must be taken for."""


def _text(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body)


@pytest.mark.parametrize("sample", SAMPLES["too_large"], ids=lambda sample: sample["who"])
def test_a_request_that_does_not_fit_is_recognised_with_the_numbers_that_its_refusal_carries(
    sample: dict[str, Any],
) -> None:
    refusal = classify(sample["status"], "", _text(sample["body"]), {})
    assert (refusal.kind, refusal.limit, refusal.requested) == ("too_large", sample["limit"], sample["requested"])
    assert refusal.requested_is_floor == sample["floor"]
    assert not refusal.transient
    assert refusal.words


@pytest.mark.parametrize("sample", SAMPLES["other"], ids=lambda sample: sample["who"])
def test_what_only_sounds_like_a_full_window_is_taken_for_what_it_is(sample: dict[str, Any]) -> None:
    assert classify(sample["status"], "", _text(sample["body"]), {}).kind == sample["kind"]


@pytest.mark.parametrize(
    ("body", "status", "limit", "requested", "transient"),
    [
        ("on tokens per minute (TPM): Limit 6000, Requested 9000", 413, 6000, 9000, False),
        ("on tokens per minute (TPM): Limit 6000, Used 5000, Requested 2000", 429, None, None, True),
        ("on tokens per min (TPM): Limit 30000, Requested 20000. Please try again in 4s", 429, 30000, 20000, True),
    ],
)
def test_a_request_above_the_whole_rate_is_never_worth_waiting_for(
    body: str, status: int, limit: int | None, requested: int | None, transient: bool
) -> None:
    refusal = classify(status, "", body, {})
    assert (refusal.kind, refusal.limit, refusal.requested, refusal.transient) == ("rate", limit, requested, transient)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("max_tokens is too large: 128000. This model supports at most 16384 completion tokens", 16384),
        ("max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens", 64000),
        ("the valid range of max_tokens is [1, 8192]", 8192),
        ("`max_tokens` must be less than or equal to `8192`", 8192),
        ("max_tokens 超过最大值 8192", 8192),
        ("参数 max_tokens 取值范围为 [1, 8192]", 8192),
    ],
)
def test_the_most_output_is_read_from_its_refusal(text: str, limit: int) -> None:
    refusal = classify(400, "", text, {})
    assert (refusal.kind, refusal.limit) == ("output_cap", limit)


@pytest.mark.parametrize(
    ("headers", "text", "seconds"),
    [
        ({"retry-after": "7"}, "", 7.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, "", 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:10 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, "", 10.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:10 GMT"}, "", None),
        ({"retry-after": "soon"}, "", None),
        ({}, "Rate limit reached. Please try again in 1.5s.", 1.5),
        ({}, "Rate limit reached. Please try again in 200ms.", 0.2),
        ({}, '{"error": {"details": [{"retryDelay": "17s"}]}}', 17.0),
        ({}, "", None),
    ],
)
def test_the_wait_that_a_provider_asks_for_is_read(headers: dict[str, str], text: str, seconds: float | None) -> None:
    assert classify(429, "", text, headers).retry_after == seconds


def test_two_limits_that_differ_give_none() -> None:
    refusal = classify(400, "", "maximum context length is 8192 tokens, context limit is 4096 tokens", {})
    assert (refusal.kind, refusal.limit) == ("too_large", None)


def test_the_part_kept_for_the_answer_is_told_apart() -> None:
    text = "maximum context length is 100 tokens. You requested 120 tokens (90 in the messages, 30 in the completion)"
    assert classify(400, "", text, {}).requested_output == 30
    sum_text = "input length and `max_tokens` exceed context limit: 90 + 30 > 100"
    assert classify(400, "", sum_text, {}).requested_output == 30


def test_absurd_figures_are_not_believed() -> None:
    refusal = classify(400, "", "prompt is too long: 99999999999999999999 tokens > 0 maximum", {})
    assert (refusal.kind, refusal.limit, refusal.requested) == ("too_large", None, None)


@pytest.mark.parametrize(
    ("estimate", "window", "status", "body", "suspect"),
    [
        (800, 1000, 400, "", True),
        (799, 1000, 400, "", False),
        (800, None, 400, "", False),
        (5000, 1000, 400, "bad schema", False),
        (800, 1000, 413, "", True),
        (800, 1000, 401, "", False),
    ],
)
def test_an_empty_refusal_is_suspected_only_near_the_window(
    estimate: int, window: int | None, status: int, body: str, suspect: bool
) -> None:
    assert may_be_too_large(classify(status, "", body, {}), estimate, window) is suspect


@pytest.mark.parametrize(
    ("estimate", "window", "answered", "suspect"),
    [
        (10_000, 200_000, None, False),
        (10_000, 200_000, 0, True),
        (10_000, None, 0, True),
        (10_000, 200_000, 9_999, True),
        (10_000, 200_000, 10_000, False),
        (4_000, 200_000, 0, False),
        (4_000, 5_000, 4_000, True),
    ],
)
def test_an_empty_refusal_of_a_request_larger_than_any_answered_is_suspected_whatever_the_window(
    estimate: int, window: int | None, answered: int | None, suspect: bool
) -> None:
    assert may_be_too_large(classify(400, "", "", {}), estimate, window, answered) is suspect


@pytest.mark.parametrize(
    ("answer", "asked", "short"),
    [
        (Answer("", stop="length", usage=Usage(7_000, None, 0)), 1_000, True),
        (Answer("The", stop="length", usage=Usage(7_000, None, 3)), 1_000, True),
        (Answer("The", stop="length"), 1_000, True),
        (Answer("", (Call("c", "read", {}),), stop="length", usage=Usage(7_000, None, 20)), 1_000, True),
        (Answer("", stop="length", usage=Usage(7_000, None, 400), reasoned=True), 1_000, True),
        (Answer("", stop="length", usage=Usage(7_000, None, 1_000), reasoned=True), 1_000, False),
        (Answer("", stop="length", usage=Usage(7_000, None, 4_096), reasoned=True), 32_000, False),
        (Answer("", stop="length", reasoned=True), 1_000, False),
        (Answer("The", stop="length", usage=Usage(7_000, None, 16)), 16, False),
        (Answer("word " * 300, stop="length", usage=Usage(7_000, None, 300)), 1_000, False),
        (Answer("The", stop="length", usage=Usage(7_000, None, 3)), None, True),
        (Answer("The", stop="end", usage=Usage(7_000, None, 3)), 1_000, False),
    ],
)
def test_an_answer_is_cut_short_when_much_more_was_allowed_than_came(
    answer: Answer, asked: int | None, short: bool
) -> None:
    assert cut_short(answer, asked) is short


@pytest.mark.parametrize(
    ("answer", "window", "over"),
    [
        (Answer("cut", stop="length", raw_stop="model_context_window_exceeded"), None, True),
        (Answer("fine", usage=Usage(9000)), 8192, True),
        (Answer("fine", usage=Usage(8000)), 8192, False),
        (Answer("", stop="length", usage=Usage(8190, None, 0)), 8192, True),
        (Answer("", stop="length", usage=Usage(4000, None, 0)), 8192, False),
        (Answer("some", stop="length", usage=Usage(8190, None, 4)), 8192, False),
        (Answer("fine"), 8192, False),
    ],
)
def test_a_window_that_was_overrun_in_silence_is_noticed(answer: Answer, window: int | None, over: bool) -> None:
    assert overran(answer, window) is over


@pytest.mark.parametrize(
    "piece", ["1", "1,", "1 + ", "max_tokens ", "limit 1 ", "input length 1 exceeds ", "try again in 1."]
)
def test_a_long_refusal_is_read_in_linear_time(piece: str) -> None:
    assert classify(400, "", piece * (65_536 // len(piece)), {}).kind != "other"


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 599),
    st.text(max_size=20),
    st.one_of(
        st.text(max_size=300),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=20),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
            max_leaves=12,
        ).map(json.dumps),
    ),
)
def test_any_refusal_is_classified_and_its_words_stay_one_short_line(status: int, code: str, text: str) -> None:
    refusal = classify(status, code, text, {"retry-after": text[:10]})
    assert len(refusal.words) <= WORDS
    assert refusal.words.isprintable()
    assert refusal.limit is None or refusal.limit > 0


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SAMPLES["too_large"]), st.sampled_from([401, 403, 429, 502, 503]))
def test_words_alone_never_prove_a_full_window_under_a_status_that_means_something_else(
    sample: dict[str, Any], status: int
) -> None:
    body = sample["body"]
    message = body if isinstance(body, str) else json.dumps(_messages(body))
    if "context_length_exceeded" in message or "Context size has been exceeded" in message:
        return
    assert classify(status, "", message, {}).kind != "too_large"


def _messages(body: Any) -> Any:
    """The body without its typed codes, which win under any status."""
    if isinstance(body, dict):
        return {key: _messages(value) for key, value in body.items() if key in ("error", "message", "detail")}
    return body
