"""What every strategy owes, on random histories."""

from __future__ import annotations

from refold.testing import StrategyConformance


class TestSnapcompact(StrategyConformance):
    strategy = "snapcompact"
    with_extensions = ("snapcompact-memory",)
    other_settings = (
        {"maxFrames": 1},
        {"archivePercent": 60, "tailPercent": 40},
        {"contextWindowTokens": 3000, "triggerPercent": 50},
    )
