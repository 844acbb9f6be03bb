"""Answers of Google Gemini. Every event of a stream is a whole response with the next parts.

The signature of the first call, else of the text, goes back with the part it belongs to. Cached tokens are part of
`promptTokenCount`; thoughts are not part of `candidatesTokenCount` and are added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import Factory, define, field

from refold.providers import decoding
from refold.providers.decoding import CutOff, Unreadable, count, mapping, objects, prompt_count, text, total
from refold.providers.exchange import Answer, CallDelta, Delta, ReasoningDelta, Stop, TextDelta, Usage
from refold.providers.sse import Event
from refold.values.json_text import json_bytes
from refold.values.rows import Call, Replay

_STOPS: dict[str, Stop] = {"STOP": "end", "MAX_TOKENS": "length"}
_REFUSALS = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY", "OTHER"}
)


@define
class GeminiDecoder:
    """One streamed answer. `owner` is `Model.owner` of the model that was asked."""

    owner: str
    _text: list[str] = field(init=False, default=Factory(list))
    _calls: list[Call] = field(init=False, default=Factory(list))
    _call_signature: str = field(init=False, default="")
    _text_signature: str = field(init=False, default="")
    _reasoned: bool = field(init=False, default=False)
    _stop: str = field(init=False, default="")
    _usage: Usage = field(init=False, default=Usage())
    _model: str = field(init=False, default="")
    _blocked: str = field(init=False, default="")

    def feed(self, event: Event) -> Iterator[Delta]:
        """The pieces of one response."""
        value = decoding.object_of(event.data)
        decoding.raise_error(value)
        self._model = text(value.get("modelVersion")) or self._model
        self._blocked = text(mapping(value.get("promptFeedback")).get("blockReason")) or self._blocked
        if usage := mapping(value.get("usageMetadata")):
            thoughts = count(usage.get("thoughtsTokenCount"))
            self._usage = Usage(
                prompt_count(usage.get("promptTokenCount")),
                count(usage.get("cachedContentTokenCount")),
                total(count(usage.get("candidatesTokenCount")), thoughts),
                thoughts,
            )
        for candidate in objects(value.get("candidates"))[:1]:
            self._stop = text(candidate.get("finishReason")) or self._stop
            for part in objects(mapping(candidate.get("content")).get("parts")):
                yield from self._part(part)

    def whole(self, body: Mapping[str, Any]) -> Answer:
        """The answer of a body that was not streamed."""
        decoding.raise_error(body)
        if not objects(body.get("candidates")) and not mapping(body.get("promptFeedback")):
            raise Unreadable("an answer without candidates")
        for _ in self.feed(Event("", json_bytes(dict(body)).decode())):
            pass
        self._stop = self._stop or "STOP"
        return self.answer()

    def answer(self) -> Answer:
        """The whole answer. A finish reason ends it, or the prompt was blocked; with neither it was cut off."""
        if not self._stop and not self._blocked:
            raise CutOff
        stop = _STOPS.get(self._stop, "refusal" if self._blocked or self._stop in _REFUSALS else "other")
        if self._calls and stop == "end":
            stop = "tool"
        signature = self._call_signature or ("" if self._calls else self._text_signature)
        followed = self._calls or decoding.joined(self._text).strip()
        replay = Replay(self.owner, decoding.replayed([{"thoughtSignature": signature}]))
        return Answer(
            decoding.joined(self._text),
            tuple(self._calls),
            (replay,) if signature and followed else (),
            stop,
            self._usage,
            self._model,
            self._stop or self._blocked,
            self._reasoned or bool(self._usage.reasoning_tokens),
        )

    def _part(self, part: Mapping[str, Any]) -> Iterator[Delta]:
        signature = text(part.get("thoughtSignature"))
        said = text(part.get("text"))
        function = part.get("functionCall")
        if part.get("thought") is True:
            self._reasoned = True
            if said:
                yield ReasoningDelta(said)
        elif isinstance(function, Mapping):
            index = len(self._calls)
            made = decoding.call(index, text(function.get("id")), text(function.get("name")), function.get("args"))
            self._calls.append(made)
            if index == 0:
                self._call_signature = signature
            yield CallDelta(index, made.id, made.name, json_bytes(dict(made.arguments)).decode())
        else:
            self._text_signature = signature or self._text_signature
            if said:
                self._text.append(said)
                yield TextDelta(said)
