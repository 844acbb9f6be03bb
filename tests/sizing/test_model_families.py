"""Which family a model id names, what is learnt of it, and what both make of raw figures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refold import Model
from refold.sizing.estimate import tokens
from refold.sizing.families import UNKNOWN, family
from refold.sizing.learnt import LEAST, MOST, learnt_percent
from refold.sizing.sizer import Sizer

NAMES = [
    ("claude-opus-4-8", "claude"),
    ("anthropic/claude-opus-4.7", "claude"),
    ("claude-fable-5", "claude"),
    ("claude-opus-5-20260801", "claude"),
    ("claude-latest", "claude"),
    ("us.anthropic.claude-sonnet-4-6-v1:0", "claude-legacy"),
    ("claude-sonnet-4-20250514", "claude-legacy"),
    ("claude-3-5-sonnet-20241022", "claude-legacy"),
    ("claude-haiku-4-5@20251001", "claude-legacy"),
    ("gpt-5.6-sol", "openai"),
    ("openai/gpt-4o", "openai"),
    ("o3-pro", "openai"),
    ("openrouter/openai/o4-mini", "openai"),
    ("gpt-oss-120b", "openai"),
    ("codex-mini-latest", "openai"),
    ("Qwen/Qwen3-Coder-480B", "qwen"),
    ("deepseek-chat", "deepseek"),
    ("deepseek-r1-distill-qwen-7b", "deepseek"),
    ("mistral-large-latest", "mistral"),
    ("mistralai/Devstral-Small", "mistral"),
    ("models/gemini-2.5-pro", "gemini"),
    ("llama-3.3-70b", "unknown"),
    ("foo1-o2-bar", "openai"),
    ("turbo10", "unknown"),
    ("", "unknown"),
]


@pytest.mark.parametrize(("model", "name"), NAMES)
def test_a_family_is_found_by_the_models_id(model: str, name: str) -> None:
    assert family(model).name == name


@given(st.text(max_size=30))
def test_any_id_has_a_family(model: str) -> None:
    assert family(model).text_percent >= 100


def test_a_sizer_scales_raw_tokens_by_family_and_by_what_was_learnt() -> None:
    model = Model("who-knows", "openai-chat", "")
    assert Sizer(model).scale(1000) == 10 * UNKNOWN.text_percent
    assert Sizer(model, 200).scale(1000) == 20 * UNKNOWN.text_percent
    assert Sizer(model).scale(0) == 0
    assert Sizer(model).scale(1) == 2, "a part of a token is a token"
    assert Sizer(model, 150).text("some words here") == Sizer(model, 150).scale(tokens("some words here"))


def test_sizers_of_one_model_are_equal() -> None:
    assert Sizer(Model("m", "p", "o")) == Sizer(Model("m", "p", "o"))


@pytest.mark.parametrize(
    ("reports", "percent"),
    [
        ([], 100),
        ([(1000, 1500)], 150),
        ([(1000, 1500), (1000, 1500)], 150),
        ([(1000, 1000), (1000, 2000)], 125),
        ([(1000, 2000), (1000, 1000)], 175),
        ([(1000, 9000)], MOST),
        ([(1000, 3)], LEAST),
        ([(1000, 0), (0, 500), (100, 500)], 100),
        ([(3000, 3001)], 101),
    ],
)
def test_the_learnt_factor_follows_reports(reports: list[tuple[int, int]], percent: int) -> None:
    assert learnt_percent(reports) == percent


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**8)), max_size=30))
def test_the_learnt_factor_stays_within_its_bounds(reports: list[tuple[int, int]]) -> None:
    assert LEAST <= learnt_percent(reports) <= MOST


@given(st.integers(60, 290), st.integers(1, 40))
def test_equal_reports_settle_on_their_ratio(ratio: int, count: int) -> None:
    assert learnt_percent([(1000, 10 * ratio)] * count) == ratio


@pytest.mark.parametrize("id", ["", "claude-sonnet-4-5", "gpt-5", "qwen3-coder"])
@pytest.mark.parametrize("learnt", [50, 100, 137, 200])
@given(tokens=st.integers(1, 100_000))
def test_raw_tokens_of_a_limit_measure_no_more_than_it(id: str, learnt: int, tokens: int) -> None:
    sizer = Sizer(Model(id, "openai-chat", ""), learnt)
    raw = sizer.raw(tokens)
    assert 1 <= raw <= tokens
    assert sizer.scale(raw) <= tokens or raw == 1
