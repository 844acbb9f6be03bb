"""OpenAI chat messages JSON: a list of messages, or `{"messages": [...]}`.

`system` and `developer` messages become notices. A file of this format has no name for its session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from attrs import define

from refold.importers.documents import first_message, members
from refold.importers.lines import Unreadable, as_arguments, as_list, as_map, as_text, as_word, json_text
from refold.importers.steps import Steps, picture_from_url, replay
from refold.values.rows import Call, Image, Replay, Row
from refold.values.tools import Importer

_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}


def detect(head: bytes) -> bool:
    """A JSON document whose first whole message has a role of this format."""
    _, messages = first_message(head)
    if not messages:
        return False
    return as_word(messages[0].get("role")) in _ROLES and ("content" in messages[0] or "tool_calls" in messages[0])


def rows(stream: BinaryIO) -> Iterator[Row | str]:
    """The rows of the document, or why an item was skipped."""
    reader = _Reader()
    for key, value in members(stream):
        if isinstance(value, Unreadable):
            yield value.reason
        elif key == "model":
            reader.model = as_text(value)
        elif key == "messages":
            yield from reader.message(as_map(value))
    yield from reader.steps.close()


@define
class _Said:
    text: str
    images: tuple[Image, ...]
    kept: tuple[str, ...]


class _Reader:
    def __init__(self) -> None:
        self.steps = Steps("")
        self.model = ""
        self._count = 0
        self._waiting: dict[str, list[str]] = {}  # calls by the old `function_call`, which has a name and no id

    def message(self, message: Mapping[str, Any]) -> Iterator[Row | str]:
        self._count += 1
        role, said = as_word(message.get("role")), _content(message.get("content"))
        if role not in _ROLES:
            yield f"message {self._count} has no known role"
        elif role in ("system", "developer"):
            yield from self.steps.event("notice", said.text)
        elif role == "user":
            if said.text.strip() or said.images:
                yield from self.steps.user(said.text, said.images)
            else:
                yield f"message {self._count} is empty"
        elif role == "assistant":
            yield from self._assistant(message, said)
        else:
            yield from self.steps.result(self._answers(message), said.text, images=said.images)
        for part in said.kept:
            yield from self.steps.event("notice", part)

    def _assistant(self, message: Mapping[str, Any], said: _Said) -> Iterator[Row | str]:
        replays: list[Replay] = [
            replay("openai", self.model, {key: message[key]})
            for key in ("reasoning_content", "reasoning", "reasoning_details")
            if message.get(key)
        ]
        yield from self.steps.close()
        text = said.text or as_text(message.get("refusal"))
        calls = self._calls(message)
        if not (text.strip() or calls or said.images or replays):
            yield f"message {self._count} is empty"
        yield from self.steps.answer(text=text, calls=calls, images=said.images, replays=replays)

    def _calls(self, message: Mapping[str, Any]) -> list[Call]:
        calls = []
        for part in map(as_map, as_list(message.get("tool_calls"))):
            function = as_map(part.get("function") or part.get("custom"))
            arguments = function.get("arguments", function.get("input"))
            calls.append(Call(as_text(part.get("id")), as_text(function.get("name")), as_arguments(arguments)))
        old = as_map(message.get("function_call"))
        if old:
            call = Call(f"call-{self._count}", as_text(old.get("name")), as_arguments(old.get("arguments")))
            self._waiting.setdefault(call.name, []).append(call.id)
            calls.append(call)
        return calls

    def _answers(self, message: Mapping[str, Any]) -> str:
        """The id of the call that a result answers; the old form names the function only."""
        if message.get("role") == "tool":
            return as_text(message.get("tool_call_id"))
        waiting = self._waiting.get(as_text(message.get("name")))
        return waiting.pop(0) if waiting else ""


def _content(content: Any) -> _Said:
    texts: list[str] = []
    images: list[Image] = []
    kept: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        if not isinstance(part, dict):
            texts.append(as_text(part))
            continue
        kind, url = part.get("type"), as_text(as_map(part.get("image_url")).get("url") or part.get("image_url"))
        image = picture_from_url(url) if kind == "image_url" else None
        if kind in ("text", "refusal"):
            texts.append(as_text(part.get(kind)))
        elif image is not None:
            images.append(image)
        elif kind == "image_url" and not url.startswith("data:"):
            texts.append(f"[image: {url}]")
        else:
            texts.append(f"[{as_text(kind) or 'item'}: kept in the transcript, not shown]")
            kept.append(json_text(part))
    return _Said("\n\n".join(texts), tuple(images), tuple(kept))


IMPORTER = Importer(format="openai-chat", detect=detect, rows=rows)
