"""rolling keeps every rule that a strategy keeps."""

from __future__ import annotations

from refold.testing import StrategyConformance


class TestRolling(StrategyConformance):
    strategy = "rolling"
    other_settings = ({"triggerPercent": 50, "tailPercent": 10}, {"contextWindowTokens": 900})
