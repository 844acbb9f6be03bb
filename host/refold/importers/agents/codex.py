"""Codex rollout files: one JSON record a line, `{timestamp, type, payload}`, or bare items in older ones.

The response items are the conversation; the events repeat it for the screen and serve only a file that has no items.
Instructions and context that the program wrote into the user's role become notices, and so do compactions. Token
counts, turn contexts, progress events and repository snapshots carry no conversation and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from refold.importers.agents import codex_items as codex
from refold.importers.lines import Unreadable, as_list, as_map, as_name, as_text, as_time, as_word, records
from refold.importers.messages import responses_items as items
from refold.importers.outline import beginning
from refold.importers.steps import Steps, picture_from_url, replay
from refold.values.rows import Row
from refold.values.tools import Importer, SessionFacts

_LINES = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
_NOISE_LINES = {"turn_context", "world_state", "state"}
_TALK = {"user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content"}
_NOISE_EVENTS = {"token_count", "context_compacted", "turn_diff", "session_configured", "raw_response_item"}
_PROGRESS = re.compile(
    r".*_(begin|end|delta|started|completed?|update|updated|section_break|request|response|ready)", re.ASCII
)
_TOLD = {
    "turn_aborted",
    "error",
    "stream_error",
    "warning",
    "background_event",
    "deprecation_notice",
    "entered_review_mode",
    "exited_review_mode",
    "thread_rolled_back",
}


def detect(head: bytes) -> bool:
    """Records with Codex's envelope, or bare items behind a line of facts."""
    found = beginning(head).records
    if any(as_word(record.get("type")) in _LINES and isinstance(record.get("payload"), dict) for record in found):
        return True
    bare = any(
        record.get("record_type") == "state" or as_word(record.get("type")) in codex.TYPES for record in found[1:]
    )
    return bare and codex.envelope(found[0])[0] == "session_meta"


def rows(stream: BinaryIO) -> Iterator[Row | SessionFacts | str]:
    """The rows of the file, or why a line was skipped."""
    from_items = _has_items(stream)
    stream.seek(0)
    reader = _Reader(from_items)
    for record in records(stream):
        if isinstance(record, Unreadable):
            yield record.reason
        elif not isinstance(record, dict):
            yield "not a record of a session"
        else:
            yield from reader.record(*codex.envelope(record))
    yield from reader.steps.close()


def _has_items(stream: BinaryIO) -> bool:
    """Whether the file records the conversation as response items; found within the first lines of most files."""
    for record in records(stream):
        kind, item = codex.envelope(as_map(record))
        if kind == "response_item" and as_word(item.get("type")) in {"message"} | items.CALLS | items.RESULTS:
            said = items.words(item.get("content")).text if item.get("type") == "message" else ""
            if not codex.is_injected(said):
                return True
    return False


class _Reader:
    def __init__(self, from_items: bool) -> None:
        self.steps = Steps("")
        self._from_items = from_items
        self._named = False
        self._model = ""
        self._running = False  # inside a task that the file marks the beginning and the end of
        self._opened = False  # that task has had its prompt

    def record(self, kind: str, payload: Mapping[str, Any]) -> Iterator[Row | SessionFacts | str]:
        match kind:
            case "session_meta":
                yield from self._facts(payload)
            case "response_item":
                yield from self._item(payload)
            case "event_msg":
                yield from self._event(payload)
            case "compacted":
                for item in codex.opaque_items(payload.get("replacement_history")):
                    yield from self.steps.answer(replays=[replay("openai", self._model, item)])
                text = as_text(payload.get("message"))
                yield from self.steps.event("notice", text or "The provider compacted the conversation.")
            case _ if kind in _NOISE_LINES:
                self._model = as_text(payload.get("model")) or self._model
            case _:
                yield f"unknown record type {kind[:60]}" if kind else "not a record of a session"

    def _facts(self, facts: Mapping[str, Any]) -> Iterator[Row | SessionFacts]:
        """The first facts are the session's; a fork repeats those of the session it came from."""
        if not self._named:
            self._named = True
            self.steps.session = as_name(facts.get("id"))
            created = as_time(facts.get("timestamp"))
            yield SessionFacts(self.steps.session, created=created, parent=codex.parent_of(facts))
            for text in codex.system_texts(facts):
                yield from self.steps.event("notice", text)

    def _item(self, item: Mapping[str, Any]) -> Iterator[Row | str]:
        kind = as_text(item.get("type"))
        if kind == "message":
            yield from self._message(item)
        elif kind in items.CALLS:
            yield from self.steps.answer(calls=[items.call_of(item)])
        elif kind in items.RESULTS:
            said, ok = items.output_of(item)
            yield from self.steps.result(as_text(item.get("call_id") or item.get("id")), said.text, ok, said.images)
        elif kind == "agent_message":
            yield from self._from_agent(item)
        elif kind in items.OPAQUE:
            yield from self.steps.answer(replays=[replay("openai", self._model, item)])
        elif kind not in codex.NOISE:
            yield f"unknown response item {kind[:60]}"

    def _message(self, item: Mapping[str, Any]) -> Iterator[Row | str]:
        role, content = item.get("role"), item.get("content")
        if role == "assistant":
            said = items.words(content)
            yield from self.steps.answer(text=said.text, images=said.images)
        elif role == "user":
            parts = content if isinstance(content, list) else [content]
            injected = [codex.is_injected(items.words([part]).text) for part in parts]
            for part, hidden in zip(parts, injected, strict=True):
                if hidden:
                    yield from self.steps.event("notice", items.words([part]).text)
            said = items.words([part for part, hidden in zip(parts, injected, strict=True) if not hidden])
            if said.text.strip() or said.images:
                yield from self._prompt(said)
        elif role in ("system", "developer"):
            yield from self.steps.event("notice", items.words(content).text)
        else:
            yield "a message without a known role"

    def _from_agent(self, item: Mapping[str, Any]) -> Iterator[Row | str]:
        """What another agent said to this one. The model reads it as input, but no user wrote it and no turn begins."""
        sealed = [part for part in as_list(item.get("content")) if as_map(part).get("type") == "encrypted_content"]
        said = items.words([part for part in as_list(item.get("content")) if part not in sealed])
        if sealed:
            yield from self.steps.answer(replays=[replay("openai", self._model, item)])
        if said.text.strip() or said.images:
            author = as_text(item.get("author")) or "another agent"
            yield from self.steps.user(f"[message from {author}]\n{said.text}", said.images, opens=False)
        elif not sealed:
            yield "a message of another agent without content"

    def _prompt(self, said: items.Words) -> Iterator[Row]:
        ran = said.text.lstrip().startswith("<user_shell_command>")
        yield from self.steps.user(said.text, said.images, opens=not ran and not (self._running and self._opened))
        self._opened = self._opened or not ran

    def _event(self, payload: Mapping[str, Any]) -> Iterator[Row | str]:
        kind = as_text(payload.get("type"))
        if kind in ("task_started", "turn_started"):
            self._running, self._opened = True, False
        elif kind in ("task_complete", "turn_complete", "turn_aborted"):
            self._running = False
        if kind in _TALK:
            if not self._from_items:
                yield from self._talk(kind, payload)
        elif kind in _TOLD or (kind.startswith("collab_") and kind.endswith("_end")):
            yield from self.steps.event("notice", codex.fact_text(payload))
        elif kind not in _NOISE_EVENTS and not _PROGRESS.fullmatch(kind):
            yield f"unknown event {kind[:60]}"

    def _talk(self, kind: str, payload: Mapping[str, Any]) -> Iterator[Row]:
        if kind == "user_message":
            text = as_text(payload.get("message"))
            if codex.is_injected(text):
                yield from self.steps.event("notice", text)
            else:
                found = [picture_from_url(url) for url in as_list(payload.get("images")) if isinstance(url, str)]
                yield from self._prompt(items.Words(text, tuple(image for image in found if image is not None)))
        elif kind == "agent_message":
            yield from self.steps.close()
            yield from self.steps.answer(text=as_text(payload.get("message")))
        else:
            yield from self.steps.answer(replays=[replay("openai", self._model, payload)])


IMPORTER = Importer(format="codex", detect=detect, rows=rows)
