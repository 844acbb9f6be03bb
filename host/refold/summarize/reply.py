"""What stands behind a summary: a summarizer turns one prompt into one reply."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, Protocol

from attrs import field, frozen

from refold.summarize.prompt import Prompt
from refold.values.errors import RefoldError, SummaryFailed

Stop = Literal["end", "length", "tool", "refusal", "other"]
"""Why a reply ended: by itself, at the output limit, with a tool call, refused by the provider, anything else."""


@frozen
class Reply:
    """One reply. `text` holds no reasoning; `reasoned` says that there was some. Counts are the provider's tokens.

    `copied` says that the text was cut out of the prompt by a program: whether it tells of it is not asked then.
    """

    text: str
    stop: Stop
    model: str
    reasoned: bool = False
    copied: bool = False
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None


class TooLarge(SummaryFailed):
    """The prompt does not fit the summarizing model; the pass is halved and tried again.

    `limit` is the model's limit in tokens when the refusal named it.
    """

    code = "summary_too_large"

    def __init__(self, message: str, limit: int | None = None) -> None:
        super().__init__(message)
        self.limit = limit


def _never() -> bool:
    return False


@frozen
class Deadline:
    """When a whole summary must be done, and whether somebody asked it to stop.

    `at` is seconds on `time.monotonic()`; None: no end. One deadline serves all passes and all summarizers.
    """

    at: float | None = None
    cancelled: Callable[[], bool] = field(default=_never)

    @classmethod
    def after(cls, seconds: float, cancelled: Callable[[], bool] = _never) -> Deadline:
        """A deadline that many seconds from now."""
        return cls(time.monotonic() + seconds, cancelled)

    def left(self) -> float | None:
        """Seconds left, never below zero; None when there is no end."""
        return None if self.at is None else max(0.0, self.at - time.monotonic())

    def check(self) -> None:
        """Raises `Stopped` when the time is over or the work was cancelled."""
        if self.cancelled():
            raise Stopped("the summary was cancelled; nothing was changed; run /compact to try again")
        if self.at is not None and time.monotonic() >= self.at:
            raise Stopped("the summary took longer than its deadline; nothing was changed; finished passes are kept")


class Stopped(SummaryFailed):
    """Cancelled, or past the deadline: no other summarizer is asked."""

    code = "summary_stopped"


class Summarizer(Protocol):
    """Turns one prompt into a reply: the offline one here, a model's client elsewhere.

    A model-backed summarizer sends `prompt.system()` and `prompt.user()` as one system and one user message, offers
    no tools, and asks for at most `limit` tokens of text. It retries what is worth a retry by itself, within the
    deadline.
    """

    @property
    def name(self) -> str:
        """What `Summary.model` says: the model's id, or `offline`."""

    @property
    def window(self) -> int | None:
        """The tokens that prompt and reply may take together; None: unknown."""

    def complete(self, prompt: Prompt, limit: int, deadline: Deadline) -> Reply:
        """One reply to the prompt, not judged yet.

        Raises TooLarge when the prompt does not fit, SummaryFailed for any other failure of the provider, and
        SummaryRejected when no acceptable text can be made of this prompt.
        """


def asked(summarizer: Summarizer, prompt: Prompt, limit: int, deadline: Deadline) -> Reply:
    """Its reply to the prompt. Nobody type-checks the summarizer of a host app: raises SummaryFailed, naming it, for an
    answer that is no reply and for any error of its own, so that the next one is asked."""
    try:
        reply = summarizer.complete(prompt, limit, deadline)
    except RefoldError:
        raise
    except Exception as error:
        words = " ".join(str(error).split())[:300]
        raise SummaryFailed(f"{summarizer.name} raised {type(error).__name__}: {words}") from error
    if not isinstance(reply, Reply):
        raise SummaryFailed(f"{summarizer.name} answered {type(reply).__name__}, not a Reply")
    return reply
