"""Hostile and damaged files: every importer gives rows or reasons, and never raises."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refold import Row, SessionFacts
from refold.importers.documents import members
from refold.importers.formats import BUILT_IN
from refold.importers.lines import Unreadable, as_arguments, json_text, parse, records

PROMPT = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "go"}}
claude_code = next(importer for importer in BUILT_IN if importer.format == "claude-code")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"type": "user", "uu', "the file ends in the middle of this line"),
        (b"not json\n", "not JSON at character 1"),
        (b"\x00\x00\x00\n", "not JSON at character 1"),
        (b"[" * 3000 + b"]" * 3000 + b"\n", "nested too deeply to be read"),
        (b'{"a":' * 90000 + b"\n", "nested too deeply to be read"),
    ],
    ids=["half", "words", "zeros", "deep", "deep and half"],
)
def test_a_line_that_cannot_be_read_is_reported_and_the_others_are_read(line, reason, lines, read):
    data = lines(PROMPT) + (line if line.endswith(b"\n") else b"") + lines(PROMPT | {"uuid": "v"})
    data += b"" if line.endswith(b"\n") else line
    rows, skipped = read(claude_code, data)
    assert [row.text for row in rows] == ["go", "go"]
    assert skipped == [reason]


def test_a_byte_order_mark_and_carriage_returns_are_no_part_of_a_record(lines, read):
    data = b"\xef\xbb\xbf" + lines(PROMPT, b"\n", b"  \r\n").replace(b"\n", b"\r\n")
    assert claude_code.detect(data)
    rows, skipped = read(claude_code, data)
    assert ([row.text for row in rows], skipped) == (["go"], [])


def test_bytes_that_are_not_utf8_are_replaced_where_a_person_sees_it():
    assert parse(b'{"a": "x\xff"}') == {"a": "x�"}


def test_lone_surrogates_and_wide_integers_survive():
    assert parse(b'{"a": "\\ud800", "n": 123456789012345678901234567890}') == {
        "a": "\ud800",
        "n": 123456789012345678901234567890,
    }
    assert parse(b"9" * 5000) == "9" * 5000


def test_a_line_over_the_limit_is_reported_with_its_size_and_costs_no_memory():
    data = b"[1]\n" + b"x" * 1000 + b"\n[2]\n"
    assert list(records(io.BytesIO(data), limit=100)) == [
        [1],
        Unreadable("a line of 1001 bytes is over the limit of 100"),
        [2],
    ]


def test_json_text_says_what_json_cannot_hold():
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert json_text(deep) == '"[nested too deeply to be kept]"'
    assert json_text({"a": "\ud800", "n": 2**70}) == '{"a":"\\ud800","n":1180591620717411303424}'
    while deep:  # taking it apart by recursion would end the process
        deep = deep.pop()


WORDS = st.sampled_from(
    [
        "user",
        "assistant",
        "system",
        "message",
        "session",
        "session_meta",
        "response_item",
        "event_msg",
        "compacted",
        "tool_result",
        "tool_use",
        "text",
        "image",
        "toolResult",
        "gemini",
        "function_call",
        "attachment",
        "s",
        "u",
        "human",
        "ai",
        "tool",
        "gpt",
        "observation",
        "request",
        "response",
        "tool-call",
        "tool-return",
        "user-prompt",
        "model",
        "_checkpoint",
        "TurnBegin",
        "ContentPart",
        "ToolCall",
        "ToolResult",
        "SubagentEvent",
        "user.message",
        "assistant.message",
        "session.start",
        "tool.execution_complete",
        "slash_command",
        "chat_compression",
        "agent_message",
        "reasoning",
    ]
)
KEYS = st.sampled_from(
    [
        "type",
        "uuid",
        "parentUuid",
        "sessionId",
        "message",
        "role",
        "content",
        "id",
        "payload",
        "text",
        "input",
        "name",
        "isSidechain",
        "agentId",
        "tool_use_id",
        "call_id",
        "output",
        "source",
        "data",
        "parentId",
        "messages",
        "args",
        "toolCalls",
        "tool_calls",
        "result",
        "$set",
        "$rewindTo",
        "refold",
        "session",
        "kind",
        "row",
        "images",
        "image",
        "parts",
        "part_kind",
        "from",
        "value",
        "conversations",
        "history",
        "trajectory",
        "action",
        "observation",
        "info",
        "contents",
        "functionCall",
        "functionResponse",
        "response",
        "state",
        "tool",
        "callID",
        "systemPayload",
        "subtype",
        "traj",
        "simulations",
        "task_id",
        "reward",
        "lc",
        "kwargs",
        "toolRequests",
        "toolCallId",
        "attachments",
        "tool_name",
        "tool_call_id",
        "event",
        "agent_id",
        "revert",
        "messageID",
        "extra",
        "actions",
        "title",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)
RECORDS = st.dictionaries(KEYS, VALUES, max_size=7) | VALUES
FILES = st.lists(RECORDS, max_size=6).flatmap(
    lambda values: st.sampled_from(
        [
            b"".join(json.dumps(value).encode() + b"\n" for value in values),
            json.dumps(values).encode(),
            json.dumps({"messages": values}).encode(),
            json.dumps({"info": {}, "history": values, "contents": values, "simulations": values}).encode(),
        ]
    )
)


@pytest.mark.parametrize("importer", BUILT_IN, ids=lambda importer: importer.format)
@settings(max_examples=40, deadline=None)
@given(data=FILES | st.binary(max_size=60))
def test_no_file_makes_an_importer_raise(importer, data):
    importer.detect(data)
    for item in importer.rows(io.BytesIO(data)):
        assert isinstance(item, (Row, SessionFacts, str))
        if isinstance(item, Row):
            assert isinstance(item.text, str)
            assert item.call_id is None or isinstance(item.call_id, str)
            assert all(isinstance(call.id, str) and isinstance(call.name, str) for call in item.calls)
            assert item.kind != "event" or item.event


@settings(max_examples=40, deadline=None)
@given(values=st.lists(VALUES.filter(lambda value: value == value), max_size=6), cut=st.integers(0, 200))
def test_a_document_read_in_pieces_is_the_document(values, cut):
    data = json.dumps({"a": 1, "messages": values}).encode()
    parts = [part for part in members(io.BytesIO(data)) if part[0] == "messages"]
    assert json.dumps([value for _, value in parts]) == json.dumps(values)
    for _, value in list(members(io.BytesIO(data[:cut])))[:-1]:
        assert not isinstance(value, Unreadable)


def test_a_response_without_end_is_given_out_in_parts(lines, read):
    codex = next(importer for importer in BUILT_IN if importer.format == "codex")
    call = {"type": "function_call", "name": "f", "arguments": "{}"}
    data = lines(
        {"type": "session_meta", "payload": {"id": "s"}},
        *({"type": "response_item", "payload": call | {"call_id": str(n)}} for n in range(2500)),
    )
    rows, _ = read(codex, data)
    assert [len(row.calls) for row in rows] == [1000, 1000, 500]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        (' {"a": 1}\n', {"a": 1}),
        ("", {}),
        (None, {}),
        ("[1]", {"input": "[1]"}),
        ("rm -rf x", {"input": "rm -rf x"}),
        ([1], {"input": [1]}),
    ],
)
def test_arguments_are_an_object_or_stand_whole_under_input(given, expected):
    assert as_arguments(given) == expected
