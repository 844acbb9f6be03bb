"""Answers of OpenAI Responses.

Encrypted reasoning goes back to the account it came from. It is taken from `output_item.done`, since `added` may hold
a part of it, and only as far as it stands before everything else: a later one would lose its place, which the provider
refuses. Cached tokens are part of `input_tokens`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import Factory, define, field

from refold.providers import decoding
from refold.providers.decoding import CutOff, RefusedInside, Unreadable, count, mapping, objects, prompt_count, text
from refold.providers.exchange import Answer, CallDelta, Delta, ReasoningDelta, Stop, TextDelta, Usage
from refold.providers.sse import Event
from refold.values.json_text import json_bytes
from refold.values.rows import Replay

_FINAL = frozenset({"response.completed", "response.incomplete", "response.failed", "response.done"})
_INCOMPLETE: dict[str, Stop] = {"max_output_tokens": "length", "max_tokens": "length", "content_filter": "refusal"}


@define
class ResponsesDecoder:
    """One streamed answer. `owner` is `Model.owner` of the model that was asked."""

    owner: str
    _items: dict[int, dict[str, Any]] = field(init=False, default=Factory(dict))
    _calls: dict[int, int] = field(init=False, default=Factory(dict))  # output index to the index among calls
    _final: dict[str, Any] | None = field(init=False, default=None)

    def feed(self, event: Event) -> Iterator[Delta]:
        """The pieces of one event."""
        if event.data.strip() == "[DONE]":
            return
        value = decoding.object_of(event.data)
        kind = text(value.get("type")) or event.name
        place = count(value.get("output_index")) or 0
        if kind == "error":
            raise RefusedInside(event.data, text(value.get("code")) or text(mapping(value.get("error")).get("code")))
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            yield TextDelta(text(value.get("delta")))
        elif kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
            yield ReasoningDelta(text(value.get("delta")))
        elif kind == "response.output_item.added":
            item = mapping(value.get("item"))
            if item.get("type") == "function_call":
                index = self._calls[place] = len(self._calls)
                yield CallDelta(index, text(item.get("call_id")), text(item.get("name")), text(item.get("arguments")))
        elif kind == "response.function_call_arguments.delta":
            yield CallDelta(self._calls.get(place, 0), arguments=text(value.get("delta")))
        elif kind == "response.output_item.done":
            self._items[place] = dict(mapping(value.get("item")))
        elif kind in _FINAL:
            self._final = dict(mapping(value.get("response")))
            if kind == "response.failed":
                self._raise_failure(self._final)
        elif not kind:
            decoding.raise_error(value)

    def whole(self, body: Mapping[str, Any]) -> Answer:
        """The answer of a body that was not streamed."""
        decoding.raise_error(body)
        if not isinstance(body.get("output"), list):
            raise Unreadable("an answer without output")
        self._final = dict(body)
        return self.answer()

    def answer(self) -> Answer:
        """The whole answer: the items as they were finished one by one, else those of the last event."""
        if not self._final:
            raise CutOff
        if self._final.get("status") == "failed":
            self._raise_failure(self._final)
        items = objects(self._final.get("output")) or [self._items[place] for place in sorted(self._items)]
        calls = tuple(
            decoding.call(index, text(item.get("call_id")) or text(item.get("id")), text(item.get("name")), arguments)
            for index, (item, arguments) in enumerate(
                (item, item.get("arguments")) for item in items if item.get("type") == "function_call"
            )
        )
        parts = [part for item in items if item.get("type") == "message" for part in objects(item.get("content"))]
        said = decoding.joined(text(part.get("text")) for part in parts if part.get("type") == "output_text")
        refused = decoding.joined(text(part.get("refusal")) for part in parts if part.get("type") == "refusal")
        reason = text(mapping(self._final.get("incomplete_details")).get("reason"))
        status = text(self._final.get("status"))
        stop: Stop = "tool" if calls else "end"
        if status == "incomplete" or reason:
            stop = _INCOMPLETE.get(reason, "other")
        elif refused and not said and not calls:
            stop = "refusal"
        reasoned = any(item.get("type") == "reasoning" for item in items)
        return Answer(
            said or refused,
            calls,
            self._replays(items),
            stop,
            _usage(mapping(self._final.get("usage"))),
            text(self._final.get("model")),
            reason or status,
            reasoned,
        )

    def _replays(self, items: list[Mapping[str, Any]] | list[dict[str, Any]]) -> tuple[Replay, ...]:
        leading: list[Any] = []
        for item in items:
            if item.get("type") != "reasoning":
                break
            if text(item.get("encrypted_content")):
                leading.append(item)
        if not leading or len(leading) == len(items):  # reasoning that nothing followed may not be sent back
            return ()
        return (Replay(self.owner, decoding.replayed(leading)),)

    def _raise_failure(self, response: Mapping[str, Any]) -> None:
        error = mapping(response.get("error"))
        raise RefusedInside(json_bytes({"error": dict(error)}).decode(), text(error.get("code")))


def _usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        prompt_count(usage.get("input_tokens")),
        count(mapping(usage.get("input_tokens_details")).get("cached_tokens")),
        count(usage.get("output_tokens")),
        count(mapping(usage.get("output_tokens_details")).get("reasoning_tokens")),
    )
