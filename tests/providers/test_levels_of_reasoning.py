"""A level of reasoning in each protocol's own words; without one nothing is said."""

from __future__ import annotations

from typing import Any

import pytest
from refold import Model, Refused
from refold.providers.protocols import PROTOCOLS, codec
from refold.providers.reasoning import LEVELS, reasoning_level
from refold.values.messages import Request, UserMessage


def budget(tokens: int) -> dict[str, Any]:
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}


def thinking(most: int, **config: Any) -> dict[str, Any]:
    return {"generationConfig": {"thinkingConfig": config, "maxOutputTokens": most}}


EFFORT = {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}
SAYS: list[tuple[str, str, str, int, dict[str, Any]]] = [
    ("openai-chat", "gpt-5", "low", 4_000, {"reasoning_effort": "low"}),
    ("openai-responses", "gpt-5", "xhigh", 4_000, {"reasoning": {"effort": "xhigh"}}),
    ("anthropic", "claude-opus-5", "high", 4_000, EFFORT),
    ("anthropic", "claude-opus-4-6", "minimal", 4_000, {"output_config": {"effort": "low"}}),
    ("anthropic", "claude-sonnet-4-5", "low", 4_000, budget(2_000)),
    ("anthropic", "claude-sonnet-4-20250514", "low", 8_000, budget(2_048)),
    ("anthropic", "claude-3-7-sonnet-latest", "minimal", 8_000, budget(1_024)),
    ("gemini", "gemini-3-pro", "low", 4_000, thinking(4_000, thinkingLevel="low")),
    ("gemini", "gemini-2.5-flash", "medium", 9_000, thinking(9_000, thinkingBudget=8_192)),
]


def encoded(protocol: str, model: str, level: str | None, output: int) -> dict[str, Any]:
    request = Request(Model(model, protocol, "me"), "", (), (UserMessage("Hi"),), output, level)
    return codec(protocol).encode(request, lambda image: b"")


@pytest.mark.parametrize(("protocol", "model", "level", "output", "says"), SAYS)
def test_a_level_is_said_in_the_words_of_the_protocol(
    protocol: str, model: str, level: str, output: int, says: dict[str, Any]
) -> None:
    wire = encoded(protocol, model, level, output)
    assert {key: wire[key] for key in says} == says


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_without_a_level_a_model_reasons_as_it_does_by_itself(protocol: str) -> None:
    words = str(encoded(protocol, "some-model", None, 4_000))
    assert "reasoning" not in words
    assert "think" not in words


def test_an_old_model_with_no_room_for_a_budget_is_asked_without() -> None:
    assert "thinking" not in encoded("anthropic", "claude-sonnet-4-5", "high", 1_500)


def test_levels_are_read_in_any_case_and_others_are_refused() -> None:
    assert [reasoning_level(level.upper()) for level in LEVELS] == list(LEVELS)
    assert reasoning_level("Default") is None
    with pytest.raises(Refused, match="reasoning 'ultra' is not offered"):
        reasoning_level("ultra")
