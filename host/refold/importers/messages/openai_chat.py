"""OpenAI chat messages JSON, and its relatives.

`system` and `developer` messages become notices. Relatives name the call of a result in other ways (`call_id`, `id`,
`tool_call_ids`), or not at all: then results answer the calls in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refold.importers.content import Content, read_content
from refold.importers.conversations import Item, importer
from refold.importers.documents import MESSAGES
from refold.importers.lines import as_arguments, as_list, as_map, as_text, as_word
from refold.importers.messages import anthropic_blocks, anthropic_messages
from refold.importers.open_calls import OpenCalls
from refold.importers.steps import Steps, replay
from refold.values.rows import Call, Image, Replay, Row

_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
_CALL_KEYS = ("tool_call_id", "call_id", "tool_use_id", "id")
_FOREIGN = {"tool_use", "tool_result"}
TOGETHER = "[answered together with the call before]"


def looks(facts: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> bool:
    """A first message with a role of this format."""
    if not messages or as_word(messages[0].get("role")) not in _ROLES:
        return False
    return "content" in messages[0] or "tool_calls" in messages[0]


class Reader:
    """The messages of one conversation."""

    def __init__(self, name: str) -> None:
        self._steps = Steps(name)
        self._model = ""
        self._count = 0
        self._open = OpenCalls()

    def fact(self, key: str, value: Any) -> Iterator[Item]:
        if key == "model":
            self._model = as_text(value)
        yield from ()

    def message(self, message: Any) -> Iterator[Item]:
        self._count += 1
        fields = as_map(message)
        role = as_word(fields.get("role"))
        if role in ("user", "assistant") and _is_anthropic(fields.get("content")):
            yield from self._foreign(role, fields)
            return
        said = read_content(fields.get("content"))
        if role not in _ROLES:
            yield f"message {self._count} has no known role"
        elif role in ("system", "developer"):
            yield from self._steps.event("notice", said.text)
        elif role == "user":
            if said.text.strip() or said.images:
                yield from self._steps.user(said.text, said.images)
            else:
                yield f"message {self._count} is empty"
        elif role == "assistant":
            yield from self._assistant(fields, said)
        else:
            yield from self._result(fields, said)
        for part in said.kept:
            yield from self._steps.event("notice", part)

    def close(self) -> Iterator[Item]:
        yield from self._steps.close()

    def _assistant(self, message: Mapping[str, Any], said: Content) -> Iterator[Item]:
        replays: list[Replay] = [
            replay("openai", self._model, {key: message[key]})
            for key in ("reasoning_content", "reasoning", "reasoning_details")
            if message.get(key)
        ]
        yield from self._steps.close()
        text = said.text or as_text(message.get("refusal"))
        calls = self._calls(message)
        if not (text.strip() or calls or said.images or replays):
            yield f"message {self._count} is empty"
        yield from self._answer(text, calls, said.images, replays)

    def _answer(
        self, text: str, calls: Sequence[Call], images: Sequence[Image], replays: Sequence[Replay]
    ) -> Iterator[Row]:
        self._open.make(calls)
        yield from self._steps.answer(text=text, calls=calls, images=images, replays=replays)

    def _calls(self, message: Mapping[str, Any]) -> list[Call]:
        calls = []
        old = as_map(message.get("function_call"))
        for place, part in enumerate(map(as_map, as_list(message.get("tool_calls"))), 1):
            function = as_map(part.get("function") or part.get("custom")) or part
            arguments = function.get("arguments", function.get("input"))
            id = as_text(part.get("id") or part.get("call_id")) or f"call-{self._count}-{place}"
            calls.append(Call(id, as_text(function.get("name")), as_arguments(arguments)))
        if old:
            calls.append(Call(f"call-{self._count}", as_text(old.get("name")), as_arguments(old.get("arguments"))))
        return calls

    def _result(self, message: Mapping[str, Any], said: Content) -> Iterator[Row]:
        answered = self._answered(message)
        for id in answered:
            self._open.answer(id)
        yield from self._steps.result(answered[0] if answered else "", said.text, images=said.images)
        for id in answered[1:]:
            yield from self._steps.result(id, TOGETHER)

    def _answered(self, message: Mapping[str, Any]) -> list[str]:
        """The calls that a result answers: by an id that is an open call's, else the oldest open one of its tool.

        An id under the format's own key stands as it is, even if nothing was called under it.
        """
        several = [as_text(id) for id in as_list(message.get("tool_call_ids")) if id]
        if several:
            return several
        named = [as_text(message.get(key)) for key in _CALL_KEYS if message.get(key)]
        for id in named:
            if id in self._open:
                return [id]
        if message.get("tool_call_id"):
            return named[:1]
        found = self._open.answer_oldest(as_text(message.get("name")))
        return [found] if found else []

    def _foreign(self, role: str, message: Mapping[str, Any]) -> Iterator[Item]:
        """A message with Anthropic's blocks, as programs write them that speak to several providers."""
        if role == "assistant":
            said = anthropic_blocks.read_assistant(message.get("content"), self._model)
            yield from self._steps.close()
            yield from self._answer(said.text, [*said.calls, *self._calls(message)], (), said.replays)
        else:
            yield from anthropic_messages.user(self._steps, anthropic_blocks.read_user(message.get("content")))


def _is_anthropic(content: Any) -> bool:
    return isinstance(content, list) and any(as_word(as_map(part).get("type")) in _FOREIGN for part in content)


IMPORTER = importer("openai-chat", looks, Reader, (*MESSAGES, "conversations", "conversation"))
