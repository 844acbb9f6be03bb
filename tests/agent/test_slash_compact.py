"""`/compact` reads as people type it."""

from __future__ import annotations

import pytest
from refold import Refused
from refold.agent.recovery import overflow_message, revealed_window
from refold.agent.slash import CompactCommand, match_model, parse_compact
from refold.agent.tools import capped
from refold.prepare.overflow import Figures, recovery_limit
from refold.values.sizes import Window

STRATEGIES = ["rolling", "lcm"]

COMMANDS = {
    "": CompactCommand(),
    "lcm": CompactCommand("lcm"),
    "lcm keep the ids": CompactCommand("lcm", instructions="keep the ids"),
    "LCM keep the ids": CompactCommand(instructions="LCM keep the ids"),
    "lcms": CompactCommand(instructions="lcms"),
    "keep  the\n\nids": CompactCommand(instructions="keep  the\n\nids"),
    "-m small": CompactCommand(model="small"),
    "--model=small -r high lcm x": CompactCommand("lcm", "small", "high", "x"),
    "-s lcm rolling notes": CompactCommand("lcm", instructions="rolling notes"),
    "-- --model is important": CompactCommand(instructions="--model is important"),
    "-- lcm": CompactCommand("lcm"),
    "-x is a flag": CompactCommand(instructions="-x is a flag"),
    "- an item": CompactCommand(instructions="- an item"),
}


@pytest.mark.parametrize("text", COMMANDS)
def test_options_then_an_exact_strategy_then_instructions(text: str) -> None:
    assert parse_compact(text, STRATEGIES) == COMMANDS[text]


MISTAKES = {
    "--fast --model": ["Unknown option: --fast.", "--model needs a model id."],
    "-r -m x": ["-r needs a level."],
    "-s nope": ["nope is no installed strategy (installed: lcm, rolling)"],
}


@pytest.mark.parametrize("text", MISTAKES)
def test_all_mistakes_are_named_at_once_with_the_usage(text: str) -> None:
    with pytest.raises(Refused) as failure:
        parse_compact(text, STRATEGIES)
    for words in [*MISTAKES[text], "Nothing was compacted", "Usage: /compact"]:
        assert words in str(failure.value)


@pytest.mark.parametrize(
    ("name", "found"), [("a/big", "a/big"), ("BIG", "a/big"), ("mall", "b/small"), ("A/BIG", "a/big")]
)
def test_a_model_is_meant_by_its_id_its_name_or_a_unique_part(name: str, found: str) -> None:
    assert match_model(name, ["a/big", "b/small"]) == found


@pytest.mark.parametrize(
    ("name", "words"), [("nope", r"unknown model 'nope' \(configured: a/x, b/x\)"), ("x", "ambiguous")]
)
def test_an_unknown_or_ambiguous_model_is_refused(name: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        match_model(name, ["a/x", "b/x"])


LIMITS = [
    (100, None, None, 90, 90),
    (100, 80, None, 90, 80),
    (100, 80, 180, 90, 40),
    (100, 80, 45, 90, 80),
    (100, 80, 180, 180, 80),  # the refusal was learnt from: the estimate is the provider's count
    (100, 80, 180, 120, 53),  # it was learnt from in part
    (100, None, 180, 90, 50),
    (80, 100, 180, 90, 40),
    (None, None, None, 90, None),
    (None, 500, None, 90, 90),
]


@pytest.mark.parametrize(("window", "limit", "counted", "estimate", "expected"), LIMITS)
def test_the_limit_to_get_under_is_in_local_tokens_and_below_what_was_refused(
    window: int | None, limit: int | None, counted: int | None, estimate: int, expected: int | None
) -> None:
    assert recovery_limit(window, Figures(limit, counted), estimate) == expected


REVEALED = [
    (Figures(8_192, 9_000), 5_000, 8_192),
    (Figures(8_192, 9_000), 12_000, 8_192),
    (Figures(8_192, 7_900), 7_500, 8_192),
    (Figures(8_192), 5_000, 5_000),
    (Figures(None, 9_000), 5_000, 9_000),
    (Figures(), 5_000, 5_000),
]


@pytest.mark.parametrize(("said", "estimate", "window"), REVEALED)
def test_a_refusal_reveals_a_window_below_what_was_refused(said: Figures, estimate: int, window: int) -> None:
    assert revealed_window(said, estimate) == window


def test_the_final_error_has_the_figures_the_advice_and_the_providers_words() -> None:
    text = overflow_message(
        estimate=9_000,
        window=Window(10_000, "catalog"),
        said=Figures(8_192, 9_500),
        retried=True,
        words="prompt is too long",
    )
    for words in [
        "about 9,000 tokens",
        "the window is 10,000 tokens (catalog)",
        "counted 9,500 tokens against a limit of 8,192",
        "asked again, and refused again",
        "run /compact",
        "set the model's window in models.json to 8192",
    ]:
        assert words in text
    assert text.endswith(": prompt is too long")
    assert "()" not in overflow_message(
        estimate=1, window=Window(None, "unknown"), said=Figures(), retried=False, words="x"
    )


def test_a_long_result_is_cut_in_the_middle_and_says_by_how_much() -> None:
    text = capped("\n".join(str(number) for number in range(5_000)))
    assert text.startswith("0\n1\n")
    assert text.endswith("\n4999")
    assert "[… 3,000 lines of 5,000 left out …]" in text
    wide = capped("é" * 100_000)
    assert len(wide.encode()) < 51_000
    assert "bytes of 200,000 left out" in wide
    assert capped("short") == "short"
