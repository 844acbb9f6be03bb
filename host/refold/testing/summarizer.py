"""A summarizer that says what a test wants, and fails when it is told to."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Literal

from refold.summarize.prompt import Prompt
from refold.summarize.reply import Deadline, Reply, TooLarge
from refold.values.errors import SummaryFailed, SummaryRejected

Mood = Literal["good", "fails", "rejects", "empty", "too_long", "too_large"]
"""What a call does: replies; raises SummaryFailed, SummaryRejected; replies nothing, far too much; raises TooLarge."""


def account(prompt: Prompt) -> str:
    """One short line that differs whenever the prompt does: `The work so far, in 12 entries, digest 5fe38c5f13.`"""
    told = "\0".join((prompt.system(), prompt.user()))
    digest = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"The work so far, in {len(prompt.blocks)} entries, digest {digest}."


class ScriptedSummarizer:
    """A deterministic summarizer for tests: `Host(home, summarizers=[ScriptedSummarizer()])`.

    `reply` makes the text of a good reply (default: `account`). `prompts` are those it was asked, oldest first.

        summarizer = ScriptedSummarizer()
        summarizer.script("good", "fails")   # one good reply, then nothing but failures
    """

    name = "scripted"
    window: int | None = None

    def __init__(self, reply: Callable[[Prompt], str] = account) -> None:
        self.reply = reply
        self.prompts: list[Prompt] = []
        self.on_call: Callable[[], object] = _nothing
        self._moods: tuple[Mood, ...] = ("good",)

    def script(self, *moods: Mood) -> None:
        """What the next calls do, one each; the last holds for all that follow. Without any: good replies."""
        self._moods = moods or ("good",)

    def complete(self, prompt: Prompt, limit: int, deadline: Deadline) -> Reply:
        """The scripted reply. Raises what the script says."""
        self.prompts.append(prompt)
        self.on_call()
        mood, *rest = self._moods
        self._moods = tuple(rest) or (mood,)
        match mood:
            case "fails":
                raise SummaryFailed("the provider of the test failed; nothing was changed")
            case "rejects":
                raise SummaryRejected("no text of the test was acceptable; nothing was changed")
            case "too_large":
                raise TooLarge("the prompt of the test is too large; nothing was changed")
            case "empty":
                return Reply("", "end", self.name)
            case "too_long":
                return Reply("far too many words " * (limit + 100), "end", self.name)
            case "good":
                return Reply(self.reply(prompt), "end", self.name, copied=True)


def _nothing() -> None:
    """What happens in a call that nobody listens to."""
