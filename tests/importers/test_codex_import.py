"""Codex rollout files."""

from __future__ import annotations

import json
from typing import Any

import pytest
from refold.importers.agents.codex import IMPORTER

SHOT = {"type": "input_image", "image_url": "data:image/png;base64,QQ=="}
META = {"type": "session_meta", "payload": {"id": "s", "instructions": "Be kind."}}


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return {"timestamp": "t", "type": "response_item", "payload": {"type": kind, **fields}}


def happening(kind: str, **fields: Any) -> dict[str, Any]:
    return {"timestamp": "t", "type": "event_msg", "payload": {"type": kind, **fields}}


def message(role: str, text: str) -> dict[str, Any]:
    part = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": part, "text": text}])


def called(id: str, **arguments: Any) -> dict[str, Any]:
    return item("function_call", call_id=id, name="shell", arguments=json.dumps(arguments))


def returned(id: str, output: Any) -> dict[str, Any]:
    return item("function_call_output", call_id=id, output=output)


def test_response_items_are_the_conversation_and_events_are_not_said_twice(lines, read, told):
    rows, skipped = read(
        IMPORTER,
        lines(
            META,
            message("user", "<environment_context>\n<cwd>/x</cwd></environment_context>"),
            {"type": "turn_context", "payload": {"model": "gpt-x"}},
            happening("user_message", message="go"),
            message("user", "go"),
            item("reasoning", summary=[], encrypted_content="xyz"),
            called("c1", command="ls"),
            called("c2", command="pwd"),
            happening("token_count", info=None),
            returned("c1", "Exit code: 0\nOutput:\na"),
            returned("c2", "Exit code: 2\nOutput:\nno"),
            happening("agent_message", message="done"),
            message("assistant", "done"),
            item("ghost_snapshot", ghost_commit={}),
        ),
    )
    assert told(rows) == [
        ("notice", "Be kind."),
        ("notice", "<environment_context>\n<cwd>/x</cwd></environment_context>"),
        ("opens", "go"),
        ("replay", '{"type":"reasoning","summary":[],"encrypted_content":"xyz"}'),
        ("assistant", "c1+c2"),
        ("result", "c1", "Exit code: 0\nOutput:\na"),
        ("result", "c2", "Exit code: 2\nOutput:\nno"),
        ("assistant", "done"),
    ]
    assert rows[3].replay.owner == "imported:openai:gpt-x"
    assert [row.ok for row in rows if row.kind == "result"] == [True, False]
    assert rows[4].calls[0].arguments == {"command": "ls"}
    assert skipped == []


def test_a_file_without_items_is_read_from_its_events(lines, read, told):
    rows, _ = read(
        IMPORTER,
        lines(
            META | {"payload": {"id": "s"}},
            message("user", "<environment_context></environment_context>"),
            happening("user_message", message="go"),
            happening("agent_reasoning", text="hm"),
            happening("agent_message", message="done"),
            happening("entered_review_mode", user_facing_hint="changes"),
        ),
    )
    assert told(rows)[1:] == [
        ("opens", "go"),
        ("replay", '{"type":"agent_reasoning","text":"hm"}'),
        ("assistant", "done"),
        ("notice", "entered_review_mode: changes"),
    ]


def test_a_prompt_in_a_running_task_opens_no_turn(lines, read):
    rows, _ = read(
        IMPORTER,
        lines(
            META,
            happening("task_started"),
            message("user", "go"),
            called("c1"),
            returned("c1", "x"),
            message("user", "and this"),
            message("assistant", "ok"),
            happening("task_complete"),
            message("user", "next"),
        ),
    )
    assert [(row.text, row.opens) for row in rows if row.kind == "user"] == [
        ("go", True),
        ("and this", False),
        ("next", True),
    ]


def test_a_compaction_is_a_notice_and_keeps_the_providers_own_item(lines, read, told):
    history = [{"type": "message", "role": "user", "content": "go"}, {"type": "compaction", "encrypted_content": "e"}]
    rows, _ = read(
        IMPORTER,
        lines(
            META | {"payload": {"id": "s"}},
            message("user", "go"),
            {"type": "compacted", "payload": {"message": "what was done", "replacement_history": history}},
            message("user", "on"),
        ),
    )
    assert told(rows) == [
        ("opens", "go"),
        ("replay", '{"type":"compaction","encrypted_content":"e"}'),
        ("notice", "what was done"),
        ("opens", "on"),
    ]


def test_what_another_agent_said_is_a_row_that_opens_no_turn(lines, read, told):
    said = {"author": "/agents/helper", "recipient": "/agents"}
    sealed = {"type": "encrypted_content", "encrypted_content": "xyz"}
    rows, skipped = read(
        IMPORTER,
        lines(
            META,
            message("user", "Ask the helper."),
            item("agent_message", **said, content=[{"type": "input_text", "text": "The port is 8443."}]),
            item("agent_message", **said, content=[sealed]),
            item("agent_message", content=[]),
            message("assistant", "Done."),
        ),
    )
    assert told(rows)[1:4] == [
        ("opens", "Ask the helper."),
        ("user", "[message from /agents/helper]\nThe port is 8443."),
        ("replay", json.dumps({"type": "agent_message", **said, "content": [sealed]}, separators=(",", ":"))),
    ]
    assert told(rows)[4:] == [("assistant", "Done.")]
    assert skipped == ["a message of another agent without content"]


def test_older_files_without_envelopes_are_read(lines, read, told):
    data = lines(
        {"id": "s", "timestamp": "t", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}},
        {"type": "local_shell_call_output", "call_id": "c", "output": "a"},
    )
    assert IMPORTER.detect(data)
    rows, skipped = read(IMPORTER, data)
    assert (rows[0].ref.session, told(rows), skipped) == (
        "s",
        [("opens", "go"), ("assistant", "c"), ("result", "c", "a")],
        [],
    )


@pytest.mark.parametrize(
    ("output", "text", "ok"),
    [
        ("plain", "plain", True),
        ('{"output":"x","metadata":{"exit_code":1}}', '{"output":"x","metadata":{"exit_code":1}}', False),
        ('{"output":"x","metadata":{"exit_code":0}}', '{"output":"x","metadata":{"exit_code":0}}', True),
        ({"content": "boom", "success": False}, "boom", False),
        ([{"type": "input_text", "text": "a"}, SHOT], "a", True),
        ("{not json", "{not json", True),
        (None, "", True),
    ],
)
def test_an_output_keeps_its_text_and_says_whether_it_went_well(output, text, ok, lines, read):
    rows, _ = read(IMPORTER, lines(META, message("user", "go"), called("c"), returned("c", output)))
    assert (rows[-1].text, rows[-1].ok) == (text, ok)
    assert len(rows[-1].images) == (1 if isinstance(output, list) else 0)


def test_a_patch_call_keeps_its_free_text_and_wrong_arguments_stay_visible(lines, read):
    rows, _ = read(
        IMPORTER,
        lines(
            META,
            message("user", "go"),
            item("custom_tool_call", call_id="p", name="apply_patch", input="*** Begin Patch"),
            item("function_call", call_id="q", name="shell", arguments="{broken"),
        ),
    )
    assert [dict(call.arguments) for call in rows[-1].calls] == [{"input": "*** Begin Patch"}, {"input": "{broken"}]


def test_what_is_not_known_is_reported(lines, read):
    _, skipped = read(
        IMPORTER, lines(META, message("user", "go"), item("telepathy"), happening("sneeze"), {"type": "odd"}, 42)
    )
    assert skipped == [
        "unknown response item telepathy",
        "unknown event sneeze",
        "unknown record type odd",
        "not a record of a session",
    ]
