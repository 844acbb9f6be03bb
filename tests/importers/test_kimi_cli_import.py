"""Kimi CLI session files: what its model sees (`context.jsonl`), and the course of the session (`wire.jsonl`)."""

from __future__ import annotations

from typing import Any

from refold.importers.agents.kimi_cli import IMPORTER
from refold.importers.formats import detect
from refold.importers.store import import_file
from refold.transcript.sessions import find

CALL = {"type": "function", "id": "c1", "function": {"name": "Shell", "arguments": '{"command":"ls"}'}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def wire(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": 1772600767.5, "message": {"type": kind, "payload": payload}}


CONTEXT = [
    {"role": "_system_prompt", "content": "You are."},
    {"role": "_checkpoint", "id": 0},
    {"role": "user", "content": [text("<system>CHECKPOINT 0</system>")]},
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "think", "think": "hm", "encrypted": "e"}], "tool_calls": [CALL]},
    {"role": "tool", "content": [text("<system>ok</system>"), text("a")], "tool_call_id": "c1"},
    {"role": "_usage", "token_count": 10},
    {"role": "assistant", "content": [{"type": "think", "think": "so"}, text("done")]},
]


def test_messages_become_rows_without_the_marks_between_them(lines, read, told):
    data = lines(*CONTEXT)
    assert detect(data) is IMPORTER
    rows, skipped = read(IMPORTER, data)
    assert told(rows) == [
        ("notice", "You are."),
        ("notice", "<system>CHECKPOINT 0</system>"),
        ("opens", "go"),
        ("replay", '{"type":"think","think":"hm","encrypted":"e"}'),
        ("assistant", "c1"),
        ("result", "c1", "<system>ok</system>\n\na"),
        ("replay", '{"type":"think","think":"so"}'),
        ("assistant", "done"),
    ]
    assert skipped == []


WIRE = [
    {"type": "metadata", "protocol_version": "1.3"},
    wire("TurnBegin", user_input="go"),
    wire("StepBegin", n=1),
    wire("ContentPart", type="think", think="hm"),
    wire("ContentPart", type="text", text="I lo"),
    wire("ContentPart", type="text", text="ok"),
    wire("ToolCall", **{**CALL, "function": {"name": "Shell", "arguments": '{"command":'}}),
    wire("ToolCallPart", arguments_part='"ls"}'),
    wire("StatusUpdate", context_usage=0.1),
    wire(
        "SubagentEvent",
        agent_id="a1",
        event={"type": "ContentPart", "payload": text("found")},
    ),
    wire("ToolResult", tool_call_id="c1", return_value={"is_error": True, "output": "a", "message": "failed"}),
    wire("StepBegin", n=2),
    wire("CompactionBegin"),
    wire("CompactionEnd"),
    wire("ContentPart", **text("done")),
    wire("TurnEnd"),
    wire("SteerInput", user_input=[text("and more")]),
    wire("Wish"),
]


def test_events_become_rows_and_those_of_a_sub_agent_a_child_session(lines, read, told):
    data = lines(*WIRE)
    assert detect(data) is IMPORTER
    rows, skipped = read(IMPORTER, data)
    assert told(rows) == [
        ("opens", "go"),
        ("spawned", "/agent-a1"),
        ("joined", "/agent-a1"),
        ("replay", '{"type":"think","think":"hm"}'),
        ("assistant", "I look", "c1"),
        ("result", "c1", "failed\na"),
        ("notice", "The conversation was compacted."),
        ("assistant", "done"),
        ("user", "and more"),
        ("agent-a1", "assistant", "found"),
    ]
    assert [dict(call.arguments) for row in rows for call in row.calls] == [{"command": "ls"}]
    assert [row.ok for row in rows if row.kind == "result"] == [False]
    assert skipped == ["unknown event Wish"]


def test_a_file_is_named_after_the_folder_of_its_session(lines, database, tmp_path):
    folder = tmp_path / "8c1f"
    folder.mkdir()
    (folder / "wire.jsonl").write_bytes(lines(*WIRE))
    done = import_file(database, folder / "wire.jsonl")
    assert (done.format, done.session, done.children, done.unanswered) == ("kimi-cli", "8c1f", ("8c1f/agent-a1",), 0)
    with database.read() as reader:
        assert find(reader, "8c1f").created == "2026-03-04T05:06:07Z"
    assert import_file(database, folder / "wire.jsonl").rows == 0
