"""Google Gemini: `POST /v1beta/models/{model}:generateContent`. The model stands in the address, not in the body."""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from refold.providers import replay
from refold.providers.alternation import Alternation
from refold.providers.identifiers import USUAL, CallIds, tool_name
from refold.providers.pictures import EMPTY, NO_OUTPUT, Look, Picture, Pictures, pictures
from refold.providers.reasoning import gemini_fields
from refold.values.messages import AssistantMessage, Request, ResultMessage, UserMessage

_MEDIA_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
_LETTER_FIRST = re.compile(r"[a-zA-Z_]")
_OLD = re.compile(r"gemini-[12](?!\d)")  # no signatures on calls, no pictures inside a function's response
# The documented stand-in for a call that another model made, or whose signature is lost.
_NO_SIGNATURE = "skip_thought_signature_validator"


def encode(request: Request, look: Look) -> dict[str, Any]:
    """The request body.

    Contents of one role are joined (`refold.providers.alternation`), so all results of a step stand in one content.

    A `Replay` is one part of an answer or a list of them. An object that holds only `thoughtSignature` belongs to the
    first part of the answer behind it. From Gemini 3 on, the first call of a step without one carries a stand-in.
    """
    wire: dict[str, Any] = {}
    if request.system and not request.system.isspace():
        wire["systemInstruction"] = {"parts": [{"text": request.system}]}
    wire["contents"] = _contents(request, look)
    if request.tools:
        declarations = [
            {
                "name": _name(tool.name),
                "description": tool.description,
                "parametersJsonSchema": dict(tool.parameters),
            }
            for tool in request.tools
        ]
        wire["tools"] = [{"functionDeclarations": declarations}]
    generation = gemini_fields(request.reasoning, request.model.id)
    if request.max_output is not None:
        generation["maxOutputTokens"] = request.max_output
    return wire | {"generationConfig": generation} if generation else wire


def _contents(request: Request, look: Look) -> list[dict[str, Any]]:
    shown = pictures(request, _MEDIA_TYPES, look)
    old = _OLD.search(request.model.id) is not None
    ids = CallIds(USUAL)
    open_ids: deque[str] = deque()
    riders: list[dict[str, Any]] = []
    waiting: list[dict[str, Any]] = []
    contents = Alternation("model", "parts", {})
    for message in request.messages:
        if isinstance(message, ResultMessage):
            part, pixels = _result(message, open_ids.popleft(), shown)
            if pixels and old:
                riders += [{"text": f"[images in the result of {message.name}]"}, *pixels]
            elif pixels:
                part["functionResponse"]["parts"] = pixels
            contents.user([part])
            if riders and not open_ids:
                contents.user(riders)
                riders = []
        elif isinstance(message, AssistantMessage):
            parts = _answer(message, ids, open_ids)
            if parts:
                contents.answer(_with_replayed(parts, waiting, old))
            waiting = []
        elif isinstance(message, UserMessage):
            waiting = []
            contents.user(_user(message, shown))
        elif message.owner == request.model.owner:
            waiting += replay.items(message)
    return contents.closed()


def _answer(message: AssistantMessage, ids: CallIds, open_ids: deque[str]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    if message.text and not message.text.isspace():
        parts.append({"text": message.text})
    for call in message.calls:
        id = ids.take(call.id)
        open_ids.append(id)
        parts.append({"functionCall": {"id": id, "name": _name(call.name), "args": dict(call.arguments)}})
    return parts


def _with_replayed(parts: list[dict[str, Any]], waiting: list[dict[str, Any]], old: bool) -> list[dict[str, Any]]:
    """The parts of an answer behind its own opaque ones, with the signature on the first call, else on the text."""
    signatures = [item["thoughtSignature"] for item in waiting if item.keys() == {"thoughtSignature"}]
    whole = [item for item in waiting if item.keys() != {"thoughtSignature"}]
    call = next((index for index, part in enumerate(parts) if "functionCall" in part), None)
    if signatures:
        index = call or 0
        parts[index] = {**parts[index], "thoughtSignature": signatures[0]}
    elif call is not None and not old:
        parts[call] = {**parts[call], "thoughtSignature": _NO_SIGNATURE}
    return whole + parts


def _result(message: ResultMessage, id: str, shown: Pictures) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    text, images = shown.show(message.text, message.images)
    response = {"output" if message.ok else "error": text or NO_OUTPUT}
    part = {"functionResponse": {"id": id, "name": _name(message.name), "response": response}}
    return part, list(map(_image, images))


def _user(message: UserMessage, shown: Pictures) -> list[dict[str, Any]]:
    text, images = shown.show(message.text, message.images)
    if not text and not images:
        text = EMPTY
    parts = [{"text": text}] if text else []
    return [*parts, *map(_image, images)]


def _image(picture: Picture) -> dict[str, Any]:
    return {"inlineData": {"mimeType": picture.media_type, "data": picture.base64}}


def _name(name: str) -> str:
    """Function names begin with a letter or `_`."""
    legal = tool_name(name)
    return legal if _LETTER_FIRST.match(legal) else "_" + legal[:63]
