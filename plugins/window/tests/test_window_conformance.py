"""window keeps every rule that a strategy keeps."""

from __future__ import annotations

from typing import ClassVar

from refold.testing import StrategyConformance


class TestWindow(StrategyConformance):
    strategy = "window"
    with_extensions = ("window-memory",)
    lossy = True
    examples = 20
    settings: ClassVar[dict[str, int]] = {"clearAtLeastTokens": 40, "keepResults": 1}
    other_settings = ({"softPercent": 60, "targetPercent": 30, "strikes": 1}, {"contextWindowTokens": 900})
