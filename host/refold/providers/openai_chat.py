"""OpenAI Chat Completions, and the many servers that speak it: `POST /v1/chat/completions`."""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from refold.providers import replay
from refold.providers.alternation import CONTINUE, MISSING_START
from refold.providers.identifiers import NINE, SHORT, CallIds, tool_name
from refold.providers.pictures import EMPTY, NO_OUTPUT, Look, Picture, Pictures, pictures
from refold.providers.reasoning import chat_fields
from refold.sizing.families import family
from refold.values.json_text import json_bytes
from refold.values.messages import AssistantMessage, Request, ResultMessage, UserMessage

_MEDIA_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
_OWN_FIELDS = frozenset({"role", "content", "tool_calls"})
# OpenAI's current models refuse `max_tokens`; servers that speak its protocol may know nothing else.
_NEW_LIMIT = re.compile(r"(?:^|/)(?:gpt-(?:4o|4\.|[5-9])|o[1-9]|codex|chatgpt)")


def encode(request: Request, look: Look) -> dict[str, Any]:
    """The request body, without `stream`.

    The templates of many models refuse two messages of one role in a row, and a history that begins or ends with an
    answer. So messages of one role are joined, with a blank line between their texts, and what joins is put behind what
    is there. Content is a string, as every server takes it, until a picture joins: then it is a list of parts from
    there on, whose first text is what the string was.

    A tool message holds text alone, so pictures of results ride in one user message behind all results of their step.
    A `Replay` is an object of assistant fields (`reasoning_content`, `reasoning_details`); they join the answer behind
    it.
    """
    wire: dict[str, Any] = {"model": request.model.id, "messages": _messages(request, look)}
    if request.tools:
        wire["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool_name(tool.name),
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                },
            }
            for tool in request.tools
        ]
    if request.max_output is not None:
        wire["max_completion_tokens" if _NEW_LIMIT.search(request.model.id) else "max_tokens"] = request.max_output
    return wire | chat_fields(request.reasoning)


def _messages(request: Request, look: Look) -> list[dict[str, Any]]:
    shown = pictures(request, _MEDIA_TYPES, look)
    ids = CallIds(NINE if family(request.model.id).name == "mistral" else SHORT)
    open_ids: deque[str] = deque()
    riders: list[dict[str, Any]] = []
    fields: dict[str, Any] = {}
    messages: list[dict[str, Any]] = []
    if request.system and not request.system.isspace():
        messages.append({"role": "system", "content": request.system})
    for message in request.messages:
        if isinstance(message, ResultMessage):
            text, images = shown.show(message.text, message.images)
            messages.append({"role": "tool", "tool_call_id": open_ids.popleft(), "content": text or NO_OUTPUT})
            if images:
                riders.append({"type": "text", "text": f"[images in the result of {message.name}]"})
                riders += map(_image, images)
            if riders and not open_ids:
                _add(messages, {"role": "user", "content": riders})
                riders = []
        elif isinstance(message, AssistantMessage):
            answer = _answer(message, ids, open_ids)
            if answer is not None:
                if not messages or messages[-1]["role"] == "system":
                    messages.append({"role": "user", "content": MISSING_START})
                _add(messages, answer | fields)
            fields = {}
        elif isinstance(message, UserMessage):
            fields = {}
            _add(messages, {"role": "user", "content": _user_content(message, shown)})
        elif message.owner == request.model.owner:
            for item in replay.items(message):
                fields |= {key: value for key, value in item.items() if key not in _OWN_FIELDS}
    if not messages or messages[-1]["role"] in ("system", "assistant"):
        messages.append({"role": "user", "content": CONTINUE})
    return messages


def _add(messages: list[dict[str, Any]], message: dict[str, Any]) -> None:
    """Joins a message to one of its role, else puts it behind."""
    last = messages[-1] if messages else None
    if last is None or last["role"] != message["role"]:
        messages.append(message)
        return
    for key, value in message.items():
        if key != "role" and value is not None:
            last[key] = value if last.get(key) is None else _joined(last[key], value)


def _joined(first: Any, then: Any) -> Any:
    if isinstance(first, str) and isinstance(then, str):
        return f"{first}\n\n{then}"
    if isinstance(first, (str, list)) and isinstance(then, (str, list)):
        return [*_parts(first), *_parts(then)]
    return then


def _parts(content: str | list[Any]) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _answer(message: AssistantMessage, ids: CallIds, open_ids: deque[str]) -> dict[str, Any] | None:
    text = message.text if message.text and not message.text.isspace() else None
    if not message.calls:
        return None if text is None else {"role": "assistant", "content": text}
    calls = []
    for call in message.calls:
        id = ids.take(call.id)
        open_ids.append(id)
        function = {"name": tool_name(call.name), "arguments": json_bytes(call.arguments).decode()}
        calls.append({"id": id, "type": "function", "function": function})
    return {"role": "assistant", "content": text, "tool_calls": calls}


def _user_content(message: UserMessage, shown: Pictures) -> str | list[dict[str, Any]]:
    text, images = shown.show(message.text, message.images)
    if not images:
        return text or EMPTY
    parts = [{"type": "text", "text": text}] if text else []
    return [*parts, *map(_image, images)]


def _image(picture: Picture) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": picture.data_url}}
