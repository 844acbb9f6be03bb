"""Items of OpenAI's Responses API: a list of them, a request (`input`), a response (`output`), or both in one object.

Reasoning, and tools that the provider ran itself, become replay items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refold.importers.conversations import Item, importer
from refold.importers.lines import as_map, as_text, as_time, as_word
from refold.importers.messages import responses_items as items
from refold.importers.steps import Steps, replay
from refold.values.tools import SessionFacts

_KEYS = ("input", "output", "items")
_OWN = items.CALLS | items.RESULTS | items.OPAQUE
_ROLES = {"user", "assistant", "system", "developer"}


def looks(facts: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> bool:
    """Items with types of this API, or a response object."""
    if facts.get("object") == "response":
        return True
    return any(
        as_word(item.get("type")) in _OWN or (item.get("type") == "message" and as_word(item.get("role")) in _ROLES)
        for item in messages
    )


class Reader:
    """The items of one conversation."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._steps = Steps(name)
        self._model = ""
        self._count = 0

    def fact(self, key: str, value: Any) -> Iterator[Item]:
        if key == "model":
            self._model = as_text(value)
        elif key == "created_at":
            yield SessionFacts(self._name, created=as_time(value))
        elif key == "instructions" and value:
            yield from self._steps.event("notice", items.words(value).text)

    def message(self, message: Any) -> Iterator[Item]:
        self._count += 1
        item = {"role": "user", "content": message} if isinstance(message, str) else as_map(message)
        kind = as_word(item.get("type")) or ("message" if "role" in item else "")
        if kind == "message":
            yield from self._message(item)
        elif kind in items.CALLS:
            yield from self._steps.answer(calls=[items.call_of(item)])
        elif kind in items.RESULTS:
            said, ok = items.output_of(item)
            yield from self._steps.result(items.call_id_of(item), said.text, ok, said.images)
        elif kind in items.OPAQUE:
            yield from self._steps.answer(replays=[replay("openai", self._model, item)])
        elif kind == "item_reference":
            yield f"item {self._count} refers to an item that is not in the file"
        else:
            yield f"item {self._count} is of unknown type {kind[:60]}" if kind else f"item {self._count} is no item"

    def close(self) -> Iterator[Item]:
        yield from self._steps.close()

    def _message(self, item: Mapping[str, Any]) -> Iterator[Item]:
        role, said = item.get("role"), items.words(item.get("content"))
        if role == "assistant":
            yield from self._steps.answer(text=said.text, images=said.images)
        elif role == "user" and (said.text.strip() or said.images):
            yield from self._steps.user(said.text, said.images)
        elif role in ("system", "developer"):
            yield from self._steps.event("notice", said.text)
        else:
            yield f"item {self._count} is empty, or has no known role"


IMPORTER = importer("openai-responses", looks, Reader, _KEYS)
