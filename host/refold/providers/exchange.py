"""What comes back from a model, in the words of no protocol: pieces while it streams, and one answer at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from attrs import frozen

from refold.values.rows import Call, Replay

Stop = Literal["end", "length", "tool", "refusal", "other"]
"""Why an answer ended: by itself, at a limit of tokens, with tool calls, refused by the provider, anything else."""

UNPARSED = "unparsed_arguments"
"""The one argument of a call whose arguments were no JSON object: the text as the model wrote it."""


@frozen
class Usage:
    """What the provider counted, in tokens; None: it did not say.

    `input_tokens` is the whole prompt and always includes `cached_tokens`; `output_tokens` includes `reasoning_tokens`.
    A codec whose protocol counts otherwise adds them up.
    """

    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None

    def stored(self) -> Mapping[str, int]:
        """The known figures by name, for the record of requests.

        >>> Usage(input_tokens=10, output_tokens=2).stored()
        {'input_tokens': 10, 'output_tokens': 2}
        """
        named = {
            "input_tokens": self.input_tokens,
            "cached_tokens": self.cached_tokens,
            "output_tokens": self.output_tokens,
            "reasoning_tokens": self.reasoning_tokens,
        }
        return {name: value for name, value in named.items() if value is not None}


@frozen
class TextDelta:
    """A piece of the answer's text."""

    text: str


@frozen
class ReasoningDelta:
    """A piece of readable reasoning. It is shown, and never part of the answer."""

    text: str


@frozen
class CallDelta:
    """A piece of a tool call. `index` counts the calls of the answer from 0; `id` and `name` are "" once they came."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


Delta = TextDelta | ReasoningDelta | CallDelta


@frozen
class Answer:
    """A complete answer.

    `replays` are opaque items to be appended as `replay` rows before the answer. `model` is the id that the provider
    says answered; `raw_stop` is its own word for why it ended. `reasoned` says that there was reasoning, readable or
    not. Calls of an answer that stopped for `length` may be cut off: they must not run.
    """

    text: str
    calls: tuple[Call, ...] = ()
    replays: tuple[Replay, ...] = ()
    stop: Stop = "end"
    usage: Usage = Usage()
    model: str = ""
    raw_stop: str = ""
    reasoned: bool = False


def unparsed(call: Call) -> str | None:
    """The arguments as the model wrote them when they were no JSON object; None: they were one."""
    text: Any = call.arguments.get(UNPARSED)
    return text if len(call.arguments) == 1 and isinstance(text, str) else None


TINY = 64
"""Tokens of an answer that a server with room left would have gone on with."""

BLANK = 1_024
"""Tokens that reasoning may have taken of an answer without words, for it to be taken for one that had no room."""


def cut_short(answer: Answer, asked: int | None) -> bool:
    """Whether a server ended a blank or tiny answer for its length, though a longer one was allowed.

    So do servers that are full and refuse nothing: they give what fits, and prompt and answer together are their
    window. `asked` is the most output that the request allowed, in tokens (None: it did not say). An answer that took
    half of it or more came to that limit.
    """
    if answer.stop != "length":
        return False
    blank = not answer.text.strip() and not answer.calls
    written = answer.usage.output_tokens
    if written is None:
        if answer.reasoned:  # nobody knows how much of it there was
            return False
        written = len(answer.text) // 3
    return written <= (BLANK if blank else TINY) and (asked is None or written * 2 < asked)


def overran(answer: Answer, window: int | None) -> bool:
    """Whether a served answer shows that the request did not fit, though nobody refused it.

    The provider ended it at the window, counted more input than the window holds, or cut the prompt so that no token
    of output was left. `window` is tokens; None: unknown.
    """
    if answer.raw_stop == "model_context_window_exceeded":
        return True
    counted = answer.usage.input_tokens
    if window is None or counted is None:
        return False
    silent = answer.stop == "length" and not answer.text and not answer.calls and not answer.usage.output_tokens
    return counted > window or (silent and counted * 100 >= window * 99)
