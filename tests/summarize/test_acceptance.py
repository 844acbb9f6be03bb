"""Which replies are refused, and why."""

from __future__ import annotations

import doctest
import importlib

import pytest
from refold.summarize.accept import Unacceptable, oversize, refusal, spoken
from refold.summarize.reply import Reply, Stop


@pytest.mark.parametrize(
    ("text", "stop", "reason"),
    [
        ("", "end", "empty"),
        (" \n ", "end", "empty"),
        ("<think>plan</think>", "end", "reasoning"),
        ("<think>never closed", "end", "reasoning"),
        ("<tool_call>{}</tool_call>", "end", "tool_call"),
        ('{"name": "read", "arguments": {"path": "x"}}', "end", "tool_call"),
        ("Half a summ", "length", "cut_off"),
        ("", "length", "cut_off"),
        ("text", "tool", "tool_call"),
        ("text", "refusal", "refused"),
        ("Error: model overloaded", "end", "error_text"),
        ('{"error": {"code": 500}}', "end", "error_text"),
        ("I'm sorry, but I can't help with that.", "end", "error_text"),
        ("429 Too Many Requests", "end", "error_text"),
        ("The parser was split in two.", "end", None),
        ("Error handling was moved to edge.py.", "end", None),
        ("Rate limiting was added to the client.", "end", None),
        ("<think>plan</think>The parser was split.", "end", None),
        ("404 page redesigned; tests pass.", "end", None),
    ],
)
def test_a_reply_is_refused_for_a_named_reason(text: str, stop: Stop, reason: str | None) -> None:
    assert refusal(Reply(text, stop, "m")) == reason


def test_a_reply_of_reasoning_alone_is_told_from_an_empty_one() -> None:
    assert refusal(Reply("", "end", "m", reasoned=True)) == "reasoning"


def test_reasoning_in_the_text_is_not_part_of_the_summary() -> None:
    assert spoken("<think>a\nb</think>\n\nSummary") == "Summary"


def test_a_summary_must_be_smaller_than_its_source_and_within_its_limit() -> None:
    text = "word " * 50
    assert oversize(text, 1000, 10) == "not_smaller"
    assert oversize(text, 20, 1000) == "too_long"
    assert oversize(text, 1000, 1000) is None


def test_the_error_names_both_sizes() -> None:
    error = Unacceptable("not_smaller", by="m", size=50, source=40)
    assert "50 tokens, not below 40" in str(error)
    assert (error.reason, error.size, error.source, error.code) == ("not_smaller", 50, 40, "summary_rejected")


@pytest.mark.parametrize("module", ["choosing", "clip", "passes"])
def test_the_examples_in_docstrings_are_true(module: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(f"refold.summarize.{module}"))
    assert (failed, tried > 0) == (0, True)
