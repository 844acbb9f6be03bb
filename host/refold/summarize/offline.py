"""The summarizer that needs no model."""

from __future__ import annotations

from attrs import frozen

from refold.summarize.prompt import Prompt
from refold.summarize.reply import Deadline, Reply


@frozen
class Offline:
    """Deterministic and extractive."""

    name: str = "offline"
    window: int | None = None

    def complete(self, prompt: Prompt, limit: int, deadline: Deadline) -> Reply:
        raise NotImplementedError
