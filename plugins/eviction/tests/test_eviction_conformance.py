"""Every strategy keeps its rules with eviction on."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest
from refold.testing import StrategyConformance


def needs(id: str) -> pytest.MarkDecorator:
    installed = any(point.name == id for point in entry_points(group="refold.extensions"))
    return pytest.mark.skipif(not installed, reason=f"{id} is not installed")


class TestRollingWithEviction(StrategyConformance):
    strategy = "rolling"
    with_extensions = ("eviction",)
    examples = 12


@needs("chain")
class TestChainWithEviction(StrategyConformance):
    strategy = "chain"
    with_extensions = ("chain-memory", "eviction")
    other_settings = ({"thresholdPercent": 40, "keepRecentTurns": 0},)
    examples = 12


@needs("lcm")
class TestLcmWithEviction(StrategyConformance):
    strategy = "lcm"
    with_extensions = ("lcm-memory", "eviction")
    examples = 12


@needs("snapcompact")
class TestSnapcompactWithEviction(StrategyConformance):
    strategy = "snapcompact"
    with_extensions = ("snapcompact-memory", "eviction")
    examples = 12
