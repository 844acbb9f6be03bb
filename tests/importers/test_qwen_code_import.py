"""Qwen Code session files."""

from __future__ import annotations

from typing import Any

from refold.importers.agents.qwen_code import IMPORTER
from refold.importers.formats import detect
from refold.importers.store import import_file
from refold.transcript.sessions import find

WHEN = "2026-03-04T05:06:07.123Z"


def record(n: int, kind: str, *parts: dict[str, Any], parent: int | None = -1, **more: Any) -> dict[str, Any]:
    above = n - 1 if parent == -1 else parent
    return {
        "uuid": f"u{n}",
        "parentUuid": f"u{above}" if above else None,
        "sessionId": "s",
        "timestamp": WHEN,
        "type": kind,
        "cwd": "/",
        "version": "1",
        **({"message": {"role": "model" if kind == "assistant" else "user", "parts": list(parts)}} if parts else {}),
        **more,
    }


def said(text: str) -> dict[str, Any]:
    return {"text": text}


CALL = {"functionCall": {"name": "read_file", "args": {"path": "x"}, "id": "c1"}}
ANSWER = {"functionResponse": {"name": "read_file", "id": "c1", "response": {"output": "an x"}}}


def test_records_become_rows_and_a_rewound_continuation_a_child_session(lines, read, told):
    data = lines(
        record(1, "system", subtype="session_source", systemPayload={"sourceType": "cli"}),
        record(2, "user", said("go")),
        record(3, "assistant", {"text": "hm", "thought": True}, said("I look"), CALL, model="qwen"),
        record(4, "tool_result", ANSWER, toolCallResult={"callId": "c1", "status": "success"}),
        record(5, "assistant", said("done")),
        record(6, "user", said("wrong way")),
        record(7, "assistant", said("lost")),
        record(8, "user", said("another way"), parent=5),
        record(9, "user", said("meanwhile"), subtype="mid_turn_user_message"),
        record(10, "user", said("a task ended"), subtype="notification", provenance="system"),
        record(11, "system", subtype="slash_command", systemPayload={"phase": "invocation", "rawCommand": "/about"}),
        record(
            12,
            "system",
            subtype="slash_command",
            systemPayload={"phase": "result", "rawCommand": "/stats", "outputHistoryItems": [{"text": "1 turn"}]},
        ),
        record(
            13,
            "system",
            subtype="chat_compression",
            systemPayload={
                "info": {"originalTokenCount": 9, "newTokenCount": 3},
                "compressedHistory": [{"role": "user", "parts": [said("We looked.")]}],
            },
        ),
        record(14, "assistant", said("ok")),
        record(15, "wish"),
    )
    assert detect(data) is IMPORTER
    rows, skipped = read(IMPORTER, data)
    assert told(rows) == [
        ("opens", "go"),
        ("replay", '{"text":"hm","thought":true}'),
        ("assistant", "I look", "c1"),
        ("result", "c1", "an x"),
        ("branch-u6", "opens", "wrong way"),
        ("assistant", "done"),
        ("excursion", "s/branch-u6"),
        ("opens", "another way"),
        ("user", "meanwhile"),
        ("notice", "a task ended"),
        ("command", "/about"),
        ("command", "/stats\n1 turn"),
        ("notice", "The conversation was compressed (9 to 3 tokens).\nWe looked."),
        ("assistant", "ok"),
        ("branch-u6", "assistant", "lost"),
    ]
    assert rows[1].replay.owner == "imported:gemini:qwen"
    assert skipped == ["unknown record type wish"]


def test_a_session_keeps_its_title_its_time_and_its_parent(lines, database):
    import io

    parent = lines(record(1, "user", said("go"))).replace(b'"s"', b'"p"')
    import_file(database, io.BytesIO(parent))
    data = lines(
        record(1, "system", subtype="parent_session", systemPayload={"parentSessionId": "p"}),
        record(2, "user", said("look")),
        record(3, "assistant", said("in a side room"), isSidechain=True, agentId="explore-1"),
        record(4, "system", subtype="custom_title", systemPayload={"customTitle": "A talk"}),
    )
    done = import_file(database, io.BytesIO(data))
    assert (done.format, done.session, done.children) == ("qwen-code", "s", ("s/agent-explore-1",))
    with database.read() as reader:
        found = find(reader, "s")
    assert (found.title, found.created, found.parent) == ("A talk", "2026-03-04T05:06:07Z", "p")
    assert import_file(database, io.BytesIO(data)).rows == 0
