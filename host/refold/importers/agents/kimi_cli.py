"""Kimi CLI session files: `wire.jsonl`, the whole course of a session, and `context.jsonl`, what its model sees now.

`context.jsonl` holds chat messages, one a line, with checkpoints between them; after a compaction only its summary and
what came later are left in it. `wire.jsonl` holds events; those of sub-agents become child sessions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from refold.importers.child_sessions import SubAgents
from refold.importers.content import read_content
from refold.importers.conversations import Item
from refold.importers.lines import Unreadable, as_arguments, as_list, as_map, as_text, as_time, as_word, records
from refold.importers.messages import openai_chat
from refold.importers.outline import beginning
from refold.importers.steps import Steps, replay
from refold.values.rows import Call, Image, Replay
from refold.values.tools import Importer, SessionFacts

_MARKS = {"_checkpoint", "_usage"}
_NOISE = {
    "ApprovalRequest",
    "ApprovalRequestResolved",
    "HookResolved",
    "HookTriggered",
    "MCPLoadingBegin",
    "MCPLoadingEnd",
    "PlanDisplay",
    "QuestionRequest",
    "QuestionResponse",
    "StatusUpdate",
    "ToolCallRequest",
    "TurnEnd",
}


def detect(head: bytes) -> bool:
    """Chat messages with Kimi's marks between them, or events in its envelope."""
    return any(
        record.get("role") in ("_checkpoint", "_usage", "_system_prompt")
        or (record.get("type") == "metadata" and "protocol_version" in record)
        or (as_word(as_map(record.get("message")).get("type")) in ("TurnBegin", "StepBegin") and "timestamp" in record)
        for record in beginning(head).records
    )


def rows(stream: BinaryIO) -> Iterator[Item]:
    """The rows of either file, or why a line was skipped."""
    messages, events = _Messages(""), _Events()
    for record in records(stream):
        if isinstance(record, Unreadable):
            yield record.reason
        elif not isinstance(record, dict):
            yield "not a record of a session"
        elif "role" in record:
            yield from messages.message(record)
        elif isinstance(record.get("message"), dict):
            yield from events.event(record["message"], record.get("timestamp"))
        elif record.get("type") != "metadata":
            yield "not a record of a session"
    yield from messages.close()
    yield from events.close()


class _Messages(openai_chat.Reader):
    """The messages of `context.jsonl`."""

    def message(self, message: Any) -> Iterator[Item]:
        fields = as_map(message)
        role, content = as_word(fields.get("role")), fields.get("content")
        if role in _MARKS:
            return
        if role == "_system_prompt":
            yield from self._steps.event("notice", as_text(content))
            return
        said = content if isinstance(content, list) else []
        thoughts = [part for part in said if as_map(part).get("type") == "think"]
        if role == "assistant" and thoughts:
            yield from self._steps.close()
            yield from self._steps.answer(replays=[replay("kimi", self._model, part) for part in thoughts])
            rest = [part for part in said if part not in thoughts]
            if rest or fields.get("tool_calls"):
                yield from self._with_thoughts({**fields, "content": rest})
            return
        text = read_content(content).text.strip()
        if role == "user" and text.startswith("<system") and text.endswith(("</system>", "</system-reminder>")):
            yield from self._steps.event("notice", text)
            return
        yield from super().message(fields)

    def _with_thoughts(self, fields: Mapping[str, Any]) -> Iterator[Item]:
        """The rest of an answer whose thoughts were given: they are one step."""
        self._count += 1
        said, calls = read_content(fields.get("content")), self._calls(fields)
        self._open.make(calls)
        yield from self._steps.answer(text=said.text, calls=calls, images=said.images)


class _Turn:
    """The answer that the events of one session are building."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.images: list[Image] = []
        self.calls: list[tuple[str, str, list[str]]] = []
        self.replays: list[Replay] = []


class _Events:
    """The events of `wire.jsonl`."""

    def __init__(self) -> None:
        main = Steps("")
        self._agents = SubAgents(main)
        self._main = main
        self._turns: dict[str, _Turn] = {}
        self._started = False

    def event(self, message: Mapping[str, Any], moment: Any) -> Iterator[Item]:
        if not self._started:
            self._started = True
            yield SessionFacts("", created=as_time(moment))
        yield from self._event(self._main, as_word(message.get("type")), as_map(message.get("payload")))

    def close(self) -> Iterator[Item]:
        for steps in (self._main, *self._agents):
            yield from self._given(steps)
        yield from self._agents.close()

    def _event(self, steps: Steps, kind: str, payload: Mapping[str, Any]) -> Iterator[Item]:
        turn = self._turns.setdefault(steps.session, _Turn())
        if kind in ("TurnBegin", "SteerInput"):
            yield from self._given(steps)
            said = read_content(payload.get("user_input"))
            yield from steps.user(said.text, said.images, opens=kind == "TurnBegin")
        elif kind == "StepBegin":
            yield from self._given(steps)
        elif kind in ("ContentPart", "TextPart", "ThinkPart", "ImageURLPart"):
            self._part(turn, payload)
        elif kind == "ToolCall":
            function = as_map(payload.get("function"))
            written = [as_text(function.get("arguments"))]
            turn.calls.append((as_text(payload.get("id")), as_text(function.get("name")), written))
        elif kind == "ToolCallPart" and turn.calls:
            turn.calls[-1][2].append(as_text(payload.get("arguments_part")))
        elif kind == "ToolResult":
            yield from self._given(steps)
            yield from self._result(steps, payload)
        elif kind == "SubagentEvent":
            agent = as_text(payload.get("agent_id") or payload.get("parent_tool_call_id"))
            agent = agent or as_text(payload.get("task_tool_call_id"))
            inner = as_map(payload.get("event"))
            child = yield from self._agents.of(agent or "unnamed")
            yield from self._event(child, as_word(inner.get("type")), as_map(inner.get("payload")))
        elif kind in ("CompactionBegin", "StepInterrupted"):
            yield from self._given(steps)
            told = "The conversation was compacted." if kind == "CompactionBegin" else "The step was interrupted."
            yield from steps.event("notice", told)
        elif kind == "Notification":
            yield from steps.event("notice", f"{as_text(payload.get('title'))}\n{as_text(payload.get('body'))}".strip())
        elif kind == "ApprovalResponse":
            if as_text(payload.get("feedback")).strip():
                yield from self._given(steps)
                yield from steps.user(as_text(payload["feedback"]), opens=False)
        elif kind not in _NOISE and kind != "CompactionEnd":
            yield f"unknown event {kind[:60]}" if kind else "not an event of a session"

    def _part(self, turn: _Turn, part: Mapping[str, Any]) -> None:
        if part.get("type") == "text":
            turn.text.append(as_text(part.get("text")))
        elif part.get("type") == "image_url":
            turn.images += read_content(part).images
        else:
            turn.replays.append(replay("kimi", "", part))

    def _given(self, steps: Steps) -> Iterator[Item]:
        """Gives out the answer by now; its results follow it."""
        turn = self._turns.pop(steps.session, None)
        if turn is None or not (turn.text or turn.images or turn.calls or turn.replays):
            return
        calls = [Call(id, name, as_arguments("".join(written))) for id, name, written in turn.calls]
        yield from steps.close()
        yield from steps.answer(text="".join(turn.text), calls=calls, images=turn.images, replays=turn.replays)

    def _result(self, steps: Steps, payload: Mapping[str, Any]) -> Iterator[Item]:
        value = as_map(payload.get("return_value") or payload.get("result"))
        said = read_content(value.get("output"))
        words = [text for text in (as_text(value.get("message")), said.text) if text.strip()]
        ok = not value.get("is_error")
        yield from steps.result(as_text(payload.get("tool_call_id")), "\n".join(words), ok, said.images)
        for part in as_list(said.kept):
            yield from steps.event("notice", part)


IMPORTER = Importer(format="kimi-cli", detect=detect, rows=rows)
