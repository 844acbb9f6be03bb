"""OpenAI chat messages and Anthropic messages: whole JSON documents."""

from __future__ import annotations

import json

import pytest
from refold.importers.messages.anthropic_messages import IMPORTER as ANTHROPIC
from refold.importers.messages.openai_chat import IMPORTER as OPENAI

PICTURE = "data:image/png;base64,QQ=="

SAID = {"type": "text", "text": "look"}
ONE = {"type": "text", "text": "one"}

OPENAI_MESSAGES = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": [SAID, {"type": "image_url", "image_url": {"url": PICTURE}}]},
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path":"/x"}'}},
            {"id": "c2", "type": "function", "function": {"name": "read", "arguments": "[1]"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "one"},
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "two"}]},
    {"role": "assistant", "content": "both"},
]

ANTHROPIC_MESSAGES = [
    {"role": "user", "content": "look"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "/x"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": [ONE], "is_error": True},
            {"type": "text", "text": "and hurry"},
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
]


@pytest.mark.parametrize("shape", ["list", "object", "indented"])
def test_openai_messages_become_rows(shape, read, told):
    document = OPENAI_MESSAGES if shape == "list" else {"model": "gpt-x", "messages": OPENAI_MESSAGES, "tools": []}
    data = json.dumps(document, indent=2 if shape == "indented" else None).encode()
    assert OPENAI.detect(data)
    assert not ANTHROPIC.detect(data)
    rows, skipped = read(OPENAI, data)
    assert told(rows) == [
        ("notice", "Be kind."),
        ("opens", "look"),
        ("replay", '{"reasoning_content":"hm"}'),
        ("assistant", "c1+c2"),
        ("result", "c1", "one"),
        ("result", "c2", "two"),
        ("assistant", "both"),
    ]
    assert rows[1].images[0].key == PICTURE
    assert [dict(call.arguments) for call in rows[3].calls] == [{"path": "/x"}, {"input": "[1]"}]
    assert skipped == []


def test_old_function_calls_are_paired_by_name(read, told):
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "x"},
    ]
    rows, _ = read(OPENAI, json.dumps(messages).encode())
    assert told(rows)[1:] == [("assistant", "call-2"), ("result", "call-2", "x")]


def test_anthropic_messages_become_rows_and_words_beside_results_open_no_turn(read, told):
    data = json.dumps({"model": "claude-x", "system": "Be kind.", "messages": ANTHROPIC_MESSAGES}).encode()
    assert ANTHROPIC.detect(data)
    rows, skipped = read(ANTHROPIC, data)
    assert told(rows) == [
        ("notice", "Be kind."),
        ("opens", "look"),
        ("replay", '{"type":"thinking","thinking":"hm","signature":"s"}'),
        ("assistant", "c1"),
        ("result", "c1", "one"),
        ("user", "and hurry"),
        ("assistant", "done"),
    ]
    assert not rows[4].ok
    assert rows[2].replay.owner == "imported:anthropic:claude-x"
    assert skipped == []


def test_a_document_that_breaks_off_gives_the_messages_before_the_break(read):
    whole = json.dumps(OPENAI_MESSAGES).encode()
    rows, skipped = read(OPENAI, whole[: whole.index(b"both") + 2])
    assert len(rows) == 6
    assert skipped == ["the file is cut: its JSON ends in the middle; 5 messages before it were read"]


@pytest.mark.parametrize("importer", [OPENAI, ANTHROPIC], ids=lambda importer: importer.format)
def test_messages_that_say_nothing_or_have_no_role_are_reported(importer, read):
    data = json.dumps([{"role": "oracle", "content": "x"}, {"role": "user", "content": ""}, 3]).encode()
    rows, skipped = read(importer, data)
    assert rows == []
    assert [reason.partition(" ")[0] for reason in skipped] == ["message"] * 3
