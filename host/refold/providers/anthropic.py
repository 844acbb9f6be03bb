"""Anthropic Messages: `POST /v1/messages`."""

from __future__ import annotations

from collections import deque
from typing import Any

from refold.providers import replay
from refold.providers.alternation import CONTINUE, Alternation
from refold.providers.identifiers import USUAL, CallIds, tool_name
from refold.providers.pictures import EMPTY, NO_OUTPUT, Look, Pictures, pictures
from refold.providers.reasoning import anthropic_fields
from refold.values.messages import AssistantMessage, Request, ResultMessage, UserMessage
from refold.values.rows import Image

MAX_TOKENS = 8192
"""Tokens of output where the request names none: the protocol requires a number."""

_MEDIA_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
_LONGEST_NAME = 128
_THINKING = frozenset({"thinking", "redacted_thinking"})
_MARK = {"type": "ephemeral"}
# Tool blocks in the history need some tool to be defined, and it must not be called.
_NO_TOOLS = {
    "tools": [{"name": "none", "description": "No tool is available.", "input_schema": {"type": "object"}}],
    "tool_choice": {"type": "none"},
}


def encode(request: Request, look: Look) -> dict[str, Any]:
    """The request body, without `stream` and cache marks.

    Messages of one role are joined (`refold.providers.alternation`); a user message stands first and last, since
    current models refuse to continue an answer of their own.

    A `Replay` is one content block of an answer or a list of them. Thinking waits for the answer behind it and is left
    out when another message comes first.
    """
    messages = _messages(request, look)
    wire: dict[str, Any] = {"model": request.model.id, "max_tokens": request.max_output or MAX_TOKENS}
    if request.tools:
        wire["tools"] = [
            {
                "name": tool_name(tool.name, _LONGEST_NAME),
                "description": tool.description,
                "input_schema": {"type": "object", **tool.parameters},
            }
            for tool in request.tools
        ]
    elif any(isinstance(message, AssistantMessage) and message.calls for message in request.messages):
        wire |= _NO_TOOLS
    if request.system and not request.system.isspace():
        wire["system"] = [{"type": "text", "text": request.system}]
    wire |= anthropic_fields(request.reasoning, request.model.id, wire["max_tokens"])
    wire["messages"] = messages
    return wire


def with_cache_marks(wire: dict[str, Any]) -> dict[str, Any]:
    """The same request with at most four cache marks; `wire` itself is left as it is.

    They stand at the end of the tools, of the system prompt and of the two newest user messages: the newest is what
    the next request will find, the one before is where the last request ended. The mark on `CONTINUE` would be in vain.
    """
    marked = dict(wire)
    for part in ("tools", "system"):
        if marked.get(part):
            marked[part] = _marked(marked[part])
    messages = list(marked["messages"])
    users = [index for index, message in enumerate(messages) if message["role"] == "user"]
    if users and messages[users[-1]]["content"][-1].get("text") == CONTINUE:
        users.pop()
    for index in users[-2:]:
        messages[index] = messages[index] | {"content": _marked(messages[index]["content"])}
    marked["messages"] = messages
    return marked


def _marked(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*blocks[:-1], blocks[-1] | {"cache_control": _MARK}]


def _messages(request: Request, look: Look) -> list[dict[str, Any]]:
    shown = pictures(request, _MEDIA_TYPES, look)
    ids = CallIds(USUAL)
    open_ids: deque[str] = deque()
    thinking: list[dict[str, Any]] = []
    messages = Alternation("assistant", "content", {"type": "text"})
    for message in request.messages:
        if isinstance(message, ResultMessage):
            messages.user([_result(message, open_ids.popleft(), shown)])
        elif isinstance(message, AssistantMessage):
            blocks = _answer(message, ids, open_ids)
            if blocks:
                messages.answer(thinking + blocks)
            thinking = []
        elif isinstance(message, UserMessage):
            thinking = []
            messages.user(_blocks(message.text, message.images, shown, EMPTY))
        elif message.owner == request.model.owner:
            for item in replay.items(message):
                if item.get("type") in _THINKING:
                    thinking.append(item)
                else:
                    messages.answer([item])
    return messages.closed()


def _answer(message: AssistantMessage, ids: CallIds, open_ids: deque[str]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if message.text and not message.text.isspace():
        blocks.append({"type": "text", "text": message.text})
    for call in message.calls:
        id = ids.take(call.id)
        open_ids.append(id)
        name = tool_name(call.name, _LONGEST_NAME)
        blocks.append({"type": "tool_use", "id": id, "name": name, "input": dict(call.arguments)})
    return blocks


def _result(message: ResultMessage, id: str, shown: Pictures) -> dict[str, Any]:
    content: str | list[dict[str, Any]]
    if message.images:
        content = _blocks(message.text, message.images, shown, NO_OUTPUT)
    else:
        content = NO_OUTPUT if not message.text or message.text.isspace() else message.text
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": id, "content": content}
    if not message.ok:
        block["is_error"] = True
    return block


def _blocks(text: str, images: tuple[Image, ...], shown: Pictures, placeholder: str) -> list[dict[str, Any]]:
    text, pixels = shown.show(text, images)
    if not text and not pixels:
        text = placeholder
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for image in pixels:
        source = {"type": "base64", "media_type": image.media_type, "data": image.base64}
        blocks.append({"type": "image", "source": source})
    return blocks
