"""A summary's limit is tokens of the session's model, as every other size that a strategy reckons with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from refold import Host
from refold.summarize.prompt import Prompt
from refold.summarize.reply import Deadline, Reply
from refold.testing import ScriptedSummarizer

BODY = """
def ask(work, arguments):
    rows = RowRange(work.session, 0, work.history.range.upto)
    text = work.summarize(rows, limit=1_000).text
    return {"tokens": work.sizing.text(text)}
@hookimpl
def commands(): return [Command("probe ask", "asks", {"type": "object"}, ask)]
"""


class Filling(ScriptedSummarizer):
    """Replies as much as it may."""

    limits: tuple[int, ...] = ()

    def complete(self, prompt: Prompt, limit: int, deadline: Deadline) -> Reply:
        self.limits = (*self.limits, limit)
        return Reply("word " * (limit - 1), "end", self.name, copied=True)


@pytest.mark.parametrize(("model", "most"), [("claude-sonnet-4-5", 769), ("gpt-5", 952), ("nobody-knows", 800)])
def test_a_summary_of_so_many_tokens_measures_no_more_for_the_model(
    model: str, most: int, home: Path, install: Any
) -> None:
    install("probe", BODY)
    summarizer = Filling()
    with Host(home, summarizers=[summarizer]) as host:
        session = host.new(model=model)
        for turn in range(20):
            session.user(f"question {turn}")
            session.assistant(f"answer {turn}: " + "it returns a number. " * 100)
        measured = session.run("probe ask", {})["tokens"]
    assert max(summarizer.limits) <= most
    assert measured <= 1_000
