"""Calls whose results are somewhere else than an importer looks: found where they are, or told loudly."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from refold.importers.messages.openai_chat import IMPORTER, TOGETHER
from refold.importers.store import import_file


def call(id: str, name: str = "bash") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def answered(*results: dict[str, Any], calls: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    made = [call("c1"), call("c2", "read")] if calls is None else calls
    return [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": made},
        *({"role": "tool", "content": str(n), **each} for n, each in enumerate(results)),
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "more"},
    ]


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([{"tool_call_id": "c1"}, {"tool_call_id": "c2"}], [("c1", "0"), ("c2", "1")]),
        ([{"id": "c2"}, {"id": "c1"}], [("c2", "0"), ("c1", "1")]),
        ([{"call_id": "c2"}, {"tool_use_id": "c1"}], [("c2", "0"), ("c1", "1")]),
        ([{"tool_call_ids": ["c1"]}, {"tool_call_ids": ["c2"]}], [("c1", "0"), ("c2", "1")]),
        ([{"tool_call_ids": ["c1", "c2"]}], [("c1", "0"), ("c2", TOGETHER)]),
        ([{}, {}], [("c1", "0"), ("c2", "1")]),
        ([{"name": "read"}, {"name": "bash"}], [("c2", "0"), ("c1", "1")]),
        ([{"id": "msg-7"}, {"id": "msg-8"}], [("c1", "0"), ("c2", "1")]),
        ([{"tool_call_id": "c9"}], [("c9", "0")]),
    ],
)
def test_a_result_answers_the_call_that_it_names_in_whatever_way(results, expected, read):
    rows, skipped = read(IMPORTER, json.dumps(answered(*results)).encode())
    assert [(row.call_id, row.text) for row in rows if row.kind == "result"] == expected
    assert skipped == []


def test_calls_without_an_id_are_answered_in_their_order(read):
    calls = [{"function": {"name": "f", "arguments": "{}"}}, {"name": "g", "arguments": {"a": 1}}]
    rows, _ = read(IMPORTER, json.dumps(answered({}, {}, calls=calls)).encode())
    made = [(made.id, made.name) for row in rows for made in row.calls]
    assert made == [("call-2-1", "f"), ("call-2-2", "g")]
    assert [row.call_id for row in rows if row.kind == "result"] == ["call-2-1", "call-2-2"]


def test_blocks_of_another_provider_among_chat_messages_are_read_as_what_they_are(read, told):
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]},
    ]
    rows, skipped = read(IMPORTER, json.dumps(messages).encode())
    assert (told(rows), skipped) == ([("opens", "go"), ("assistant", "t"), ("result", "t", "ok")], [])


def imported(database: Any, messages: list[dict[str, Any]]) -> Any:
    return import_file(database, io.BytesIO(json.dumps(messages).encode()))


@pytest.mark.parametrize(
    ("messages", "calls", "unanswered", "warned"),
    [
        (answered({"tool_call_id": "c1"}, {"tool_call_id": "c2"}), 2, 0, ""),
        (answered({"tool_call_id": "c1"}), 2, 1, ""),
        (answered(), 2, 2, "2 of 2 calls find no result"),
        (answered({"tool_call_id": "c8"}, {"tool_call_id": "c9"}), 2, 2, "2 of 2 calls find no result"),
        (answered(calls=[call("c1")]), 1, 1, "1 of 1 calls find no result"),
        (answered()[:2], 2, 0, ""),
        (answered({"tool_call_id": "c1"}, calls=[]), 0, 0, "1 of 1 results name no call that the file makes"),
        (answered({}, calls=[]), 0, 0, "1 of 1 results name no call that the file makes"),
    ],
    ids=[
        "all answered",
        "half answered",
        "none answered",
        "other ids",
        "one call",
        "the end of the file",
        "a result alone",
        "a result without an id",
    ],
)
def test_a_file_whose_calls_mostly_find_no_result_is_told_loudly(messages, calls, unanswered, warned, database):
    for _ in range(2):
        done = imported(database, messages)
        assert (done.calls, done.unanswered) == (calls, unanswered)
        assert done.note.startswith(warned)
        assert bool(done.note) == bool(warned)
        assert "\n" not in done.note
