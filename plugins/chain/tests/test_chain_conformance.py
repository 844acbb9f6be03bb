"""chain keeps every rule that a strategy keeps."""

from __future__ import annotations

from refold.testing import StrategyConformance


class TestChain(StrategyConformance):
    strategy = "chain"
    other_settings = ({"thresholdPercent": 40, "keepRecentTurns": 0}, {"contextWindowTokens": 900})
