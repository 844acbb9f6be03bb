"""Qwen Code session files: one JSON record a line, linked by `uuid` and `parentUuid`, with Gemini's parts in them.

The newest record is where the conversation stands; what a rewind left behind becomes child sessions. Compressions,
notifications and other text that the program wrote become notices; telemetry, titles, snapshots and settings are left
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from attrs import evolve

from refold.importers.branches import Bond
from refold.importers.child_sessions import Branches, Links, SubAgents
from refold.importers.conversations import Item
from refold.importers.lines import (
    Unreadable,
    as_list,
    as_map,
    as_name,
    as_text,
    as_time,
    as_title,
    as_word,
    json_text,
    records,
)
from refold.importers.messages.gemini_parts import Parts, read_parts
from refold.importers.open_calls import OpenCalls
from refold.importers.outline import beginning
from refold.importers.steps import Steps
from refold.values.rows import Row
from refold.values.tools import Importer, SessionFacts

_SAID = {"user", "assistant", "tool_result"}
_NOISE = {
    "agent_retry",
    "agent_session_ready",
    "attribution_snapshot",
    "branch_checkpoint",
    "custom_title",
    "file_history_snapshot",
    "goal_state",
    "goal_turn_end",
    "parent_session",
    "rewind",
    "session_approval_mode",
    "session_artifact_event",
    "session_artifact_snapshot",
    "session_execution_engine",
    "session_model",
    "session_notes",
    "session_source",
    "session_sources_snapshot",
    "turn_result",
    "ui_telemetry",
    "user_text_elements",
}
_MEANWHILE = {"mid_turn_user_message"}
"""Prompts that came while a turn ran. Other marked prompts are the program's."""


def detect(head: bytes) -> bool:
    """Records linked as Claude Code's are, with Gemini's parts in their messages."""
    return any(
        record.keys() >= {"uuid", "parentUuid", "sessionId"}
        and (isinstance(as_map(record.get("message")).get("parts"), list) or "systemPayload" in record)
        for record in beginning(head).records
    )


def rows(stream: BinaryIO) -> Iterator[Item]:
    """The rows of the file, or why a line was skipped."""
    survey = _Survey(stream)
    stream.seek(0)
    yield survey.facts
    reader = _Reader(survey)
    for number, record in enumerate(records(stream)):
        if isinstance(record, Unreadable):
            yield record.reason
        elif not isinstance(record, dict):
            yield "not a record of a session"
        else:
            yield from reader.record(number, record)
    yield from reader.close()


class _Survey:
    """The first pass: the session's facts, and which record follows which."""

    def __init__(self, stream: BinaryIO) -> None:
        self.facts = SessionFacts("")
        self.links = Links()
        for record in records(stream):
            fields = as_map(record)
            self._learn(fields)
            kind = as_word(fields.get("type"))
            if not fields or fields.get("isSidechain") or kind not in (*_SAID, "system"):
                self.links.unlinked()
            else:
                bond: Bond = "follows" if kind in ("user", "assistant") else "adheres"
                self.links.add(fields.get("uuid"), fields.get("parentUuid"), bond)

    def _learn(self, record: Mapping[str, Any]) -> None:
        payload = as_map(record.get("systemPayload"))
        facts = self.facts
        if not facts.name and record.get("sessionId"):
            facts = evolve(facts, name=as_name(record.get("sessionId")), created=as_time(record.get("timestamp")))
        if record.get("subtype") == "custom_title":
            facts = evolve(facts, title=as_title(payload.get("customTitle")))
        elif record.get("subtype") == "parent_session":
            facts = evolve(facts, parent=as_name(payload.get("parentSessionId")) or None)
        self.facts = facts


class _Reader:
    """The second pass."""

    def __init__(self, survey: _Survey) -> None:
        self._branches = Branches(survey.facts.name, survey.links)
        self._agents: SubAgents | None = None
        self._open: dict[str, OpenCalls] = {}
        self._count = 0

    def record(self, number: int, record: Mapping[str, Any]) -> Iterator[Item]:
        kind, subtype = as_word(record.get("type")), as_word(record.get("subtype"))
        if kind not in (*_SAID, "system"):
            yield f"unknown record type {kind[:60]}" if kind else "not a record of a session"
            return
        if kind == "system" and (subtype in _NOISE or not subtype):
            return
        moment = as_time(record.get("timestamp"))
        if record.get("isSidechain"):
            if self._agents is None:
                self._agents = SubAgents(self._branches.main())
            steps = yield from self._agents.of(as_text(record.get("agentId")) or "side", moment)
        else:
            steps = yield from self._branches.of(number, record.get("uuid"), moment)
        if kind == "system":
            yield from _system(steps, subtype, as_map(record.get("systemPayload")))
            return
        self._count += 1
        message = as_map(record.get("message"))
        parts = read_parts(message.get("parts"), as_text(record.get("model")), f"call-{self._count}")
        calls = self._open.setdefault(steps.session, OpenCalls())
        if kind == "assistant":
            yield from _answer(steps, calls, parts)
        elif kind == "tool_result":
            status = as_map(record.get("toolCallResult")).get("status")
            yield from _results(steps, calls, parts, status not in ("error", "cancelled"))
        else:
            yield from _user(steps, parts, subtype, as_word(record.get("provenance")))
        for part in parts.kept:
            yield from steps.event("notice", part)

    def close(self) -> Iterator[Row]:
        yield from self._branches.close()
        if self._agents is not None:
            yield from self._agents.close()


def _user(steps: Steps, parts: Parts, subtype: str, provenance: str) -> Iterator[Item]:
    injected = (subtype and subtype not in _MEANWHILE) or provenance not in ("", "real_user")
    if injected:
        yield from steps.event("notice", parts.text)
    elif parts.text.strip() or parts.images:
        yield from steps.user(parts.text, tuple(parts.images), opens=subtype not in _MEANWHILE)
    else:
        yield "a prompt without content"


def _answer(steps: Steps, calls: OpenCalls, parts: Parts) -> Iterator[Item]:
    if not (parts.text.strip() or parts.calls or parts.images or parts.replays):
        yield "an answer without content"
    calls.make(parts.calls)
    yield from steps.close()
    yield from steps.answer(text=parts.text, calls=parts.calls, images=parts.images, replays=parts.replays)


def _results(steps: Steps, calls: OpenCalls, parts: Parts, ok: bool) -> Iterator[Item]:
    for result in parts.results:
        id = result.call_id or calls.answer_oldest(result.name)
        calls.answer(id)
        images = result.images + (tuple(parts.images) if len(parts.results) == 1 else ())
        yield from steps.result(id, result.text, ok and result.ok, images)
    if not parts.results:
        yield "a result that answers no call"


def _system(steps: Steps, subtype: str, payload: Mapping[str, Any]) -> Iterator[Item]:
    if subtype == "slash_command":
        if payload.get("phase") == "result":
            shown = [as_text(as_map(item).get("text")) for item in as_list(payload.get("outputHistoryItems"))]
            yield from steps.event("command", "\n".join([as_text(payload.get("rawCommand")), *filter(None, shown)]))
        elif not payload.get("sentToModel"):
            yield from steps.event("command", as_text(payload.get("rawCommand")))
    elif subtype == "chat_compression":
        info = as_map(payload.get("info"))
        sizes = f"{as_text(info.get('originalTokenCount'))} to {as_text(info.get('newTokenCount'))} tokens"
        history = [read_parts(as_map(each).get("parts"), "", "") for each in as_list(payload.get("compressedHistory"))]
        summary = next((parts.text for parts in history if parts.text.strip()), "")
        yield from steps.event("notice", f"The conversation was compressed ({sizes}).\n{summary}".strip())
    else:
        text = as_text(payload.get("displayText") or payload.get("message"))
        yield from steps.event("notice", f"{subtype}: {text or json_text(payload)}")


IMPORTER = Importer(format="qwen-code", detect=detect, rows=rows)
