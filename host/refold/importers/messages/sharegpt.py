"""ShareGPT conversations: `{"conversations": [{"from": "human", "value": "..."}]}`, one or many in a file.

Calls stand in messages of their own (`function_call`), or in tags in the text of an answer (`<tool_call>`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refold.importers.conversations import Item, importer
from refold.importers.lines import Unreadable, as_arguments, as_map, as_text, as_word, parse
from refold.importers.open_calls import OpenCalls
from refold.importers.steps import Steps
from refold.values.rows import Call

_KEYS = ("conversations", "conversation", "data")
_USER = {"human", "user"}
_ANSWER = {"gpt", "chatgpt", "assistant", "bing", "bard", "model"}
_RESULT = {"tool", "observation", "function_response", "function"}
_ALL = _USER | _ANSWER | _RESULT | {"system", "function_call"}
_TAGGED = re.compile(r"<tool_call>((?:[^<]++|<(?!/?tool_call>))*+)</tool_call>")
_RESPONSE = re.compile(r"\s*<tool_response>(.*)</tool_response>\s*", re.DOTALL)


def looks(facts: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> bool:
    """Messages that say from whom they are, with a value."""
    return any(as_word(message.get("from")).lower() in _ALL and "value" in message for message in messages)


class Reader:
    """The messages of one conversation."""

    def __init__(self, name: str) -> None:
        self._steps = Steps(name)
        self._count = 0
        self._open = OpenCalls()

    def fact(self, key: str, value: Any) -> Iterator[Item]:
        if key in ("system", "system_prompt") and as_text(value).strip():
            yield from self._steps.event("notice", as_text(value))

    def message(self, message: Any) -> Iterator[Item]:
        self._count += 1
        fields = as_map(message)
        sender, text = as_word(fields.get("from")).lower(), as_text(fields.get("value"))
        if sender not in _ALL:
            yield f"message {self._count} is from nobody that is known"
        elif not text.strip():
            yield f"message {self._count} is empty"
        elif sender in _USER:
            yield from self._steps.user(text)
        elif sender in _ANSWER:
            yield from self._answer(text, [])
        elif sender == "function_call":
            yield from self._answer("", [text])
        elif sender in _RESULT:
            inside = _RESPONSE.fullmatch(text)
            yield from self._steps.result(self._open.answer_oldest(), inside[1].strip() if inside else text)
        else:
            yield from self._steps.event("notice", text)

    def close(self) -> Iterator[Item]:
        yield from self._steps.close()

    def _answer(self, text: str, written: list[str]) -> Iterator[Item]:
        words = _TAGGED.sub("", text).strip()
        calls: list[Call] = []
        for each in [*written, *_TAGGED.findall(text)]:
            value = parse(each.strip().encode("utf-8", "surrogatepass"))
            for one in value if isinstance(value, list) else [value]:
                call = as_map(one)
                arguments = {"input": each} if isinstance(one, Unreadable) else as_arguments(call.get("arguments"))
                calls.append(Call(f"call-{self._count}-{len(calls) + 1}", as_text(call.get("name")), arguments))
        self._open.make(calls)
        yield from self._steps.close()
        yield from self._steps.answer(text=words, calls=calls)


IMPORTER = importer("sharegpt", looks, Reader, _KEYS)
