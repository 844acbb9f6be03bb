"""The texts that chain puts before the model and before a summarizer. Equal arguments give equal bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from refold_chain.blocks import Block

OPENS = "[summary of rows {first}-{last} of this conversation; {made}]"
OPENS_IN_TURN = (
    "[the message above opened the turn that is being worked on; summary of the work on it so far, "
    "rows {first}-{last}; {made}]"
)
ENDS = "[end of the summary up to row {last}]"
LEFT_OUT = "\n[… {count:,} characters left out of the middle of this message …]\n"

REQUEST = "[the request that is being worked on]\n{text}"

TASK = """\
Write a block of summary for a part of an agent's conversation that leaves its window. It is put behind the earlier
blocks, which stay as they are, and the conversation goes on behind it. Say only what the newly evicted history adds:
what was asked, decided and rejected and why, what is done and what failed, the files that were read or changed,
commands and how they ended, exact names, paths, figures and errors, and what was about to happen next."""

TASK_IN_TURN = """\
Write a block of summary for the earlier steps of the work on one request, which is still going on: the history stops
in the middle of it. The request itself stays in front of your text, so do not repeat it. A message marked as a
follow-up was queued while the work ran; keep what it asks. Say what was done, found and touched and with what result,
what failed, exact names, paths, figures and errors, and what remains to be done next."""

_MARKER = re.compile(r"\[(?=(?:end of the )?summary |the message above opened |… )", re.IGNORECASE)


def block_text(block: Block) -> str:
    """A summary between its markers, which say who wrote it."""
    first = block.prompt_upto + 1 if block.prompt is not None else block.after + 1
    opens = OPENS if block.prompt is None else OPENS_IN_TURN
    summary = _MARKER.sub("(", block.summary)
    made = "extracted without a model" if block.model == "offline" else "model-generated"
    return "\n".join((opens.format(first=first, last=block.upto, made=made), summary, ENDS.format(last=block.upto)))


def elided(text: str, characters: int) -> str:
    """The text with its middle left out, so that about `characters` of it stand; whole where nothing is won.

    >>> elided("abcdefgh" * 20, 20)
    'abcdefghab\\n[… 140 characters left out of the middle of this message …]\\nghabcdefgh'
    """
    head = -(-characters // 2)
    tail = characters - head
    left = LEFT_OUT.format(count=len(text) - characters)
    short = f"{text[:head]}{left}{text[len(text) - tail :]}"
    return short if len(short) < len(text) else text


def shortened(text: str, tokens: int, measure: Callable[[str], int]) -> int:
    """How many characters of a text may stand, so that it measures about `tokens` with its middle left out."""
    characters = min(len(text), tokens * 3)
    for _ in range(6):
        size = measure(elided(text, characters))
        if size <= tokens or characters <= SHORTEST:
            break
        characters = max(SHORTEST, characters * tokens // size - 1)
    return max(min(len(text), SHORTEST), characters)


SHORTEST = 80
"""Characters of a prompt that are always shown."""


def quoted(text: str, characters: int) -> str:
    """A prompt as a fold quotes it: nothing in it reads as part of a summary."""
    return _MARKER.sub("(", elided(text, characters))


def known(blocks: Sequence[Block], room: int, measure: Callable[[str], int]) -> str:
    """What a summarizer sees of the earlier blocks: the newest that fit into `room` tokens, none left out between."""
    shown: list[str] = []
    for block in reversed(blocks):
        text = f"{block.summary}\n"
        room -= measure(text)
        if room < 0:
            break
        shown.append(text)
    return "\n".join(reversed(shown))
