"""Gemini CLI session files, both formats."""

from __future__ import annotations

import json
from typing import Any

from refold.importers.agents.gemini_cli import IMPORTER

META = {"sessionId": "s", "projectHash": "h", "startTime": "t", "kind": "main"}


def message(id: str, kind: str, content: Any = "", **more: Any) -> dict[str, Any]:
    return {"id": id, "type": kind, "content": content, **more}


def tool(id: str, output: str | None = None, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"id": id, "name": "read_file", "args": {"path": "/x"}, "status": "success", **more}
    if output is not None:
        made["result"] = [{"functionResponse": {"id": id, "name": "read_file", "response": {"output": output}}}]
    return made


EXPECTED = [
    ("opens", "go"),
    ("replay", '{"thoughts":[{"subject":"plan"}]}'),
    ("assistant", "reading", "c1+c2"),
    ("result", "c1", "text"),
    ("notice", "cancelled"),
]
ANSWER = message(
    "2", "gemini", "reading", thoughts=[{"subject": "plan"}], toolCalls=[tool("c1", "text"), tool("c2")], model="g-x"
)


def test_a_later_record_of_a_message_replaces_the_earlier_one(lines, read, told):
    begun = message("2", "gemini", "rea")
    data = lines(META, message("1", "user", [{"text": "go"}]), begun, ANSWER, message("3", "info", "cancelled"))
    assert IMPORTER.detect(data)
    rows, skipped = read(IMPORTER, data)
    assert (told(rows), skipped) == (EXPECTED, [])
    assert rows[0].ref.session == "s"
    assert rows[1].replay.owner == "imported:gemini:g-x"


def test_the_older_document_gives_the_same_rows(read, told):
    document = {**META, "messages": [message("1", "user", "go"), ANSWER, message("3", "info", "cancelled")]}
    for text in (json.dumps(document), json.dumps(document, indent=2)):
        assert IMPORTER.detect(text.encode())
        rows, skipped = read(IMPORTER, text.encode())
        assert (told(rows), skipped) == (EXPECTED, [])


def test_a_rewind_makes_the_dropped_messages_a_child_session(lines, read, told):
    rows, _ = read(
        IMPORTER,
        lines(
            META,
            message("1", "user", "first"),
            message("2", "gemini", "yes"),
            message("3", "user", "wrong"),
            message("4", "gemini", "hm"),
            {"$rewindTo": "3"},
            message("5", "user", "right"),
        ),
    )
    assert told([row for row in rows if row.ref.session == "s"]) == [
        ("opens", "first"),
        ("assistant", "yes"),
        ("excursion", "s/branch-3"),
        ("opens", "right"),
    ]
    assert told([row for row in rows if row.ref.session != "s"]) == [
        ("branch-3", "opens", "wrong"),
        ("branch-3", "assistant", "hm"),
    ]


def test_a_checkpoint_after_a_compression_brings_only_its_summary_as_a_notice(lines, read, told):
    first = message("1", "user", "go")
    checkpoint = {"$set": {"messages": [message("x", "user", "<summary>"), first]}}
    rows, _ = read(IMPORTER, lines(META, first, checkpoint, message("2", "user", "on")))
    assert told(rows) == [("opens", "go"), ("notice", "<summary>"), ("opens", "on")]


def test_failed_calls_and_pictures_are_kept(lines, read):
    shot = [{"inlineData": {"mimeType": "image/png", "data": "QQ=="}}, "seen"]
    calls = [tool("c1", status="error", result=shot)]
    rows, _ = read(IMPORTER, lines(META, message("1", "user", "go"), message("2", "gemini", "", toolCalls=calls)))
    assert (rows[-1].ok, rows[-1].text, rows[-1].images[0].key) == (False, "seen", "data:image/png;base64,QQ==")
