"""For authors of strategies: the conformance suite and a scripted summarizer. Needs `pip install "refold[testing]"`."""

from __future__ import annotations

from refold.testing.conformance import StrategyConformance
from refold.testing.summarizer import Mood, ScriptedSummarizer

__all__ = ["Mood", "ScriptedSummarizer", "StrategyConformance"]
