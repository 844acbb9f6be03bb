"""How much history one pass reads, and which passes are finished already."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import OrderedDict, deque

from attrs import define, evolve

from refold.sizing.estimate import tokens
from refold.summarize.blocks import Step
from refold.summarize.clip import clipped
from refold.summarize.prompt import Prompt
from refold.summarize.reply import Reply

DEFAULT = 32_000
"""Tokens of a pass when neither a strategy nor a model says how many."""

LEAST = 256
"""Tokens below which a pass is not made smaller; what does not fit then does not fit at all."""

HALVINGS = 5
"""How often one pass may be halved after refusals, so at most six tries for a model."""


def budget(chunk: int | None, window: int | None, overhead: int, limit: int) -> int:
    """Tokens of history for one pass: the strategy's chunk, and no more than half of the model's window.

    `overhead` is everything else in the prompt, `limit` the reply: together they must fit the window too.

    >>> budget(10_000, 8_000, 500, 800)
    4000
    """
    if window is None:
        return max(LEAST, DEFAULT if chunk is None else chunk)
    share = min(window // 2, window - overhead - limit)
    return max(LEAST, share if chunk is None else min(chunk, share))


def taken(queue: deque[Step], most: int) -> list[Step]:
    """The steps of the next pass, at least one, taken from the front of the queue: as many as fit into `most` tokens.

    A single step that is larger than a pass is clipped in the middle of its longest texts.
    """
    steps = [queue.popleft()]
    size = steps[0].size
    if size > most:
        return [squeezed(steps[0], most)]
    while queue and size + queue[0].size <= most:
        size += queue[0].size
        steps.append(queue.popleft())
    return steps


def squeezed(step: Step, most: int) -> Step:
    """The step within about `most` tokens: its longest texts are clipped to one common length, the others stay."""
    length = max((len(block.text) for block in step.blocks), default=0)
    blocks, size = step.blocks, step.size
    while size > most and length > 64:
        length = min(length - 1, length * 3 // 4)
        blocks = tuple(evolve(block, text=clipped(block.text, length)) for block in step.blocks)
        size = sum(tokens(block.render()) + 1 for block in blocks)
    return evolve(step, blocks=blocks, size=size)


def newest_lines(text: str, most: int) -> str:
    """The last lines of a text that fit into `most` tokens, none left out between them.

    >>> newest_lines("one two three\\nfour\\nfive", 4)
    'four\\nfive'
    """
    if tokens(text) <= most:
        return text
    lines = text.split("\n")
    first = bisect_left(range(len(lines)), True, key=lambda at: tokens("\n".join(lines[at:])) <= most)
    return "\n".join(lines[first:])


@define
class Course:
    """What the summaries of one compaction have learnt, one after another.

    `at` is the place of the summarizer that is asked, those before it failed; `most` are the tokens of a pass that it
    takes, as its refusals taught (None: it refused none).
    """

    at: int = 0
    most: int | None = None

    def next(self) -> None:
        """The summarizer failed: the one behind it is asked from now on."""
        self.at += 1
        self.most = None


def content_key(name: str, reasoning: str | None, prompt: Prompt, limit: int) -> str:
    """Equal for equal work: the same summarizer at the same level of reasoning, the same prompt, the same limit."""
    digest = hashlib.sha256()
    for part in (name, reasoning or "", prompt.system(), prompt.user(), str(limit)):
        digest.update(part.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.hexdigest()


class PassCache:
    """Accepted replies by content, the newest kept, so that a retry of a failed summary does not pay twice."""

    def __init__(self, size: int = 64) -> None:
        self._size = size
        self._replies: OrderedDict[str, Reply] = OrderedDict()

    def get(self, key: str) -> Reply | None:
        """The reply of that pass, if it is still kept."""
        reply = self._replies.get(key)
        if reply is not None:
            self._replies.move_to_end(key)
        return reply

    def put(self, key: str, reply: Reply) -> None:
        """Keeps the reply; the one that was used longest ago goes."""
        self._replies[key] = reply
        self._replies.move_to_end(key)
        while len(self._replies) > self._size:
            self._replies.popitem(last=False)
