"""Anthropic Messages JSON: messages, or requests `{"system", "messages", ...}`.

The system prompt becomes a notice. Keys of a request that say nothing of the conversation (`model`, `tools`,
`max_tokens`, ...) are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refold.importers.conversations import Item, importer
from refold.importers.documents import MESSAGES
from refold.importers.lines import as_map, as_text, as_word
from refold.importers.messages.anthropic_blocks import (
    Said,
    blocks,
    is_content,
    read_assistant,
    read_user,
    role_of,
    system_text,
)
from refold.importers.steps import Steps
from refold.values.rows import Row

_OWN_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document"}


def looks(facts: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> bool:
    """Messages that use Anthropic's own blocks, as far as they are seen, or a request with its system prompt."""
    if not any(role_of(m) in ("user", "assistant") and is_content(m.get("content")) for m in messages):
        return False
    if is_content(facts.get("system")):
        return True
    return any(
        as_word(block.get("type")) in _OWN_BLOCKS
        or (block.get("type") == "image" and isinstance(block.get("source"), dict))
        for message in messages
        for block in blocks(message.get("content"))
    )


class Reader:
    """The messages of one conversation."""

    def __init__(self, name: str) -> None:
        self._steps = Steps(name)
        self._model = ""
        self._count = 0

    def fact(self, key: str, value: Any) -> Iterator[Item]:
        if key == "model":
            self._model = as_text(value)
        elif key == "system":
            yield from self._steps.event("notice", system_text(value))

    def message(self, message: Any) -> Iterator[Item]:
        self._count += 1
        fields = as_map(message)
        content, role = fields.get("content"), role_of(fields)
        if not role or not is_content(content):
            yield f"message {self._count} has no known role, or no content"
        elif role == "assistant":
            yield from self._steps.close()
            said = read_assistant(content, as_text(fields.get("model")) or self._model)
            if not (said.texts or said.calls or said.replays):
                yield f"message {self._count} is empty"
            yield from self._steps.answer(text=said.text, calls=said.calls, replays=said.replays)
        elif role == "system":
            yield from self._steps.event("notice", system_text(content))
        else:
            said = read_user(content)
            if not (said.text.strip() or said.images or said.results):
                yield f"message {self._count} is empty"
            yield from user(self._steps, said)

    def close(self) -> Iterator[Item]:
        yield from self._steps.close()


def user(steps: Steps, said: Said) -> Iterator[Row]:
    """The rows of a message in the user's role: results first, then words, which came while the turn ran."""
    for result in said.results:
        yield from steps.result(result.call_id, result.text, result.ok, result.images)
    for block in said.kept:
        yield from steps.event("notice", block)
    if said.text.strip() or (said.images and not said.results):
        yield from steps.user(said.text, said.images, opens=not said.results)


IMPORTER = importer("anthropic-messages", looks, Reader, MESSAGES)
