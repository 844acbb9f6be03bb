"""opencode sessions as `opencode export` writes them: `{"info": {...}, "messages": [{"info": ..., "parts": [...]}]}`.

A session that was reverted keeps the messages behind that point; they become a child session. Patches, snapshots and
the marks of steps carry no conversation and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from attrs import define, field

from refold.importers.content import read_content
from refold.importers.conversations import Item
from refold.importers.documents import members
from refold.importers.lines import (
    Unreadable,
    as_arguments,
    as_list,
    as_map,
    as_name,
    as_text,
    as_time,
    as_title,
    as_word,
    json_text,
)
from refold.importers.outline import beginning
from refold.importers.steps import Steps, replay
from refold.values.rows import Call, Image, Replay
from refold.values.tools import Importer, SessionFacts

_NOISE = {"step-start", "step-finish", "snapshot", "patch"}
_CUT = "[the tool did not end before the session did]"


def detect(head: bytes) -> bool:
    """An object with a session's facts, and messages that hold facts and parts."""
    document = as_map(beginning(head).document)
    if "messages" not in document or not as_map(document.get("info")).keys() & {"id", "title", "time"}:
        return False
    messages = [as_map(message) for message in as_list(document["messages"])]
    return all(message.keys() >= {"info", "parts"} for message in messages[:-1]) and (
        not messages or "info" in messages[0] or str(as_map(document["info"]).get("id")).startswith("ses_")
    )


def rows(stream: BinaryIO) -> Iterator[Item]:
    """The rows of the document, or why a part was skipped."""
    info = next((as_map(value) for key, value in members(stream) if key == "info"), {})
    stream.seek(0)
    reader = _Reader(info)
    yield from reader.begin()
    for key, value in members(stream):
        if isinstance(value, Unreadable):
            yield value.reason
        elif key == "messages":
            yield from reader.message(as_map(value))
    yield from reader.close()


class _Reader:
    def __init__(self, info: Mapping[str, Any]) -> None:
        self._info = info
        self._steps = Steps(as_name(info.get("id")))
        self._reverted = as_text(as_map(info.get("revert")).get("messageID"))
        self._branch: Steps | None = None
        self._count = 0

    def begin(self) -> Iterator[Item]:
        yield SessionFacts(
            self._steps.session,
            title=as_title(self._info.get("title")),
            created=as_time(as_map(self._info.get("time")).get("created")),
            parent=as_name(self._info.get("parentID")) or None,
        )

    def message(self, message: Mapping[str, Any]) -> Iterator[Item]:
        self._count += 1
        info = as_map(message.get("info"))
        parts = [as_map(part) for part in as_list(message.get("parts"))]
        steps = self._steps
        if self._reverted and (self._branch is not None or as_text(info.get("id")) == self._reverted):
            if self._branch is None:
                self._branch = Steps(f"{self._steps.session}/branch-{as_name(self._reverted)}")
                yield from self._steps.close()
                yield SessionFacts(self._branch.session, parent=self._steps.session)
                yield from self._steps.event("excursion", self._branch.session)
            steps = self._branch
        if info.get("role") == "user":
            yield from self._user(steps, parts)
        elif info.get("role") == "assistant":
            yield from self._assistant(steps, info, parts)
        else:
            yield f"message {self._count} has no known role"

    def close(self) -> Iterator[Item]:
        yield from self._steps.close()
        if self._branch is not None:
            yield from self._branch.close()

    def _user(self, steps: Steps, parts: Sequence[Mapping[str, Any]]) -> Iterator[Item]:
        words: list[str] = []
        images: list[Image] = []
        beside: list[str] = []
        for part in parts:
            kind = as_word(part.get("type"))
            if kind == "text":
                (beside if part.get("synthetic") or part.get("ignored") else words).append(as_text(part.get("text")))
            elif kind == "file" and as_text(part.get("mime")).startswith("image/"):
                images += read_content({"type": "image", "url": part.get("url")}).images
            elif kind == "compaction":
                beside.append("The conversation was compacted.")
            elif kind not in _NOISE:
                beside.append(f"{kind}: {json_text(part)}")
        text = "\n\n".join(word for word in words if word.strip())
        if text or images:
            yield from steps.user(text, tuple(images))
        elif not beside:
            yield f"message {self._count} is empty"
        for each in beside:
            yield from steps.event("notice", each)

    def _assistant(self, steps: Steps, info: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> Iterator[Item]:
        model = as_text(info.get("modelID"))
        answer = _Answer()
        for part in parts:
            kind = as_word(part.get("type"))
            if kind == "step-start" or (kind in ("text", "reasoning") and answer.calls):
                yield from answer.given(steps)  # a message of several steps
                answer = _Answer()
            if kind == "text":
                answer.texts.append(as_text(part.get("text")))
            elif kind == "tool":
                answer.call(part)
            elif kind == "reasoning":
                answer.replays.append(replay("opencode", model, part))
            elif kind not in _NOISE:
                answer.beside.append(f"{kind}: {json_text(part)}")
        if info.get("summary") is True:
            answer.summarizes()
        error = as_map(info.get("error"))
        if error:
            said = as_text(as_map(error.get("data")).get("message"))
            answer.beside.append(f"{as_text(error.get('name'))}: {said}")
        if not (answer.texts or answer.calls or answer.replays or answer.beside) and not parts:
            yield f"message {self._count} is empty"
        yield from answer.given(steps)


@define
class _Answer:
    """One step of an answer."""

    texts: list[str] = field(factory=list)
    calls: list[Call] = field(factory=list)
    results: list[tuple[str, str, bool, tuple[Image, ...]]] = field(factory=list)
    replays: list[Replay] = field(factory=list)
    beside: list[str] = field(factory=list)

    def call(self, part: Mapping[str, Any]) -> None:
        id, state = as_text(part.get("callID")), as_map(part.get("state"))
        self.calls.append(Call(id, as_text(part.get("tool")), as_arguments(state.get("input"))))
        ok = state.get("status") == "completed"
        text = state.get("output") if ok else state.get("error")
        if text is None and not ok:
            text = _CUT
        found = [{"type": "image", "url": as_map(file).get("url")} for file in as_list(state.get("attachments"))]
        self.results.append((id, as_text(text), ok, read_content(found).images if found else ()))

    def summarizes(self) -> None:
        """The text is a compaction's summary: told, and no answer of the conversation."""
        self.beside += self.texts
        self.texts = []

    def given(self, steps: Steps) -> Iterator[Item]:
        text = "\n\n".join(text for text in self.texts if text.strip())
        if text or self.calls or self.replays:
            yield from steps.close()
            yield from steps.answer(text=text, calls=self.calls, replays=self.replays)
        for id, said, ok, images in self.results:
            yield from steps.result(id, said, ok, images)
        for each in self.beside:
            yield from steps.event("notice", each)


IMPORTER = Importer(format="opencode", detect=detect, rows=rows)
