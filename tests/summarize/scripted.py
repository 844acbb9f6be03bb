"""A summarizer that answers from a script: a test fixture, no part of the product."""

from __future__ import annotations

from collections.abc import Callable

from refold.summarize.prompt import Prompt
from refold.summarize.reply import Deadline, Reply

Answer = str | Reply | Exception | Callable[[Prompt], "str | Reply | Exception"]


class Scripted:
    """Gives the answers in order, the last one again and again, and remembers what it was asked."""

    def __init__(self, *answers: Answer, name: str = "scripted", window: int | None = None) -> None:
        self.answers = list(answers)
        self.name = name
        self.window = window
        self.asked: list[tuple[Prompt, int]] = []

    def complete(self, prompt: Prompt, limit: int, deadline: Deadline) -> Reply:
        self.asked.append((prompt, limit))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if callable(answer) and not isinstance(answer, Exception | Reply):
            answer = answer(prompt)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Reply) else Reply(answer, "end", self.name, copied=True)
