"""GitHub Copilot CLI session files (`events.jsonl`): one event a line, `{type, data, id, timestamp, parentId}`.

The messages and the results of tools are the conversation; events of sub-agents become child sessions. Summaries of
compactions, notifications, skills and errors become notices. Events about the screen, the program and its settings
carry no conversation and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from refold.importers.child_sessions import SubAgents
from refold.importers.content import read_content
from refold.importers.conversations import Item
from refold.importers.lines import (
    Unreadable,
    as_arguments,
    as_list,
    as_map,
    as_name,
    as_text,
    as_time,
    as_word,
    json_text,
    records,
)
from refold.importers.outline import beginning
from refold.importers.steps import Steps, picture, ran, replay
from refold.values.rows import Call, Image
from refold.values.tools import Importer, SessionFacts

_TOLD = {
    "abort": "reason",
    "session.compaction_complete": "summaryContent",
    "session.context_cleared": "",
    "session.error": "message",
    "session.handoff": "summary",
    "session.info": "message",
    "session.task_complete": "summary",
    "session.truncation": "",
    "session.warning": "message",
    "skill.invoked": "content",
    "subagent.failed": "error",
    "system.message": "content",
    "system.notification": "content",
}
"""Events that become notices, to what of their data is said; nothing named: all of it."""
_NOISE = re.compile(
    r"(auto_mode_switch|capabilities|commands?|elicitation|exit_plan_mode|external_tool|factory|hook|mcp|mcp_app|model"
    r"|pending_messages|permission|sampling|session_limits_exhausted|tool_search|ui|user_input)\..*"
    r"|assistant\.(turn_start|turn_end|intent|idle|usage|reasoning|message_start|server_tool_progress|fusion_.*|.*_delta)"
    r"|tool\.(execution_start|execution_partial_result|execution_progress)"
    r"|subagent\.(started|configured|completed|selected|deselected)"
    r"|session\.(auto_.*|autopilot_.*|background_.*|canvas\..*|compaction_start|completion_receipt|context_changed"
    r"|custom_.*|extensions.*|fusion_.*|idle|managed_.*|mcp_.*|mode_.*|permissions_changed|plan_changed"
    r"|remote_steerable_changed|resume|schedule_.*|session_limits_changed|shutdown|skills_loaded|snapshot_rewind"
    r"|title_changed|todos_changed|tools_updated|usage_.*|workspace_file_changed)"
)
_REASONING = ("reasoningText", "reasoningOpaque", "encryptedContent", "reasoningBlocks")


def detect(head: bytes) -> bool:
    """An event that starts a session, or events of the conversation in their envelope."""
    return any(
        isinstance(record.get("data"), dict)
        and (
            (record.get("type") == "session.start" and "sessionId" in record["data"])
            or (record.get("type") in ("user.message", "assistant.message") and "parentId" in record)
        )
        for record in beginning(head).records
    )


def rows(stream: BinaryIO) -> Iterator[Item]:
    """The rows of the file, or why a line was skipped."""
    reader = _Reader()
    for record in records(stream):
        if isinstance(record, Unreadable):
            yield record.reason
        elif not isinstance(record, dict):
            yield "not an event of a session"
        else:
            yield from reader.event(as_text(record.get("type")), record, as_map(record.get("data")))
    yield from reader.agents.close()


class _Reader:
    def __init__(self) -> None:
        self._main = Steps("")
        self.agents = SubAgents(self._main)
        self._model = ""
        self._pictures: dict[str, Image] = {}
        self._asked: dict[str, str] = {}
        """Tools that the user ran, by call."""

    def event(self, kind: str, event: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Item]:
        if kind == "session.start":
            yield from self._start(data)
            return
        if kind == "session.model_change":
            self._model = as_text(data.get("newModel"))
            return
        if kind == "session.binary_asset":
            self._pictures[as_text(data.get("assetId"))] = _binary(data)
            return
        if _NOISE.fullmatch(kind):
            return
        agent = as_text(event.get("agentId") or data.get("parentToolCallId"))
        steps = yield from self.agents.of(agent, as_time(event.get("timestamp")))
        if kind == "user.message":
            yield from self._user(steps, data)
        elif kind == "assistant.message":
            yield from self._answer(steps, data)
        elif kind == "tool.user_requested":
            arguments = as_map(data.get("arguments"))
            command = as_text(arguments.get("command")) or json_text(arguments)
            self._asked[as_text(data.get("toolCallId"))] = command
        elif kind == "tool.execution_complete":
            yield from self._result(steps, data)
        elif kind in _TOLD:
            text = as_text(data.get(_TOLD[kind])) if _TOLD[kind] else json_text(data)
            yield from steps.event("notice", text or f"{kind}: {json_text(data)}")
        else:
            yield f"unknown event {kind[:60]}" if kind else "not an event of a session"

    def _start(self, data: Mapping[str, Any]) -> Iterator[Item]:
        """The first start names the session; a later one resumes it."""
        if self._main.session:
            return
        self._main.session = as_name(data.get("sessionId"))
        self._model = as_text(data.get("selectedModel"))
        yield SessionFacts(
            self._main.session,
            created=as_time(data.get("startTime")),
            parent=as_name(data.get("detachedFromSpawningParentSessionId")) or None,
        )

    def _user(self, steps: Steps, data: Mapping[str, Any]) -> Iterator[Item]:
        images = []
        for attachment in map(as_map, as_list(data.get("attachments"))):
            asset = self._pictures.get(as_text(attachment.get("assetId")))
            if asset is None and attachment.get("type") == "blob" and isinstance(attachment.get("data"), str):
                asset = _binary(attachment)
            if asset is not None:
                images.append(asset)
            else:
                yield from steps.event("notice", f"attached: {json_text(attachment)}")
        text = as_text(data.get("content"))
        if text.strip() or images:
            yield from steps.user(text, tuple(images), opens=not data.get("isAutopilotContinuation"))
        else:
            yield "a prompt without content"

    def _answer(self, steps: Steps, data: Mapping[str, Any]) -> Iterator[Item]:
        model = as_text(data.get("model")) or self._model
        calls = []
        for request in map(as_map, as_list(data.get("toolRequests"))):
            name, arguments = as_text(request.get("name")), as_arguments(request.get("arguments"))
            calls.append(Call(as_text(request.get("toolCallId")), name, arguments))
        thoughts = {key: data[key] for key in _REASONING if data.get(key)}
        replays = [replay("copilot", model, thoughts)] if thoughts else []
        text = as_text(data.get("content"))
        if not (text.strip() or calls or replays):
            yield "an answer without content"
        key = as_text(data.get("apiCallId") or data.get("messageId")) or None
        yield from steps.answer(key, text=text, calls=calls, replays=replays)

    def _result(self, steps: Steps, data: Mapping[str, Any]) -> Iterator[Item]:
        call, result = as_text(data.get("toolCallId")), data.get("result")
        fields = as_map(result)
        text = as_text(fields.get("content") if fields else result)
        ok = data.get("success") is not False
        if not ok:
            text = as_text(as_map(data.get("error")).get("message")) or text
        found = [part for part in map(as_map, as_list(fields.get("contents"))) if as_word(part.get("type")) == "image"]
        images = read_content(found).images
        images += tuple(
            self._pictures.get(as_text(part.get("assetId"))) or _binary(part)
            for part in map(as_map, as_list(fields.get("binaryResultsForLlm")))
            if as_text(part.get("mimeType")).startswith("image/")
        )
        command = self._asked.pop(call, None)
        if command is not None:
            yield from steps.user(ran(command, text, "" if ok else "[failed]"), images, opens=False)
        else:
            yield from steps.result(call, text, ok, images)


def _binary(data: Mapping[str, Any]) -> Image:
    return picture(as_text(data.get("mimeType")) or "image/png", as_text(data.get("data")))


IMPORTER = Importer(format="copilot-cli", detect=detect, rows=rows)
