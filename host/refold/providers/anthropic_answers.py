"""Answers of Anthropic Messages.

Thinking goes back unchanged to the model it came from, if all of it stands before the rest of the answer: between text
and calls it would change places, which the provider refuses, while an answer without any of it is always accepted.

`input_tokens` counts only what no cache held; the whole prompt is the sum with both cache figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import Factory, define, field

from refold.providers import decoding
from refold.providers.decoding import CutOff, RefusedInside, Unreadable, count, mapping, objects, text, total
from refold.providers.exchange import Answer, CallDelta, Delta, ReasoningDelta, Stop, TextDelta, Usage
from refold.providers.sse import Event
from refold.values.json_text import json_bytes
from refold.values.rows import Replay

_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool",
    "refusal": "refusal",
}
_THINKING = frozenset({"thinking", "redacted_thinking"})


@define
class AnthropicDecoder:
    """One streamed answer. `owner` is `Model.owner` of the model that was asked."""

    owner: str
    _blocks: dict[int, dict[str, Any]] = field(init=False, default=Factory(dict))
    _pieces: dict[tuple[int, str], list[str]] = field(init=False, default=Factory(dict))
    _calls: dict[int, int] = field(init=False, default=Factory(dict))  # block index to the index among calls
    _usage: dict[str, Any] = field(init=False, default=Factory(dict))
    _stop: str = field(init=False, default="")
    _model: str = field(init=False, default="")

    def feed(self, event: Event) -> Iterator[Delta]:
        """The pieces of one event."""
        value = decoding.object_of(event.data)
        kind = text(value.get("type")) or event.name
        place = count(value.get("index")) or 0
        if kind == "error" or "error" in value:
            error = value.get("error")
            raise RefusedInside(event.data, text(mapping(error).get("type")))
        if kind == "message_start":
            message = mapping(value.get("message"))
            self._model = text(message.get("model"))
            self._usage |= mapping(message.get("usage"))
        elif kind == "content_block_start":
            yield from self._open(place, dict(mapping(value.get("content_block"))))
        elif kind == "content_block_delta":
            yield from self._piece(place, mapping(value.get("delta")))
        elif kind == "message_delta":
            self._stop = text(mapping(value.get("delta")).get("stop_reason")) or self._stop
            self._usage |= {key: each for key, each in mapping(value.get("usage")).items() if each is not None}

    def whole(self, body: Mapping[str, Any]) -> Answer:
        """The answer of a body that was not streamed."""
        if "error" in body:
            raise RefusedInside(json_bytes(dict(body)).decode(), text(mapping(body["error"]).get("type")))
        if not isinstance(body.get("content"), list):
            raise Unreadable("an answer without content")
        self._blocks = {place: dict(block) for place, block in enumerate(objects(body["content"]))}
        self._usage = dict(mapping(body.get("usage")))
        self._stop, self._model = text(body.get("stop_reason")) or "end_turn", text(body.get("model"))
        return self.answer()

    def answer(self) -> Answer:
        """The whole answer. Its stop reason ends it; without one it was cut off."""
        if not self._stop:
            raise CutOff
        blocks = [self._closed(place) for place in sorted(self._blocks)]
        used = [block for block in blocks if block.get("type") == "tool_use"]
        calls = tuple(
            decoding.call(index, text(block.get("id")), text(block.get("name")), block.get("input"))
            for index, block in enumerate(used)
        )
        said = decoding.joined(text(block.get("text")) for block in blocks if block.get("type") == "text")
        stop = _STOPS.get(self._stop, "other")
        if calls and stop in ("end", "other"):
            stop = "tool"
        thinking = [block for block in blocks if block.get("type") in _THINKING]
        return Answer(
            said, calls, self._replays(blocks, thinking), stop, self._counted(), self._model, self._stop, bool(thinking)
        )

    def _open(self, place: int, block: dict[str, Any]) -> Iterator[Delta]:
        self._blocks[place] = block
        kind = block.get("type")
        if kind == "tool_use":
            index = self._calls[place] = len(self._calls)
            yield CallDelta(index, text(block.get("id")), text(block.get("name")))
        elif kind == "text" and text(block.get("text")):
            yield TextDelta(text(block["text"]))

    def _piece(self, place: int, delta: Mapping[str, Any]) -> Iterator[Delta]:
        match delta.get("type"):
            case "text_delta":
                self._add(place, "text", piece := text(delta.get("text")))
                yield TextDelta(piece)
            case "input_json_delta":
                self._add(place, "input", piece := text(delta.get("partial_json")))
                yield CallDelta(self._calls.get(place, 0), arguments=piece)
            case "thinking_delta":
                self._add(place, "thinking", piece := text(delta.get("thinking")))
                yield ReasoningDelta(piece)
            case "signature_delta":
                self._add(place, "signature", text(delta.get("signature")))

    def _add(self, place: int, key: str, piece: str) -> None:
        self._pieces.setdefault((place, key), []).append(piece)

    def _closed(self, place: int) -> dict[str, Any]:
        block = dict(self._blocks[place])
        for (at, key), pieces in self._pieces.items():
            if at == place:
                said = decoding.joined(pieces)
                block[key] = said if key == "input" else text(block.get(key)) + said
        return block

    def _replays(self, blocks: list[dict[str, Any]], thinking: list[dict[str, Any]]) -> tuple[Replay, ...]:
        leads = all(block.get("type") in _THINKING for block in blocks[: len(thinking)])
        sealed = all(text(block.get("signature")) or text(block.get("data")) for block in thinking)
        if not thinking or not leads or not sealed or len(thinking) == len(blocks):
            return ()
        return (Replay(self.owner, decoding.replayed(thinking)),)

    def _counted(self) -> Usage:
        usage = self._usage
        read = count(usage.get("cache_read_input_tokens"))
        prompt = total(count(usage.get("input_tokens")), count(usage.get("cache_creation_input_tokens")), read)
        thought = count(mapping(usage.get("output_tokens_details")).get("thinking_tokens"))
        return Usage(prompt or None, read, count(usage.get("output_tokens")), thought)
