"""pi session files: a header, then one JSON entry a line; version 1 is a line, later versions are a tree.

The newest entry is where the conversation stands; abandoned branches become child sessions. Compactions and summaries
of branches become notices. Changes of model or level, labels, names and an extension's own state are left out.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Generator, Iterator, Mapping
from typing import Any, BinaryIO

from attrs import evolve

from refold.importers.branches import MAIN, Tree
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
from refold.importers.steps import Steps, picture, replay
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
    reader = _Reader(survey.branches, survey.parents)
    for number, record in enumerate(records(stream)):
        if isinstance(record, Unreadable):
            yield record.reason
        elif not isinstance(record, dict):
            yield "not an entry of a session"
        else:
            yield from reader.entry(number, record)
    for steps in reader.sessions.values():
        yield from steps.close()


class _Survey:
    """The branch and the parent of every entry. An entry without a link that leads anywhere follows the one before."""

    def __init__(self, stream: BinaryIO) -> None:
        self.facts = SessionFacts("")
        tree, numbers = Tree(), dict[str, int]()
        before: int | None = None
        self.parents = array("q")
        for record in records(stream):
            entry = as_map(record)
            self._learn(entry)
            linked = "parentId" in entry and entry.get("type") != "session"
            link = entry.get("parentId")
            parent = numbers.get(link, before) if isinstance(link, str) else before
            if linked and link is None and before is not None:
                parent = None  # the first prompt, or a new beginning in its place
            number = tree.add(parent, "follows" if linked else "adheres")
            self.parents.append(MAIN if parent is None else parent)
            if isinstance(entry.get("id"), str) and entry.get("type") != "session":
                numbers[entry["id"]] = number
            if entry and entry.get("type") != "session":
                before = number
        self.branches = tree.branches()

    def _learn(self, entry: Mapping[str, Any]) -> None:
        kind, known = entry.get("type"), self.facts
        if kind == "session" and not known.name:
            self.facts = evolve(known, name=as_name(entry.get("id")), created=as_time(entry.get("timestamp")))
        elif kind == "session_info":
            self.facts = evolve(known, title=as_title(entry.get("name")))


class _Reader:
    def __init__(self, branches: array[int], parents: array[int]) -> None:
        self.sessions: dict[int, Steps] = {}
        self._branches = branches
        self._parents = parents
        self._name = ""

    def entry(self, number: int, entry: Mapping[str, Any]) -> Iterator[Row | SessionFacts | str]:
        kind = as_text(entry.get("type"))
        if kind == "session":
            self._name = self._name or as_name(entry.get("id"))
        elif kind in ("message", "compaction", "branch_summary", "custom_message"):
            steps = yield from self._session(number, entry)
            if kind == "message":
                yield from _message(steps, as_map(entry.get("message")))
            elif kind == "custom_message":
                yield from _injected(steps, entry)
            else:
                yield from steps.event("notice", as_text(entry.get("summary")))
        elif kind not in _NOISE:
            yield f"unknown entry type {kind[:60]}" if kind else "not an entry of a session"

    def _session(self, number: int, entry: Mapping[str, Any]) -> Generator[Row | SessionFacts, None, Steps]:
        branch = self._branches[number]
        known = self.sessions.get(branch)
        if known is None:
            if branch == MAIN:
                known = Steps(self._name)
            else:
                known = Steps(f"{self._name}/branch-{as_name(entry.get('id')) or number}")
                above = self._parents[branch]
                main = self.sessions.setdefault(MAIN, Steps(self._name))
                home = self.sessions.get(self._branches[above], main) if above != MAIN else main
                yield SessionFacts(known.session, parent=home.session, created=as_time(entry.get("timestamp")))
                yield from home.event("excursion", known.session)
            self.sessions[branch] = known
        return known


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
    failed = f"\n[exit code {code}]" if code not in (None, 0) else ""
    output = as_text(message.get("output"))
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", output)), default=0))
    text = f"! {as_text(message.get('command'))}\n{fence}\n{output}\n{fence}{failed}"
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
