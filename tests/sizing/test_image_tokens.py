"""Tokens of pictures, against the examples in the vendors' own pages."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refold import Model
from refold.sizing.families import family
from refold.sizing.sizer import UNKNOWN_SIDE, Sizer

EXAMPLES = [
    # Claude, standard resolution: at most 1568 pixels and 1568 tokens
    ("claude-sonnet-4-6", 1092, 1092, 1521),
    ("claude-sonnet-4-6", 1920, 1080, 1560),
    ("claude-sonnet-4-6", 1075, 1520, 33 * 47),
    ("claude-sonnet-4-6", 200, 200, 64),
    ("claude-sonnet-4-6", 28, 29, 2),
    # Claude, high resolution: at most 2576 pixels and 4784 tokens
    ("claude-opus-4-8", 1920, 1080, 2691),
    ("claude-opus-4-8", 3840, 2160, 4784),
    ("claude-opus-5", 1092, 1092, 1521),
    # OpenAI by tiles
    ("gpt-4o", 1024, 1024, 765),
    ("gpt-4o", 2048, 4096, 1105),
    ("gpt-4o", 4096, 8192, 1105),
    ("gpt-4o", 512, 512, 255),
    ("gpt-4o-mini", 1024, 1024, 25_501),
    ("gpt-5", 1024, 1024, 630),
    ("o3", 1024, 1024, 675),
    # OpenAI by patches
    ("o4-mini", 1024, 1024, 1762),
    ("gpt-4.1-mini", 1024, 1024, 1659),
    ("gpt-4.1-mini", 1800, 2400, 2353),
    ("gpt-4.1-nano", 1024, 1024, 2520),
    ("gpt-5.2", 1024, 1024, 1229),
    ("gpt-5.4", 2048, 2048, 3000),
    ("gpt-5.6", 3200, 3200, 12_000),
    # Gemini
    ("gemini-2.5-flash", 384, 384, 258),
    ("gemini-2.5-flash", 960, 540, 1548),
    ("gemini-3-pro-preview", 960, 540, 1120),
    # Qwen-VL
    ("qwen2.5-vl-7b", 1024, 1024, 37 * 37 + 2),
    ("qwen3-vl-8b", 1024, 1024, 32 * 32 + 2),
    ("qwen3-vl-8b", 8, 8, 6),
    # Mistral
    ("pixtral-12b", 1024, 1024, 64 * 65),
    ("pixtral-12b", 2048, 1024, 32 * 65),
    ("mistral-small-3.1", 1540, 1540, 55 * 56),
]


@pytest.mark.parametrize(("model", "width", "height", "expected"), EXAMPLES)
def test_a_picture_costs_what_its_vendor_says(model: str, width: int, height: int, expected: int) -> None:
    assert family(model).image(width, height) == expected


MODELS = sorted({model for model, *_ in EXAMPLES} | {"nobody-knows"})


@given(st.sampled_from(MODELS), st.integers(1, 20_000), st.integers(1, 20_000))
@settings(max_examples=300)
def test_any_size_costs_at_least_a_token_and_no_more_than_the_family_allows(
    model: str, width: int, height: int
) -> None:
    most = {"gpt-4o-mini": 60_000, "gpt-5.6": 36_000, "gpt-5.5": 12_000, "gemini-2.5-flash": 10**9}.get(model, 20_000)
    assert 1 <= family(model).image(width, height) <= most


@given(st.sampled_from(["claude-sonnet-4-6", "claude-opus-5"]), st.integers(1, 9000), st.integers(1, 9000))
@settings(max_examples=200)
def test_claude_counts_a_turned_picture_the_same(model: str, width: int, height: int) -> None:
    assert family(model).image(width, height) == family(model).image(height, width)


@pytest.mark.parametrize(("width", "height"), [(0, 0), (0, 9), (-1, 5)])
def test_a_picture_of_unknown_size_counts_as_a_large_square(width: int, height: int) -> None:
    sizer = Sizer(Model("claude-sonnet-4-6", "anthropic", ""))
    assert sizer.image(width, height) == sizer.image(UNKNOWN_SIDE, UNKNOWN_SIDE) == 1521
