"""lcm keeps every rule that a strategy keeps."""

from __future__ import annotations

from refold.testing import StrategyConformance


class TestLcm(StrategyConformance):
    strategy = "lcm"
    examples = 25
    with_extensions = ("lcm-memory",)
    other_settings = ({"triggerPercent": 50, "tailPercent": 10}, {"contextWindowTokens": 1500})
