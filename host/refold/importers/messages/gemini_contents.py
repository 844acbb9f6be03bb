"""Gemini `contents`: a list of them, or a request `{"contents", "systemInstruction", ...}`.

Calls without ids are answered in their order, by the names of their tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refold.importers.content import read_content
from refold.importers.conversations import Item, importer
from refold.importers.lines import as_map, as_text, as_word
from refold.importers.messages.gemini_parts import Parts, read_parts
from refold.importers.open_calls import OpenCalls
from refold.importers.steps import Steps

_KEYS = ("contents", "history")
_ROLES = {"user", "model", "function", "tool", "system", ""}


def looks(facts: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> bool:
    """Contents with parts, the first of them in a role of this API."""
    first = next((each for each in messages if isinstance(each.get("parts"), (list, str, dict))), None)
    return first is not None and as_word(first.get("role")) in _ROLES and not ("kind" in first or "content" in first)


class Reader:
    """The contents of one conversation."""

    def __init__(self, name: str) -> None:
        self._steps = Steps(name)
        self._model = ""
        self._count = 0
        self._open = OpenCalls()

    def fact(self, key: str, value: Any) -> Iterator[Item]:
        if key in ("model", "modelVersion", "model_version"):
            self._model = as_text(value)
        elif key in ("systemInstruction", "system_instruction") and value:
            parts = as_map(value).get("parts", value)
            yield from self._steps.event("notice", read_content(parts).text)

    def message(self, message: Any) -> Iterator[Item]:
        self._count += 1
        content = as_map(message)
        parts = read_parts(content.get("parts"), self._model, f"call-{self._count}")
        role = as_word(content.get("role"))
        if role == "model":
            if not (parts.text.strip() or parts.calls or parts.images or parts.replays):
                yield f"content {self._count} is empty"
            yield from self._answer(parts)
        elif role == "system":
            yield from self._steps.event("notice", parts.text)
        elif role in _ROLES and "parts" in content:
            yield from self._user(parts)
        else:
            yield f"content {self._count} has no known role, or no parts"
        for part in parts.kept:
            yield from self._steps.event("notice", part)

    def close(self) -> Iterator[Item]:
        yield from self._steps.close()

    def _answer(self, parts: Parts) -> Iterator[Item]:
        yield from self._steps.close()
        self._open.make(parts.calls)
        yield from self._steps.answer(text=parts.text, calls=parts.calls, images=parts.images, replays=parts.replays)

    def _user(self, parts: Parts) -> Iterator[Item]:
        for result in parts.results:
            id = result.call_id if result.call_id in self._open else ""
            self._open.answer(id)
            id = id or self._open.answer_oldest(result.name) or result.call_id
            yield from self._steps.result(id, result.text, result.ok, result.images)
        for item in parts.replays:
            yield from self._steps.event("notice", item.payload)
        if parts.text.strip() or (parts.images and not parts.results):
            yield from self._steps.user(parts.text, tuple(parts.images), opens=not parts.results)
        elif not (parts.results or parts.replays):
            yield f"content {self._count} is empty"


IMPORTER = importer("gemini-contents", looks, Reader, _KEYS)
