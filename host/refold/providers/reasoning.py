"""How much a model reasons before it answers, in the words of each protocol."""

from __future__ import annotations

import re
from typing import Any

from refold.values.errors import Refused

LEVELS = ("minimal", "low", "medium", "high", "xhigh")
"""From least to most. Nobody asks for one by default: then a model reasons as it does by itself."""

_BUDGETS = dict(zip(LEVELS, (512, 2_048, 8_192, 16_384, 24_576), strict=True))
"""Tokens of reasoning, for models that take a number in place of a level."""

_LEAST_BUDGET = 1_024  # what Anthropic takes at least
_WITH_BUDGET = re.compile(r"claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[0-5](?!\d)|-\d{8}|$))|claude-4")
_GEMINI_WITH_BUDGET = re.compile(r"gemini-2(?!\d)")


def reasoning_level(word: str | None) -> str | None:
    """The level that somebody named, whatever its case; None for `default` and for none. Raises Refused.

    >>> reasoning_level("HIGH"), reasoning_level("default")
    ('high', None)
    """
    if word is None or word.casefold() == "default":
        return None
    if word.casefold() not in LEVELS:
        levels = ", ".join((*LEVELS, "default"))
        raise Refused(f"reasoning {word[:80]!r} is not offered; nothing was changed; levels: {levels}")
    return word.casefold()


def chat_fields(level: str | None) -> dict[str, Any]:
    """What an OpenAI Chat Completions body says of it."""
    return {} if level is None else {"reasoning_effort": level}


def responses_fields(level: str | None) -> dict[str, Any]:
    """What an OpenAI Responses body says of it."""
    return {} if level is None else {"reasoning": {"effort": level}}


def anthropic_fields(level: str | None, model: str, max_tokens: int) -> dict[str, Any]:
    """What an Anthropic body says of it. A budget is part of `max_tokens`; without room for one nothing is said."""
    if level is None:
        return {}
    if not _WITH_BUDGET.search(model):
        effort = "low" if level == "minimal" else level
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
    budget = min(max(_LEAST_BUDGET, _BUDGETS[level]), max_tokens // 2)
    return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= _LEAST_BUDGET else {}


def gemini_fields(level: str | None, model: str) -> dict[str, Any]:
    """What Gemini's `generationConfig` says of it."""
    if level is None:
        return {}
    if _GEMINI_WITH_BUDGET.search(model):
        return {"thinkingConfig": {"thinkingBudget": _BUDGETS[level]}}
    return {"thinkingConfig": {"thinkingLevel": "high" if level == "xhigh" else level}}
