"""pi session files: a header, then one JSON entry a line; version 1 is a line, later versions are a tree.

The newest entry is where the conversation stands; abandoned branches become child sessions. Compactions and summaries
of branches become notices. Changes of model or level, labels, names and an extension's own state are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from attrs import evolve

from refold.importers.child_sessions import Branches, Links
from refold.importers.lines import (
    Unreadable,
    as_arguments,
    as_list,
    as_map,
    as_name,
    as_text,
    as_time,
    as_title,
    json_text,
    records,
)
from refold.importers.outline import beginning
from refold.importers.steps import Steps, picture, ran, replay
from refold.values.rows import Call, Image, Replay, Row
from refold.values.tools import Importer, SessionFacts

_NOISE = {"session", "model_change", "thinking_level_change", "label", "session_info", "custom", "leaf"}


def detect(head: bytes) -> bool:
    """A header of pi's."""
    return any(each.get("type") == "session" and each.keys() >= {"cwd", "id"} for each in beginning(head).records)


def rows(stream: BinaryIO) -> Iterator[Row | SessionFacts | str]:
    """The rows of the file, or why a line was skipped."""
    survey = _Survey(stream)
    stream.seek(0)
    yield survey.facts
    sessions = Branches(survey.facts.name, survey.links)
    for number, record in enumerate(records(stream)):
        if isinstance(record, Unreadable):
            yield record.reason
        elif not isinstance(record, dict):
            yield "not an entry of a session"
        else:
            yield from _entry(sessions, number, record)
    yield from sessions.close()


class _Survey:
    """The first pass: the session's facts, and which entry follows which."""

    def __init__(self, stream: BinaryIO) -> None:
        self.facts = SessionFacts("")
        self.links = Links()
        for record in records(stream):
            entry = as_map(record)
            self._learn(entry)
            if not entry or entry.get("type") == "session":
                self.links.unlinked()
            elif "parentId" in entry:
                self.links.add(entry.get("id"), entry.get("parentId"), "follows")
            else:
                self.links.add(entry.get("id"), None, "adheres")

    def _learn(self, entry: Mapping[str, Any]) -> None:
        kind, known = entry.get("type"), self.facts
        if kind == "session" and not known.name:
            self.facts = evolve(known, name=as_name(entry.get("id")), created=as_time(entry.get("timestamp")))
        elif kind == "session_info":
            self.facts = evolve(known, title=as_title(entry.get("name")))


def _entry(sessions: Branches, number: int, entry: Mapping[str, Any]) -> Iterator[Row | SessionFacts | str]:
    kind = as_text(entry.get("type"))
    if kind in ("message", "compaction", "branch_summary", "custom_message"):
        steps = yield from sessions.of(number, entry.get("id"), as_time(entry.get("timestamp")))
        if kind == "message":
            yield from _message(steps, as_map(entry.get("message")))
        elif kind == "custom_message":
            yield from _injected(steps, entry)
        else:
            yield from steps.event("notice", as_text(entry.get("summary")))
    elif kind not in _NOISE:
        yield f"unknown entry type {kind[:60]}" if kind else "not an entry of a session"


def _message(steps: Steps, message: Mapping[str, Any]) -> Iterator[Row | str]:
    content = message.get("content")
    match message.get("role"):
        case "user":
            text, images = _words(content)
            if text.strip() or images:
                yield from steps.user(text, images)
            else:
                yield "a prompt without content"
        case "assistant":
            yield from _answer(steps, message)
        case "toolResult":
            text, images = _words(content)
            yield from steps.result(as_text(message.get("toolCallId")), text, not message.get("isError"), images)
        case "bashExecution":
            yield from _shell(steps, message)
        case "custom" | "hookMessage":
            yield from _injected(steps, message)
        case "branchSummary" | "compactionSummary":
            yield from steps.event("notice", as_text(message.get("summary")))
        case role:
            yield f"a message of unknown role {as_text(role)[:60]}"


def _answer(steps: Steps, message: Mapping[str, Any]) -> Iterator[Row | str]:
    provider, model = as_text(message.get("provider")) or "unknown", as_text(message.get("model"))
    texts: list[str] = []
    calls: list[Call] = []
    replays: list[Replay] = []
    content = message.get("content")
    for part in [{"type": "text", "text": content}] if isinstance(content, str) else map(as_map, as_list(content)):
        match part.get("type"):
            case "text":
                texts.append(as_text(part.get("text")))
            case "toolCall":
                name, arguments = as_text(part.get("name")), as_arguments(part.get("arguments"))
                calls.append(Call(as_text(part.get("id")), name, arguments))
            case _:
                replays.append(replay(provider, model, part))
    text = "\n\n".join(part for part in texts if part.strip())
    yield from steps.close()
    yield from steps.answer(text=text, calls=calls, replays=replays)
    stop, error = as_text(message.get("stopReason")), as_text(message.get("errorMessage"))
    if error or stop in ("aborted", "error"):
        yield from steps.event("notice", error or f"The answer was {stop}.")
    elif not (text or calls or replays):
        yield "an answer without content"


def _shell(steps: Steps, message: Mapping[str, Any]) -> Iterator[Row]:
    """A command that the user ran with `!`: sent, unless the user kept it out of the context."""
    code = message.get("exitCode")
    failed = f"[exit code {code}]" if code not in (None, 0) else ""
    text = ran(as_text(message.get("command")), as_text(message.get("output")), failed)
    if message.get("excludeFromContext"):
        yield from steps.event("command", text)
    else:
        yield from steps.user(text, opens=False)


def _injected(steps: Steps, message: Mapping[str, Any]) -> Iterator[Row]:
    """A message that an extension put in front of the model."""
    text, images = _words(message.get("content"))
    yield from steps.user(text, images, opens=False)


def _words(content: Any) -> tuple[str, tuple[Image, ...]]:
    texts: list[str] = []
    images: list[Image] = []
    for part in content if isinstance(content, list) else [content]:
        fields = as_map(part)
        if fields.get("type") == "image" and isinstance(fields.get("data"), str):
            images.append(picture(as_text(fields.get("mimeType")) or "image/png", fields["data"]))
        elif isinstance(fields.get("text"), str):
            texts.append(fields["text"])
        else:
            texts.append(part if isinstance(part, str) else "" if part is None else json_text(part))
    return "\n".join(texts), tuple(images)


IMPORTER = Importer(format="pi", detect=detect, rows=rows)
