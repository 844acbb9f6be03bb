"""pydantic-ai message histories (`ModelMessagesTypeAdapter.dump_json`): requests and responses made of parts.

Instructions become a notice where they change. Thinking, and tools that the provider ran itself, become replay items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refold.importers.content import read_content
from refold.importers.conversations import Item, importer
from refold.importers.documents import MESSAGES
from refold.importers.lines import as_arguments, as_list, as_map, as_text, as_time, as_word, json_text
from refold.importers.steps import Steps, replay
from refold.values.rows import Call, Image, Replay
from refold.values.tools import SessionFacts

_KINDS = {"request", "response"}


def looks(facts: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> bool:
    """Requests and responses with parts that name their kind."""
    return any(
        as_word(message.get("kind")) in _KINDS and "part_kind" in as_map(part)
        for message in messages
        for part in as_list(message.get("parts"))
    )


class Reader:
    """The messages of one history."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._steps = Steps(name)
        self._count = 0
        self._instructions = ""

    def fact(self, key: str, value: Any) -> Iterator[Item]:
        yield from ()

    def message(self, message: Any) -> Iterator[Item]:
        self._count += 1
        fields = as_map(message)
        parts = [as_map(part) for part in as_list(fields.get("parts"))]
        if self._count == 1:
            moments = (fields.get("timestamp"), *(part.get("timestamp") for part in parts))
            yield SessionFacts(self._name, created=next(filter(None, map(as_time, moments)), None))
        if fields.get("kind") == "request":
            yield from self._request(parts, as_text(fields.get("instructions")))
        elif fields.get("kind") == "response":
            yield from self._response(parts, as_text(fields.get("model_name")))
        else:
            yield f"message {self._count} is neither a request nor a response"

    def close(self) -> Iterator[Item]:
        yield from self._steps.close()

    def _request(self, parts: Sequence[Mapping[str, Any]], instructions: str) -> Iterator[Item]:
        if instructions and instructions != self._instructions:
            yield from self._steps.event("notice", instructions)
        self._instructions = instructions or self._instructions
        returned = [part for part in parts if _is_result(part)]
        for part in returned:
            ok = part.get("part_kind") == "tool-return" and part.get("outcome") in (None, "success")
            text, images = _returned(part.get("content"))
            yield from self._steps.result(as_text(part.get("tool_call_id")), text, ok, images)
        for part in parts:
            kind = as_word(part.get("part_kind"))
            if kind == "user-prompt":
                said = read_content(part.get("content"))
                yield from self._steps.user(said.text, said.images, opens=not returned)
                for kept in said.kept:
                    yield from self._steps.event("notice", kept)
            elif kind == "system-prompt":
                yield from self._steps.event("notice", as_text(part.get("content")))
            elif kind == "retry-prompt" and not _is_result(part):
                yield from self._steps.user(as_text(part.get("content")), opens=False)
            elif not _is_result(part):
                yield f"message {self._count} has a part of unknown kind {kind[:60]}"

    def _response(self, parts: Sequence[Mapping[str, Any]], model: str) -> Iterator[Item]:
        texts: list[str] = []
        calls: list[Call] = []
        images: list[Image] = []
        replays: list[Replay] = []
        for part in parts:
            kind = part.get("part_kind")
            if kind == "text":
                texts.append(as_text(part.get("content")))
            elif kind == "tool-call":
                name, arguments = as_text(part.get("tool_name")), as_arguments(part.get("args"))
                calls.append(Call(as_text(part.get("tool_call_id")), name, arguments))
            elif kind == "file" and (found := read_content(part.get("content")).images):
                images += found
            else:
                replays.append(replay("pydantic-ai", model, part))
        text = "\n\n".join(text for text in texts if text.strip())
        if not (text or calls or images or replays):
            yield f"message {self._count} is empty"
        yield from self._steps.close()
        yield from self._steps.answer(text=text, calls=calls, images=images, replays=replays)


def _is_result(part: Mapping[str, Any]) -> bool:
    """A tool's return, or what a tool's caller is told to do better."""
    kind = part.get("part_kind")
    return kind == "tool-return" or (kind == "retry-prompt" and bool(part.get("tool_name")))


def _returned(content: Any) -> tuple[str, tuple[Image, ...]]:
    """A tool may return anything; pictures in it are pictures."""
    parts = content if isinstance(content, list) else [content]
    pictures = [part for part in parts if as_map(part).get("kind") in ("binary", "image-url")]
    if not pictures:
        return as_text(content), ()
    said = read_content(pictures)
    rest = [part for part in parts if part not in pictures]
    words = [part if isinstance(part, str) else json_text(part) for part in rest]
    return "\n\n".join([*words, *([said.text] if said.text else [])]), said.images


IMPORTER = importer("pydantic-ai", looks, Reader, MESSAGES)
