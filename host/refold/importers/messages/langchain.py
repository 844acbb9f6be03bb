"""LangChain messages as JSON: `messages_to_dict`, `dumps`, or `model_dump` of each, alone or under `messages`.

Content may be in any provider's blocks. Reasoning and tools that a provider ran itself become replay items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refold.importers.content import read_content
from refold.importers.conversations import Item, importer
from refold.importers.documents import MESSAGES
from refold.importers.lines import as_arguments, as_list, as_map, as_text, as_word
from refold.importers.open_calls import OpenCalls
from refold.importers.steps import Steps, replay
from refold.values.rows import Call, Replay

_KINDS = {"human", "ai", "system", "tool", "function", "chat", "remove"}
_OWN = {"human", "ai"}
_WORDS = {"text", "image", "image_url", "refusal"}


def looks(facts: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> bool:
    """Messages of LangChain's types, plain or as its serializer writes them."""
    return any(_unwrapped(message)[0] in _OWN for message in messages)


def _unwrapped(message: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The type and the fields of a message; the type is empty for anything else."""
    if isinstance(message.get("data"), dict):
        fields = message["data"]
        kind = as_word(message.get("type"))
    elif message.get("lc") and isinstance(message.get("kwargs"), dict):
        fields = message["kwargs"]
        kind = as_word(fields.get("type")) or as_text((as_list(message.get("id")) or [""])[-1])
    else:
        fields, kind = message, as_word(message.get("type")) if "content" in message else ""
    kind = kind.removesuffix("Chunk").removesuffix("Message").lower()
    return (kind, fields) if kind in _KINDS and "content" in fields else ("", fields)


class Reader:
    """The messages of one conversation."""

    def __init__(self, name: str) -> None:
        self._steps = Steps(name)
        self._count = 0
        self._open = OpenCalls()

    def fact(self, key: str, value: Any) -> Iterator[Item]:
        yield from ()

    def message(self, message: Any) -> Iterator[Item]:
        self._count += 1
        kind, fields = _unwrapped(as_map(message))
        role = as_word(fields.get("role")).lower() if kind == "chat" else ""
        if kind == "ai" or role in ("assistant", "ai", "model"):
            yield from self._answer(fields)
            return
        said = read_content(fields.get("content"))
        if kind == "human" or role in ("user", "human"):
            if said.text.strip() or said.images:
                yield from self._steps.user(said.text, said.images)
            else:
                yield f"message {self._count} is empty"
        elif kind in ("tool", "function"):
            id = as_text(fields.get("tool_call_id"))
            self._open.answer(id)
            id = id or self._open.answer_oldest(as_text(fields.get("name")))
            yield from self._steps.result(id, said.text, fields.get("status") != "error", said.images)
        elif kind in ("system", "chat"):
            yield from self._steps.event("notice", said.text)
        elif kind == "remove":
            yield f"message {self._count} only says that an earlier one was removed"
        else:
            yield f"message {self._count} has no known type"
        for part in said.kept:
            yield from self._steps.event("notice", part)

    def close(self) -> Iterator[Item]:
        yield from self._steps.close()

    def _answer(self, fields: Mapping[str, Any]) -> Iterator[Item]:
        model = as_text(as_map(fields.get("response_metadata")).get("model_name"))
        extra = as_map(fields.get("additional_kwargs"))
        calls = {call.id: call for call in map(self._call, _calls(fields, extra))}
        words: list[Any] = []
        replays: list[Replay] = []
        content = fields.get("content")
        for part in content if isinstance(content, list) else [content]:
            block = as_map(part)
            kind = as_word(block.get("type"))
            if kind in ("tool_use", "tool_call", "invalid_tool_call"):
                call = self._call(block)
                calls.setdefault(call.id, call)
            elif not block or kind in _WORDS:
                words.append(part)
            elif kind not in ("function_call", "tool_call_chunk", "input_json_delta"):  # those stand in tool_calls
                replays.append(replay("langchain", model, block))
        for key in ("reasoning_content", "reasoning"):
            if extra.get(key):
                replays.append(replay("langchain", model, {key: extra[key]}))
        said = read_content(words)
        if not (said.text.strip() or calls or said.images or replays):
            yield f"message {self._count} is empty"
        self._open.make(calls.values())
        yield from self._steps.close()
        yield from self._steps.answer(text=said.text, calls=calls.values(), images=said.images, replays=replays)

    def _call(self, fields: Mapping[str, Any]) -> Call:
        function = as_map(fields.get("function")) or fields
        arguments = next((function[key] for key in ("args", "input", "arguments") if key in function), None)
        id = as_text(fields.get("id")) or f"call-{self._count}-{as_text(function.get('name'))}"
        return Call(id, as_text(function.get("name")), as_arguments(arguments))


def _calls(fields: Mapping[str, Any], extra: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The calls of an answer; where LangChain parsed none, those that the provider sent."""
    parsed = [as_map(call) for key in ("tool_calls", "invalid_tool_calls") for call in as_list(fields.get(key))]
    if parsed:
        return parsed
    old = as_map(extra.get("function_call"))
    return [as_map(call) for call in as_list(extra.get("tool_calls"))] + ([old] if old else [])


IMPORTER = importer("langchain", looks, Reader, MESSAGES)
