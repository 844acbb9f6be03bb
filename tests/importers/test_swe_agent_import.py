"""Trajectories of SWE-agent and mini-SWE-agent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from refold.importers.agents.swe_agent import IMPORTER
from refold.importers.formats import detect

INFO = {"exit_status": "submitted", "submission": "diff", "model_stats": {"api_calls": 2}}
STEPS = [
    {"thought": "I look", "action": "ls\n", "observation": "a.py", "response": "I look\n```\nls\n```", "state": "{}"},
    {"thought": "Done", "action": "", "observation": None, "response": "Done"},
    {"action": "", "observation": "", "thought": "", "response": ""},
]
CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}
HISTORIES: dict[str, Any] = {
    "tools": {
        "trajectory": STEPS,
        "history": [
            {"role": "system", "content": "You are.", "agent": "main", "message_type": "system_prompt"},
            {"role": "user", "content": [{"type": "text", "text": "Fix it"}], "message_type": "observation"},
            {"role": "assistant", "content": "I look", "tool_calls": [CALL], "action": "ls", "message_type": "action"},
            {"role": "tool", "content": [{"type": "text", "text": "a.py"}], "tool_call_ids": ["c1"]},
            {"role": "assistant", "content": "Done"},
        ],
        "info": INFO,
    },
    "text": {
        "environment": "swe_main",
        "trajectory": STEPS,
        "history": [
            {"role": "system", "content": "You are.", "agent": "main"},
            {"role": "user", "content": "Here is a demonstration", "agent": "main", "is_demo": True},
            {"role": "user", "content": "Fix it", "agent": "main"},
            {"role": "assistant", "content": "I look\n```\nls\n```", "thought": "I look", "action": "ls\n"},
            {"role": "user", "content": "a.py", "agent": "main"},
            {"role": "assistant", "content": "Done", "thought": "Done", "action": ""},
        ],
        "info": INFO,
    },
    "mini": {
        "info": INFO,
        "messages": [
            {"role": "system", "content": "You are."},
            {"role": "user", "content": "Fix it"},
            {"role": "assistant", "content": "I look\n\n```mswea_bash_command\nls\n```"},
            {"role": "user", "content": "a.py", "extra": {"returncode": 1, "raw_output": "a.py"}},
            {"role": "assistant", "content": "Done"},
            {"role": "exit", "content": "Submitted", "extra": {"exit_status": "Submitted"}},
        ],
        "trajectory_format": "mini-swe-agent-1.1",
    },
    "mini tools": {
        "info": INFO,
        "messages": [
            {"role": "system", "content": "You are."},
            {"role": "user", "content": "Fix it"},
            {
                "role": "assistant",
                "content": "I look",
                "tool_calls": [CALL],
                "extra": {"actions": [{"command": "ls", "tool_call_id": "c1"}], "timestamp": 1772600767.5},
            },
            {"role": "tool", "tool_call_id": "c1", "content": "a.py", "extra": {"returncode": 0}},
            {"role": "assistant", "content": "Done"},
        ],
        "trajectory_format": "mini-swe-agent-1.1",
    },
}


@pytest.mark.parametrize("name", HISTORIES)
def test_a_command_and_what_it_printed_are_a_call_and_its_result(name, read, told):
    data = json.dumps(HISTORIES[name], indent=2).encode()
    assert detect(data) is IMPORTER
    rows, skipped = read(IMPORTER, data)
    assert [(row.kind, row.opens) for row in rows if row.kind != "event"] == [
        ("user", True),
        ("assistant", False),
        ("result", False),
        ("assistant", False),
    ]
    answer, result = (row for row in rows if row.calls or row.kind == "result")
    assert dict(answer.calls[0].arguments) == {"command": "ls"}
    assert (result.call_id, result.text, result.ok) == (answer.calls[0].id, "a.py", name != "mini")
    assert answer.text.startswith("I look")
    assert skipped == []


def test_a_trajectory_without_messages_is_read_from_its_steps(read, told):
    data = json.dumps({"environment": "swe_main", "trajectory": STEPS, "info": INFO}).encode()
    assert detect(data) is IMPORTER
    rows, skipped = read(IMPORTER, data)
    assert told(rows) == [
        ("notice", "environment: swe_main"),
        ("assistant", "I look", "call-1"),
        ("result", "call-1", "a.py"),
        ("assistant", "Done"),
    ]
    assert skipped == ["step 3 is empty"]


def test_an_answer_with_several_commands_ran_none_of_them(read, told):
    messages = [
        {"role": "user", "content": "Fix it"},
        {"role": "assistant", "content": "```bash\na\n```\n```bash\nb\n```"},
        {"role": "user", "content": "Exactly one, please"},
    ]
    data = json.dumps({"messages": messages, "info": INFO, "trajectory_format": "mini-swe-agent-1"}).encode()
    rows, _ = read(IMPORTER, data)
    assert [(row.kind, row.opens, len(row.calls)) for row in rows] == [
        ("user", True, 0),
        ("assistant", False, 0),
        ("user", True, 0),
    ]
