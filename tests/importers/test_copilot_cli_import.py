"""GitHub Copilot CLI event files."""

from __future__ import annotations

from typing import Any

from refold.importers.agents.copilot_cli import IMPORTER
from refold.importers.formats import detect
from refold.importers.store import import_file
from refold.transcript.sessions import find, tree

WHEN = "2026-03-04T05:06:07.123Z"


def event(kind: str, agent: str | None = None, **data: Any) -> dict[str, Any]:
    made = {"type": kind, "data": data, "id": "e", "timestamp": WHEN, "parentId": None}
    return made | ({"agentId": agent} if agent else {})


def asks(call: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"toolCallId": call, "name": name, "arguments": arguments, "type": "function"}


def result(call: str, content: str, agent: str | None = None, **more: Any) -> dict[str, Any]:
    fields = {"toolCallId": call, "success": True, "result": {"content": content, "detailedContent": "x"}} | more
    return event("tool.execution_complete", agent, **fields)


START = event("session.start", sessionId="s", copilotVersion="1.0", startTime=WHEN, selectedModel="m")
PICTURE = {"type": "image", "data": "QQ==", "mimeType": "image/png"}


def test_events_become_rows_and_the_work_of_a_sub_agent_a_child_session(lines, read, told):
    data = lines(
        START,
        event("system.message", role="system", content="You are."),
        event("user.message", content="go", transformedContent="go!", attachments=[{**PICTURE, "type": "blob"}]),
        event("assistant.turn_start", turnId="0"),
        event(
            "assistant.message",
            messageId="m1",
            content="I look",
            reasoningText="hm",
            toolRequests=[asks("c1", "view", path="/x"), asks("c2", "task", prompt="look")],
        ),
        event("tool.execution_start", toolCallId="c1", toolName="view"),
        result("c1", "one", result={"content": "one", "contents": [PICTURE]}),
        event("subagent.started", "c2", toolCallId="c2", agentName="explore"),
        event("assistant.message", "c2", messageId="m2", content="", toolRequests=[asks("d1", "view")]),
        result("d1", "", "c2", success=False, result=None, error={"message": "no such file"}),
        event("assistant.message", "c2", messageId="m3", content="found", toolRequests=[]),
        event("subagent.completed", "c2", toolCallId="c2"),
        result("c2", "found"),
        event("assistant.message", messageId="m4", content="done"),
        event("session.compaction_complete", success=True, summaryContent="We looked."),
        event("tool.user_requested", toolCallId="u", toolName="bash", arguments={"command": "ls"}),
        result("u", "a\nb"),
        event("user.message", content="keep going", isAutopilotContinuation=True),
        event("session.shutdown", shutdownType="routine"),
        event("wish.made", x=1),
    )
    assert detect(data) is IMPORTER
    rows, skipped = read(IMPORTER, data)
    assert told(rows) == [
        ("notice", "You are."),
        ("opens", "go"),
        ("agent-c2", "assistant", "d1"),
        ("agent-c2", "result", "d1", "no such file"),
        ("replay", '{"reasoningText":"hm"}'),
        ("assistant", "I look", "c1+c2"),
        ("result", "c1", "one"),
        ("spawned", "s/agent-c2"),
        ("joined", "s/agent-c2"),
        ("result", "c2", "found"),
        ("assistant", "done"),
        ("notice", "We looked."),
        ("user", "! ls\n```\na\nb\n```"),
        ("user", "keep going"),
        ("agent-c2", "assistant", "found"),
    ]
    assert [len(row.images) for row in rows if row.text in ("go", "one")] == [1, 1]
    assert skipped == ["unknown event wish.made"]


def test_parts_of_one_response_are_one_row_and_pictures_kept_apart_are_found(lines, read, told):
    data = lines(
        START,
        event("session.binary_asset", assetId="sha256:1", data="QQ==", mimeType="image/png"),
        event("user.message", content="see", attachments=[{"type": "blob", "assetId": "sha256:1"}, {"type": "file"}]),
        event("assistant.message", messageId="a", apiCallId="r", content="first", chunkIndex=0, chunkCount=2),
        event("assistant.message", messageId="b", apiCallId="r", content="second", chunkIndex=1, chunkCount=2),
    )
    rows, _ = read(IMPORTER, data)
    assert told(rows) == [
        ("notice", 'attached: {"type":"file"}'),
        ("opens", "see"),
        ("assistant", "first\n\nsecond"),
    ]
    assert rows[1].images[0].key == "data:image/png;base64,QQ=="


def test_a_file_becomes_a_family_of_sessions(lines, database, tmp_path):
    folder = tmp_path / "s"
    folder.mkdir()
    path = folder / "events.jsonl"
    path.write_bytes(
        lines(START, event("user.message", content="go"), event("assistant.message", "k", messageId="m", content="hi"))
    )
    done = import_file(database, path)
    assert (done.format, done.session, done.rows, done.children) == ("copilot-cli", "s", 3, ("s/agent-k",))
    with database.read() as reader:
        (branch,) = tree(reader, "s")
        assert find(reader, "s").created == "2026-03-04T05:06:07Z"
    assert [child.session.created for child in branch.children] == ["2026-03-04T05:06:07Z"]
    assert import_file(database, path).rows == 0
