"""Anthropic Messages JSON: a list of messages, or a request `{"system", "messages", ...}`.

The system prompt becomes a notice. Keys of a request that say nothing of the conversation (`model`, `tools`,
`max_tokens`, ...) are left out. A file of this format has no name for its session.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from refold.importers.documents import first_message, members
from refold.importers.lines import Unreadable, as_map, as_text, as_word
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
from refold.values.tools import Importer

_OWN_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document"}


def detect(head: bytes) -> bool:
    """A JSON document whose messages, as far as they are whole in the head, use Anthropic's own blocks."""
    others, messages = first_message(head)
    if not any(role_of(m) in ("user", "assistant") and is_content(m.get("content")) for m in messages):
        return False
    if is_content(others.get("system")):
        return True
    return any(
        as_word(block.get("type")) in _OWN_BLOCKS
        or (block.get("type") == "image" and isinstance(block.get("source"), dict))
        for message in messages
        for block in blocks(message.get("content"))
    )


def rows(stream: BinaryIO) -> Iterator[Row | str]:
    """The rows of the document, or why an item was skipped."""
    steps, model, count = Steps(""), "", 0
    for key, value in members(stream):
        if isinstance(value, Unreadable):
            yield value.reason
        elif key == "model":
            model = as_text(value)
        elif key == "system":
            yield from steps.event("notice", system_text(value))
        elif key == "messages":
            count += 1
            message = as_map(value)
            content, role = message.get("content"), role_of(message)
            if not role or not is_content(content):
                yield f"message {count} has no known role, or no content"
            elif role == "assistant":
                yield from steps.close()
                said = read_assistant(content, as_text(message.get("model")) or model)
                if not (said.texts or said.calls or said.replays):
                    yield f"message {count} is empty"
                yield from steps.answer(text=said.text, calls=said.calls, replays=said.replays)
            elif role == "system":
                yield from steps.event("notice", system_text(content))
            else:
                said = read_user(content)
                if not (said.text.strip() or said.images or said.results):
                    yield f"message {count} is empty"
                yield from _user(steps, said)
    yield from steps.close()


def _user(steps: Steps, said: Said) -> Iterator[Row]:
    for result in said.results:
        yield from steps.result(result.call_id, result.text, result.ok, result.images)
    for block in said.kept:
        yield from steps.event("notice", block)
    if said.text.strip() or (said.images and not said.results):
        # Words beside results came while the turn ran.
        yield from steps.user(said.text, said.images, opens=not said.results)


IMPORTER = Importer(format="anthropic-messages", detect=detect, rows=rows)
