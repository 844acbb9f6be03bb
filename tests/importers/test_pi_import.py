"""pi session files."""

from __future__ import annotations

from typing import Any

from refold.importers.agents.pi import IMPORTER

OLD = {"type": "session", "id": "s", "timestamp": "t", "cwd": "/x", "provider": "p", "modelId": "m"}
SHOT = {"type": "image", "data": "QQ==", "mimeType": "image/png"}
NEW = {"type": "session", "version": 3, "id": "s", "timestamp": "t", "cwd": "/x"}


def entry(id: str, parent: str | None, role: str, content: Any = (), **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": list(content) if isinstance(content, tuple) else content, **more}
    return {"type": "message", "id": id, "parentId": parent, "message": message}


def old(role: str, content: Any = (), **more: Any) -> dict[str, Any]:
    return {"type": "message", "message": entry("", None, role, content, **more)["message"]}


def test_a_linear_file_becomes_rows_with_thinking_calls_results_and_aborts(lines, read, told):
    rows, skipped = read(
        IMPORTER,
        lines(
            OLD,
            {"type": "model_change", "provider": "p", "modelId": "n"},
            old("user", [{"type": "text", "text": "go"}]),
            old(
                "assistant",
                [
                    {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
                    {"type": "text", "text": "I read"},
                    {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "/x"}},
                ],
                provider="anthropic",
                model="opus",
                stopReason="toolUse",
            ),
            old("toolResult", [SHOT], toolCallId="c1", isError=True),
            old("assistant", [], stopReason="aborted", errorMessage="Request was aborted."),
            old("bashExecution", command="ls", output="a\n", exitCode=1),
            old("bashExecution", command="env", output="b", excludeFromContext=True),
            {"type": "compaction", "summary": "so far", "firstKeptEntryIndex": 1, "tokensBefore": 9},
        ),
    )
    assert told(rows) == [
        ("opens", "go"),
        ("replay", '{"type":"thinking","thinking":"hm","thinkingSignature":"s"}'),
        ("assistant", "I read", "c1"),
        ("result", "c1"),
        ("notice", "Request was aborted."),
        ("user", "! ls\n```\na\n\n```\n[exit code 1]"),
        ("command", "! env\n```\nb\n```"),
        ("notice", "so far"),
    ]
    assert rows[1].replay.owner == "imported:anthropic:opus"
    assert (rows[3].ok, rows[3].images[0].key) == (False, "data:image/png;base64,QQ==")
    assert skipped == []


def test_abandoned_branches_of_a_tree_become_child_sessions(lines, read, told):
    rows, skipped = read(
        IMPORTER,
        lines(
            NEW,
            entry("a", None, "user", "first"),
            entry("b", "a", "assistant", [{"type": "text", "text": "yes"}]),
            entry("c", "b", "user", "wrong way"),
            entry("d", "c", "assistant", [{"type": "text", "text": "hm"}]),
            {"type": "branch_summary", "id": "e", "parentId": "b", "fromId": "d", "summary": "tried the wrong way"},
            entry("f", "e", "user", "right way"),
            {"type": "label", "id": "g", "parentId": "f", "targetId": "b", "label": "x"},
        ),
    )
    assert told([row for row in rows if row.ref.session == "s"]) == [
        ("opens", "first"),
        ("assistant", "yes"),
        ("excursion", "s/branch-c"),
        ("notice", "tried the wrong way"),
        ("opens", "right way"),
    ]
    assert told([row for row in rows if row.ref.session != "s"]) == [
        ("branch-c", "opens", "wrong way"),
        ("branch-c", "assistant", "hm"),
    ]
    assert skipped == []


def test_an_extensions_message_is_sent_but_opens_no_turn_and_its_state_is_left_out(lines, read, told):
    rows, _ = read(
        IMPORTER,
        lines(
            NEW,
            entry("a", None, "user", "go"),
            {"type": "custom_message", "id": "b", "parentId": "a", "customType": "x", "content": "remember"},
            {"type": "custom", "id": "c", "parentId": "b", "data": {}},
        ),
    )
    assert told(rows) == [("opens", "go"), ("user", "remember")]


def test_what_is_not_known_is_reported(lines, read):
    _, skipped = read(IMPORTER, lines(OLD, {"type": "odd"}, [1], old("oracle", "x"), old("user", "")))
    assert skipped == [
        "unknown entry type odd",
        "not an entry of a session",
        "a message of unknown role oracle",
        "a prompt without content",
    ]
