"""opencode sessions, as `opencode export` writes them."""

from __future__ import annotations

import io
import json
from typing import Any

from refold.importers.agents.opencode import IMPORTER
from refold.importers.formats import detect
from refold.importers.outline import head_of
from refold.importers.store import import_file
from refold.transcript.sessions import find

PNG = "data:image/png;base64,QQ=="
INFO = {"id": "ses_1", "title": "A talk", "version": "1", "time": {"created": 1772600767123}, "parentID": "ses_0"}


def message(id: str, role: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"info": {"id": id, "role": role, "sessionID": "ses_1", **more}, "parts": list(parts)}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def tool(call: str, status: str, **state: Any) -> dict[str, Any]:
    return {"type": "tool", "callID": call, "tool": "bash", "state": {"status": status, "input": {"n": 1}, **state}}


MESSAGES = [
    message(
        "msg_1", "user", text("go"), text("injected", synthetic=True), {"type": "file", "mime": "image/png", "url": PNG}
    ),
    message(
        "msg_2",
        "assistant",
        {"type": "step-start"},
        {"type": "reasoning", "text": "hm"},
        text("I look"),
        tool("c1", "completed", output="one", attachments=[{"type": "file", "mime": "image/png", "url": PNG}]),
        tool("c2", "error", error="two"),
        {"type": "step-finish"},
        {"type": "step-start"},
        text("and again"),
        tool("c3", "running"),
        modelID="m",
    ),
    message("msg_3", "assistant", text("We looked."), summary=True),
    message("msg_4", "assistant", error={"name": "APIError", "data": {"message": "overloaded"}}),
    message("msg_5", "user", text("wrong way")),
    message("msg_6", "assistant", text("lost")),
    message("msg_7", "moon"),
]


def document(**more: Any) -> bytes:
    return json.dumps({"info": INFO | more, "messages": MESSAGES}, indent=2).encode()


def test_steps_of_messages_become_rows(read, told):
    assert detect(document()) is IMPORTER
    rows, skipped = read(IMPORTER, document())
    assert told(rows) == [
        ("opens", "go"),
        ("notice", "injected"),
        ("replay", '{"type":"reasoning","text":"hm"}'),
        ("assistant", "I look", "c1+c2"),
        ("result", "c1", "one"),
        ("result", "c2", "two"),
        ("assistant", "and again", "c3"),
        ("result", "c3", "[the tool did not end before the session did]"),
        ("notice", "We looked."),
        ("notice", "APIError: overloaded"),
        ("opens", "wrong way"),
        ("assistant", "lost"),
    ]
    assert [len(row.images) for row in rows[:5]] == [1, 0, 0, 0, 1]
    assert skipped == ["message 7 has no known role"]


def test_what_was_reverted_is_a_child_session(read, told):
    rows, _ = read(IMPORTER, document(revert={"messageID": "msg_5"}))
    assert told(rows)[-3:] == [
        ("excursion", "ses_1/branch-msg_5"),
        ("branch-msg_5", "opens", "wrong way"),
        ("branch-msg_5", "assistant", "lost"),
    ]


def test_a_session_is_known_however_large_its_first_message_is_and_finds_its_parent(database):
    parent = {"info": {"id": "ses_0", "title": "Above", "time": {}}, "messages": MESSAGES[:1]}
    import_file(database, io.BytesIO(json.dumps(parent).encode()))
    large = [message("msg_0", "user", text("x" * 200_000)), *MESSAGES]
    data = json.dumps({"info": INFO, "messages": large}).encode()
    assert detect(head_of(io.BytesIO(data))) is IMPORTER
    done = import_file(database, io.BytesIO(data))
    assert (done.session, done.unanswered) == ("ses_1", 0)
    with database.read() as reader:
        found = find(reader, "ses_1")
    assert (found.title, found.created, found.parent) == ("A talk", "2026-03-04T05:06:07Z", "ses_0")
    assert import_file(database, io.BytesIO(data)).rows == 0
