"""Summaries by a model: the summary service's prompts over a provider's client."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve, frozen

from refold.providers.client import Client
from refold.providers.exchange import Answer
from refold.providers.failures import Cancelled, ProviderError
from refold.providers.models import ResolvedModel
from refold.summarize.prompt import Prompt
from refold.summarize.reply import Deadline, Reply, Stop, Stopped, TooLarge
from refold.values.errors import NotFound, SummaryFailed
from refold.values.messages import Request, UserMessage
from refold.values.rows import Image

OUTPUT_ROOM = 4_096
"""Tokens of output besides the summary: some models reason before they write."""

Record = Callable[[str, Request, Answer | None, str], object]
"""Books one call: the model's id, what was asked, the answer if there was one, and the outcome in a word."""


@frozen(eq=False)
class ModelSummarizer:
    """A `Summarizer` that asks one model. No tools are offered, and pictures never reach it.

    `reasoning` is the level that somebody wants; a model that takes none is asked again at its own.
    """

    resolved: ResolvedModel
    client: Client
    record: Record
    reasoning: str | None = None

    @property
    def name(self) -> str:
        return self.resolved.id

    @property
    def window(self) -> int | None:
        return next((window.tokens for window in self.resolved.windows if window.tokens is not None), None)

    def complete(self, prompt: Prompt, limit: int, deadline: Deadline) -> Reply:
        most = self.resolved.max_output
        room = 2 * limit + OUTPUT_ROOM
        output = room if most is None else min(most, room)
        messages = (UserMessage(prompt.user()),)
        request = Request(self.resolved.model, prompt.system(), (), messages, output, self.reasoning)
        answer = self._ask(request, deadline)
        return Reply(
            answer.text,
            _stop(answer),
            self.name,
            reasoned=answer.reasoned,
            input_tokens=answer.usage.input_tokens,
            cached_tokens=answer.usage.cached_tokens,
            output_tokens=answer.usage.output_tokens,
        )

    def _ask(self, request: Request, deadline: Deadline) -> Answer:
        deadline.check()  # what is never sent is not booked
        try:
            answer = self.client.ask(request, _no_pictures, cancelled=lambda: _over(deadline))
        except Cancelled as error:
            self.record(self.name, request, None, "cancelled")
            deadline.check()
            raise Stopped(str(error)) from error
        except ProviderError as error:
            self.record(self.name, request, None, error.refusal.kind)
            if error.refusal.kind == "malformed" and request.reasoning is not None:
                return self._ask(evolve(request, reasoning=None), deadline)
            if error.refusal.kind in ("too_large", "too_many_bytes"):
                raise TooLarge(f"{self.name}: {error}", error.refusal.limit) from error
            raise SummaryFailed(f"{self.name}: {error}") from error
        self.record(self.name, request, answer, "ok")
        return answer


def _stop(answer: Answer) -> Stop:
    return "tool" if answer.calls else answer.stop


def _over(deadline: Deadline) -> bool:
    left = deadline.left()
    return deadline.cancelled() or (left is not None and left <= 0)


def _no_pictures(image: Image) -> bytes:
    raise NotFound(f"a summary prompt holds no picture, but {image.key} was asked for")
