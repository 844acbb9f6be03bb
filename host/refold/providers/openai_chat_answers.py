"""Answers of OpenAI Chat Completions and of the servers that speak it, each a little differently.

Reasoning stands outside the protocol's own fields: `reasoning_content` (DeepSeek, Kimi, GLM, Qwen, vLLM, llama.cpp),
`reasoning` (Ollama, Groq, OpenRouter), `reasoning_details` (OpenRouter), `thinking` parts (Mistral). Two of them go
back: `reasoning_details` always, `reasoning_content` with an answer that calls tools, where DeepSeek and Kimi demand it
and where the older models that refuse it never come. Cached tokens are part of `prompt_tokens`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from attrs import Factory, define, field

from refold.providers import decoding
from refold.providers.decoding import CutOff, Unreadable, count, mapping, objects, prompt_count, text
from refold.providers.exchange import Answer, CallDelta, Delta, ReasoningDelta, Stop, TextDelta, Usage
from refold.providers.sse import Event
from refold.values.json_text import json_bytes
from refold.values.rows import Replay

_STOPS: dict[str, Stop] = {
    "stop": "end",
    "eos": "end",
    "end_turn": "end",
    "stop_sequence": "end",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "tool_calls": "tool",
    "function_call": "tool",
    "content_filter": "refusal",
    "sensitive": "refusal",
    "refusal": "refusal",
}


@define
class _Building:
    """A call while its pieces come."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default=Factory(list))


@define
class ChatDecoder:
    """One streamed answer. `owner` is `Model.owner` of the model that was asked."""

    owner: str
    _text: list[str] = field(init=False, default=Factory(list))
    _refusal: list[str] = field(init=False, default=Factory(list))
    _reasoning: list[str] = field(init=False, default=Factory(list))
    _reasoned: bool = field(init=False, default=False)
    _details: list[dict[str, Any]] = field(init=False, default=Factory(list))
    _calls: list[_Building] = field(init=False, default=Factory(list))
    _places: dict[int, int] = field(init=False, default=Factory(dict))  # the server's index to ours
    _stop: str = field(init=False, default="")
    _usage: Usage = field(init=False, default=Usage())
    _model: str = field(init=False, default="")
    _done: bool = field(init=False, default=False)
    _begun: bool = field(init=False, default=False)

    def feed(self, event: Event) -> Iterator[Delta]:
        """The pieces of one chunk."""
        if event.data.strip() == "[DONE]":
            self._done = True
            return
        chunk = decoding.object_of(event.data)
        if event.name == "error" and "error" not in chunk:
            chunk = {"error": chunk}
        _raise_error(chunk)
        self._model = text(chunk.get("model")) or self._model
        self._count(chunk)
        for choice in objects(chunk.get("choices"))[:1]:
            self._stop = text(choice.get("finish_reason")) or self._stop
            # Some servers put the whole message where the piece should be.
            pieces = [choice[key] for key in ("delta", "message") if isinstance(choice.get(key), Mapping)]
            self._begun = self._begun or bool(pieces)
            yield from self._message(next(filter(None, pieces), {}))

    def whole(self, body: Mapping[str, Any]) -> Answer:
        """The answer of a body that was not streamed."""
        _raise_error(body)
        choices = objects(body.get("choices"))
        if not choices:
            raise Unreadable("an answer without choices")
        for _ in self.feed(Event("", json_bytes(dict(body)).decode())):
            pass
        if not self._begun:
            raise Unreadable("an answer without a message")
        self._done = True
        return self.answer()

    def answer(self) -> Answer:
        """The whole answer. A finish reason or `[DONE]` ends it; with neither, or before it began, it was cut off."""
        if not self._begun or not (self._stop or self._done):
            raise CutOff
        calls = tuple(
            decoding.call(index, each.id, each.name, decoding.joined(each.arguments))
            for index, each in enumerate(self._calls)
            if each.name or each.id
        )
        stop = _STOPS.get(self._stop, "other")
        said = decoding.joined(self._text)
        if self._refusal and not said and not calls:
            said, stop = decoding.joined(self._refusal), "refusal"
        if calls and stop in ("end", "other"):
            stop = "tool"  # several servers end an answer with calls as any other
        elif stop == "tool" and not calls:
            stop = "other"
        fields: dict[str, Any] = {}
        if self._reasoning and calls:
            fields["reasoning_content"] = decoding.joined(self._reasoning)
        if self._details:
            fields["reasoning_details"] = self._details
        replays = (Replay(self.owner, decoding.replayed([fields])),) if fields else ()
        return Answer(said, calls, replays, stop, self._usage, self._model, self._stop, self._reasoned)

    def _message(self, message: Mapping[str, Any]) -> Iterator[Delta]:
        reasoning = text(message.get("reasoning_content"))
        if reasoning:
            self._reasoning.append(reasoning)
        details = objects(message.get("reasoning_details"))
        for detail in details:
            self._detail(detail)
        reasoning = reasoning or text(message.get("reasoning"))
        content = message.get("content")
        if isinstance(content, list):
            reasoning += "".join(_thinking(part) for part in objects(content))
            content = "".join(text(part.get("text")) for part in objects(content) if part.get("type") == "text")
        if reasoning or details:
            self._reasoned = True
        if reasoning:
            yield ReasoningDelta(reasoning)
        if text(content):
            self._text.append(text(content))
            yield TextDelta(text(content))
        if refusal := text(message.get("refusal")):
            self._refusal.append(refusal)
        for position, part in enumerate(objects(message.get("tool_calls"))):
            yield self._call(part, position)
        if isinstance(old := message.get("function_call"), Mapping):
            yield self._call({"function": old}, 0)

    def _call(self, part: Mapping[str, Any], position: int) -> CallDelta:
        function = mapping(part.get("function"))
        id, name = text(part.get("id")), text(function.get("name"))
        arguments = function.get("arguments")
        piece = arguments if isinstance(arguments, str) else json_bytes(arguments).decode() if arguments else ""
        given = count(part.get("index"))
        place = self._places.get(position if given is None else given)
        if place is None or self._another(place, id, name):
            place = len(self._calls)
            self._places[position if given is None else given] = place
            self._calls.append(_Building())
        building = self._calls[place]
        building.id, building.name = building.id or id, building.name or name
        building.arguments.append(piece)
        return CallDelta(place, id, name, piece)

    def _another(self, place: int, id: str, name: str) -> bool:
        """Whether a piece begins a new call at an index in use: some servers give every parallel call index 0.

        Others repeat id and name in every piece, so a name alone begins a call only behind complete arguments.
        """
        building = self._calls[place]
        if id and building.id:
            return id != building.id
        return bool(name) and not id and _is_object("".join(building.arguments))

    def _detail(self, detail: Mapping[str, Any]) -> None:
        """Pieces of one detail have the same index and type; their texts are joined, and nothing else is changed."""
        last = self._details[-1] if self._details else None
        same = last is not None and "index" in detail and last.get("index") == detail["index"]
        if last is None or not same or last.get("type") != detail.get("type"):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            joined = key in ("text", "summary", "data") and isinstance(value, str)
            if joined:
                last[key] = text(last.get(key)) + value
            elif value is not None:
                last[key] = value

    def _count(self, chunk: Mapping[str, Any]) -> None:
        usage = mapping(chunk.get("usage")) or mapping(mapping(chunk.get("x_groq")).get("usage"))
        if not usage:
            return
        cached = count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens"))
        self._usage = Usage(
            prompt_count(usage.get("prompt_tokens")),
            count(usage.get("prompt_cache_hit_tokens")) if cached is None else cached,
            count(usage.get("completion_tokens")),
            count(mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        )


def _raise_error(value: Mapping[str, Any]) -> None:
    decoding.raise_error(value)
    base = mapping(value.get("base_resp"))  # MiniMax refuses under status 200
    if base.get("status_code"):
        raise decoding.RefusedInside(json_bytes(dict(value)).decode(), str(base["status_code"]), 400)


def _is_object(text: str) -> bool:
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False


def _thinking(part: Mapping[str, Any]) -> str:
    if part.get("type") != "thinking":
        return ""
    inner = part.get("thinking")
    return text(inner) or "".join(text(each.get("text")) for each in objects(inner))
