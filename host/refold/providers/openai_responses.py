"""OpenAI Responses: `POST /v1/responses`."""

from __future__ import annotations

from collections import deque
from typing import Any

from refold.providers import replay
from refold.providers.identifiers import USUAL, CallIds, tool_name
from refold.providers.pictures import EMPTY, NO_OUTPUT, Look, Pictures, pictures
from refold.providers.reasoning import responses_fields
from refold.values.json_text import json_bytes
from refold.values.messages import AssistantMessage, Request, ResultMessage, UserMessage
from refold.values.rows import Image

_MEDIA_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})


def encode(request: Request, look: Look) -> dict[str, Any]:
    """The request body, without `stream` and `include`. Nothing is stored at the provider: every request is whole.

    A `Replay` is one input item or a list of them. Reasoning must be followed at once by what it produced, so it waits
    for the answer behind it and is left out when another message comes first.
    """
    wire: dict[str, Any] = {"model": request.model.id, "store": False}
    if request.system and not request.system.isspace():
        wire["instructions"] = request.system
    wire["input"] = _input(request, look)
    if request.tools:
        wire["tools"] = [
            {
                "type": "function",
                "name": tool_name(tool.name),
                "description": tool.description,
                "parameters": dict(tool.parameters),
                "strict": False,
            }
            for tool in request.tools
        ]
    if request.max_output is not None:
        wire["max_output_tokens"] = request.max_output
    return wire | responses_fields(request.reasoning)


def _input(request: Request, look: Look) -> list[dict[str, Any]]:
    shown = pictures(request, _MEDIA_TYPES, look)
    ids = CallIds(USUAL)
    open_ids: deque[str] = deque()
    reasoning: list[dict[str, Any]] = []
    items: list[dict[str, Any]] = []
    for message in request.messages:
        if isinstance(message, ResultMessage):
            output = _content(message.text, message.images, shown, NO_OUTPUT)
            items.append({"type": "function_call_output", "call_id": open_ids.popleft(), "output": output})
        elif isinstance(message, AssistantMessage):
            blank = not message.text or message.text.isspace()
            if reasoning and (message.calls or not blank):
                items += reasoning
            reasoning = []
            if not blank:
                items.append({"type": "message", "role": "assistant", "content": message.text})
            for call in message.calls:
                id = ids.take(call.id)
                open_ids.append(id)
                arguments = json_bytes(call.arguments).decode()
                items.append(
                    {"type": "function_call", "call_id": id, "name": tool_name(call.name), "arguments": arguments}
                )
        elif isinstance(message, UserMessage):
            reasoning = []
            content = _content(message.text, message.images, shown, EMPTY)
            items.append({"type": "message", "role": "user", "content": content})
        elif message.owner == request.model.owner:
            for item in replay.items(message):
                (reasoning if item.get("type") == "reasoning" else items).append(item)
    return items


def _content(text: str, images: tuple[Image, ...], shown: Pictures, placeholder: str) -> str | list[dict[str, Any]]:
    text, pixels = shown.show(text, images)
    if not pixels:
        return text or placeholder
    parts = [{"type": "input_text", "text": text}] if text else []
    return [
        *parts,
        *({"type": "input_image", "image_url": image.data_url, "detail": "auto"} for image in pixels),
    ]
