"""Gemini CLI session files: one JSON record a line, or one object `{sessionId, ..., messages}` in older ones.

A later record with the id of an earlier one replaces it, so a first pass finds the last word on each. `$rewindTo`
drops messages: they become a child session. `$set` with messages replaces the history after a compression: what it
brings that the file did not say before becomes notices, and the rows stay. Facts of the session are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from refold.importers.documents import members
from refold.importers.lines import (
    Unreadable,
    as_arguments,
    as_list,
    as_map,
    as_name,
    as_text,
    as_time,
    json_text,
    records,
)
from refold.importers.outline import beginning
from refold.importers.steps import Steps, picture, replay
from refold.values.rows import Call, Image, Row
from refold.values.tools import Importer, SessionFacts

_DAMAGED = 3
"""Lines at the beginning that may be unreadable in a file of records."""
_PLACES = {"sessionId", "projectHash"}


def detect(head: bytes) -> bool:
    """A first record, or an object, with Gemini CLI's facts."""
    return any(each.keys() >= _PLACES for each in beginning(head).records)


def rows(stream: BinaryIO) -> Iterator[Row | SessionFacts | str]:
    """The rows of the file, or why a line was skipped."""
    survey = _Survey(stream)
    stream.seek(0)
    reader = _Reader(survey)
    if survey.is_document:
        for key, value in members(stream):
            if key == "sessionId":
                reader.main.session = reader.main.session or as_name(value)
            elif key == "startTime":
                yield SessionFacts(reader.main.session, created=as_time(value))
            elif isinstance(value, Unreadable):
                yield value.reason
            elif key == "messages":
                yield from reader.message(as_map(value), reader.main)
    else:
        for number, record in enumerate(records(stream)):
            yield from reader.record(number, record)
    yield from reader.close()


class _Survey:
    """The last record of each message, and the messages that a rewind dropped, by the record that did."""

    def __init__(self, stream: BinaryIO) -> None:
        self.last: dict[str, int] = {}
        self.dropped: dict[str, str] = {}
        """The ids of dropped messages, to the id at which their branch began."""
        order: dict[str, None] = {}
        readable = False
        for number, record in enumerate(records(stream)):
            if isinstance(record, Unreadable) and not readable and number < _DAMAGED:
                continue
            fields = as_map(record)
            if not readable and ("messages" in fields or not fields):
                break
            readable = True
            name, back = fields.get("id"), fields.get("$rewindTo")
            if isinstance(back, str) and back in order:
                while back in order:
                    self.dropped[order.popitem()[0]] = back
            elif isinstance(name, str) and "type" in fields:
                # A message that comes again after a rewind is part of the conversation again.
                if name not in order:
                    self.dropped.pop(name, None)
                order[name] = None
                self.last[name] = number
        self.is_document = not readable
        """One object over many lines, or one with everything in it."""


class _Reader:
    def __init__(self, survey: _Survey) -> None:
        self.main = Steps("")
        self._survey = survey
        self._branches: dict[str, Steps] = {}
        self._count = 0

    def close(self) -> Iterator[Row]:
        for steps in (self.main, *self._branches.values()):
            yield from steps.close()

    def record(self, number: int, record: Any) -> Iterator[Row | SessionFacts | str]:
        """One line of the newer format."""
        if isinstance(record, Unreadable):
            yield record.reason
            return
        fields = as_map(record)
        if "sessionId" in fields and "type" not in fields:
            self.main.session = self.main.session or as_name(fields.get("sessionId"))
            yield SessionFacts(self.main.session, created=as_time(fields.get("startTime")))
        elif "$set" in fields:
            yield from self._checkpoint(as_list(as_map(fields["$set"]).get("messages")))
        elif "$rewindTo" not in fields:
            name = fields.get("id")
            if not isinstance(name, str) or self._survey.last.get(name, number) == number:
                branch = self._survey.dropped.get(name) if isinstance(name, str) else None
                steps = self.main
                if branch is not None:
                    if branch not in self._branches:
                        self._branches[branch] = Steps(f"{self.main.session}/branch-{as_name(branch)}")
                        began = as_time(fields.get("timestamp"))
                        yield SessionFacts(self._branches[branch].session, parent=self.main.session, created=began)
                        yield from self.main.event("excursion", self._branches[branch].session)
                    steps = self._branches[branch]
                yield from self.message(fields, steps)

    def _checkpoint(self, messages: list[Any]) -> Iterator[Row]:
        for message in map(as_map, messages):
            name = message.get("id")
            if not (isinstance(name, str) and name in self._survey.last):
                text = _words(message.get("content"))[0]
                if text.strip():
                    yield from self.main.event("notice", text)

    def message(self, message: Mapping[str, Any], steps: Steps) -> Iterator[Row | str]:
        """One message of either format."""
        self._count += 1
        kind = message.get("type")
        text, images = _words(message.get("content"))
        if kind == "user":
            if text.strip() or images:
                yield from steps.user(text, images)
            else:
                yield "a prompt without content"
        elif kind in ("gemini", "qwen"):
            yield from self._answer(message, steps, text, images)
        elif kind in ("info", "error", "warning"):
            yield from steps.event("notice", text)
        else:
            yield f"unknown message type {as_text(kind)[:60]}" if kind else "not a message of a session"

    def _answer(
        self, message: Mapping[str, Any], steps: Steps, text: str, images: tuple[Image, ...]
    ) -> Iterator[Row | str]:
        made = list(map(as_map, as_list(message.get("toolCalls"))))
        calls = [
            Call(self._call_id(call, place), as_text(call.get("name")), as_arguments(call.get("args")))
            for place, call in enumerate(made)
        ]
        thoughts = [
            replay("gemini", as_text(message.get("model")), {"thoughts": [thought]})
            for thought in as_list(message.get("thoughts"))
        ]
        if not (text.strip() or images or calls or thoughts):
            yield "an answer without content"
        yield from steps.close()
        yield from steps.answer(text=text, calls=calls, images=images, replays=thoughts)
        for place, call in enumerate(made):
            if call.get("result") is not None:
                said, pictures = _words(call["result"])
                ok = call.get("status") not in ("error", "cancelled")
                yield from steps.result(self._call_id(call, place), said, ok, pictures)

    def _call_id(self, call: Mapping[str, Any], place: int) -> str:
        return as_text(call.get("id")) or f"call-{self._count}-{place + 1}"


def _words(content: Any) -> tuple[str, tuple[Image, ...]]:
    texts: list[str] = []
    images: list[Image] = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            texts.append(part)
            continue
        fields = as_map(part)
        data, response = as_map(fields.get("inlineData")), as_map(fields.get("functionResponse"))
        if isinstance(fields.get("text"), str):
            texts.append(fields["text"])
        elif isinstance(data.get("data"), str) and as_text(data.get("mimeType")).startswith("image/"):
            images.append(picture(data["mimeType"], data["data"]))
        elif response:
            answer = as_map(response.get("response"))
            said = next((answer[key] for key in ("output", "error") if isinstance(answer.get(key), str)), None)
            texts.append(json_text(response.get("response")) if said is None else said)
        elif part is not None:
            texts.append(json_text(part))
    return "".join(texts), tuple(images)


IMPORTER = Importer(format="gemini-cli", detect=detect, rows=rows)
