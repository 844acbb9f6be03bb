"""Message lists of providers and libraries: one small conversation in each of their forms."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from refold.importers.formats import detect
from refold.importers.outline import head_of
from refold.importers.store import import_file
from refold.transcript.sessions import find

PNG = "data:image/png;base64,QQ=="
PICTURE = {"type": "image_url", "image_url": {"url": PNG}}
EXPECTED = [
    ("notice", "Be kind."),
    ("opens", "look"),
    ("assistant", "I call", "c1+c2"),
    ("result", "c1", "one"),
    ("result", "c2", "two"),
    ("assistant", "done"),
    ("opens", "more"),
]


def gemini(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def dumped(name: str, **fields: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": fields}


CALLS = [{"name": "f", "args": {"n": n}, "id": f"c{n}", "type": "tool_call"} for n in (1, 2)]
LANGCHAIN: list[tuple[str, dict[str, Any]]] = [
    ("system", {"content": "Be kind."}),
    ("human", {"content": [{"type": "text", "text": "look"}, PICTURE]}),
    (
        "ai",
        {
            "content": [{"type": "text", "text": "I call"}, {"type": "tool_use", "id": "c1", "name": "f", "input": {}}],
            "tool_calls": CALLS,
        },
    ),
    ("tool", {"content": "one", "tool_call_id": "c1"}),
    ("tool", {"content": [{"type": "text", "text": "two"}], "tool_call_id": "c2", "status": "error"}),
    ("ai", {"content": "done", "tool_calls": []}),
    ("human", {"content": "more"}),
]
CLASSES = {"system": "SystemMessage", "human": "HumanMessage", "ai": "AIMessageChunk", "tool": "ToolMessage"}

FILES: dict[str, tuple[str, Any]] = {
    "langchain dict": ("langchain", [{"type": kind, "data": data} for kind, data in LANGCHAIN]),
    "langchain dumps": ("langchain", [dumped(CLASSES[kind], **data) for kind, data in LANGCHAIN]),
    "langchain state": ("langchain", {"messages": [{"type": kind, **data} for kind, data in LANGCHAIN]}),
    "pydantic-ai": (
        "pydantic-ai",
        [
            {
                "kind": "request",
                "instructions": "Be kind.",
                "parts": [
                    {
                        "part_kind": "user-prompt",
                        "content": ["look", {"kind": "binary", "data": "QQ==", "media_type": "image/png"}],
                        "timestamp": "2026-03-04T05:06:07Z",
                    }
                ],
            },
            {
                "kind": "response",
                "model_name": "m",
                "parts": [
                    {"part_kind": "text", "content": "I call"},
                    {"part_kind": "tool-call", "tool_name": "f", "args": {"n": 1}, "tool_call_id": "c1"},
                    {"part_kind": "tool-call", "tool_name": "f", "args": '{"n":2}', "tool_call_id": "c2"},
                ],
            },
            {
                "kind": "request",
                "instructions": "Be kind.",
                "parts": [
                    {"part_kind": "tool-return", "tool_name": "f", "content": "one", "tool_call_id": "c1"},
                    {"part_kind": "retry-prompt", "tool_name": "f", "content": "two", "tool_call_id": "c2"},
                ],
            },
            {"kind": "response", "parts": [{"part_kind": "text", "content": "done"}]},
            {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "more"}]},
        ],
    ),
    "openai-responses": (
        "openai-responses",
        {
            "model": "m",
            "instructions": "Be kind.",
            "input": [
                {
                    "role": "user",
                    "content": [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": PNG}],
                },
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I call"}]},
                {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"n":1}'},
                {"type": "function_call", "call_id": "c2", "name": "f", "arguments": '{"n":2}'},
                {"type": "function_call_output", "call_id": "c1", "output": "one"},
                {
                    "type": "function_call_output",
                    "call_id": "c2",
                    "status": "incomplete",
                    "output": [{"type": "input_text", "text": "two"}],
                },
            ],
            "output": [
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
                {"role": "user", "content": "more"},
            ],
        },
    ),
    "gemini-contents": (
        "gemini-contents",
        {
            "contents": [
                gemini("user", {"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "QQ=="}}),
                gemini(
                    "model",
                    {"text": "I "},
                    {"text": "call"},
                    {"functionCall": {"name": "f", "args": {"n": 1}, "id": "c1"}},
                    {"function_call": {"name": "f", "args": {"n": 2}, "id": "c2"}},
                ),
                gemini(
                    "user",
                    {"functionResponse": {"name": "f", "id": "c1", "response": {"output": "one"}}},
                    {"function_response": {"name": "f", "response": {"error": "two"}}},
                ),
                gemini("model", {"text": "done"}),
                gemini("user", {"text": "more"}),
            ],
            "systemInstruction": {"parts": [{"text": "Be kind."}]},
        },
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_conversation_in_each_form_becomes_the_same_rows(name, read, told):
    format, document = FILES[name]
    data = json.dumps(document, indent=2).encode()
    importer = detect(head_of(io.BytesIO(data)))
    assert importer.format == format
    rows, skipped = read(importer, data)
    assert (told(rows), skipped) == (EXPECTED, [])
    assert [image.key for image in rows[1].images] == [PNG]
    assert [dict(call.arguments) for call in rows[2].calls] == [{"n": 1}, {"n": 2}]
    assert [row.ok for row in rows if row.kind == "result"] == [True, False]


@pytest.mark.parametrize("name", FILES)
def test_a_list_that_grew_adds_what_is_new(name, database, tmp_path):
    path = tmp_path / "talk.json"
    _, document = FILES[name]
    if isinstance(document, dict):
        key = next(key for key in ("output", "contents", "messages") if key in document)
        shorter: Any = {**document, key: document[key][:-1]}
    else:
        shorter = document[:-1]
    path.write_text(json.dumps(shorter))
    first = import_file(database, path)
    path.write_text(json.dumps(document))
    done = import_file(database, path)
    assert (done.session, done.rows, done.already) == ("talk", 1, len(EXPECTED) - 1)
    assert (first.calls, first.unanswered, first.note, done.note) == (2, 0, "", "")
    assert import_file(database, path).rows == 0


def rows_of(read: Any, told: Any, document: Any) -> tuple[list[tuple[str, ...]], list[str]]:
    data = json.dumps(document).encode()
    rows, skipped = read(detect(data), data)
    return told(rows), skipped


def test_langchains_other_messages_are_kept_or_told(read, told):
    messages = [
        {"type": "human", "data": {"content": "go"}},
        {
            "type": "ai",
            "data": {
                "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "x"}],
                "additional_kwargs": {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]},
                "invalid_tool_calls": [],
            },
        },
        {"type": "function", "data": {"content": "by its name", "name": "f"}},
        {"type": "ai", "data": {"content": "", "invalid_tool_calls": [{"id": "b", "name": "g", "args": "{no"}]}},
        {"type": "chat", "data": {"content": "a word", "role": "critic"}},
        {"type": "remove", "data": {"content": "", "id": "x"}},
        {"type": "oracle", "data": {"content": ""}},
        7,
    ]
    assert rows_of(read, told, messages) == (
        [
            ("opens", "go"),
            ("replay", '{"type":"thinking","thinking":"hm","signature":"s"}'),
            ("assistant", "x", "a"),
            ("result", "a", "by its name"),
            ("assistant", "b"),
            ("notice", "a word"),
        ],
        [
            "message 6 only says that an earlier one was removed",
            "message 7 has no known type",
            "message 8 has no known type",
        ],
    )


def test_pydantic_ais_other_parts_are_kept_or_told(read, told):
    messages = [
        {
            "kind": "request",
            "parts": [
                {"part_kind": "system-prompt", "content": "Be kind."},
                {"part_kind": "user-prompt", "content": [{"kind": "document-url", "url": "https://x/y.pdf"}]},
                {"part_kind": "wish", "content": "x"},
            ],
        },
        {
            "kind": "response",
            "parts": [
                {"part_kind": "thinking", "content": "hm"},
                {"part_kind": "file", "content": {"kind": "binary", "data": "QQ==", "media_type": "image/png"}},
                {"part_kind": "tool-call", "tool_name": "f", "args": None, "tool_call_id": "a"},
            ],
        },
        {
            "kind": "request",
            "parts": [
                {"part_kind": "user-prompt", "content": "and hurry"},
                {"part_kind": "tool-return", "tool_name": "f", "content": {"x": [1]}, "tool_call_id": "a"},
                {"part_kind": "retry-prompt", "content": "say it as JSON"},
            ],
        },
        {"kind": "wish", "parts": []},
    ]
    document = '{"kind":"document-url","url":"https://x/y.pdf"}'
    assert rows_of(read, told, messages) == (
        [
            ("notice", "Be kind."),
            ("opens", "[document-url: kept in the transcript, not shown]"),
            ("notice", document),
            ("replay", '{"part_kind":"thinking","content":"hm"}'),
            ("assistant", "a"),
            ("result", "a", '{"x":[1]}'),
            ("user", "and hurry"),
            ("user", "say it as JSON"),
        ],
        ["message 1 has a part of unknown kind wish", "message 4 is neither a request nor a response"],
    )


def test_responses_other_items_are_kept_or_told(read, told):
    document = {
        "object": "response",
        "created_at": 1772600767,
        "input": "go",
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}},
            {
                "type": "shell_call_output",
                "call_id": "s",
                "output": [{"stdout": "a", "stderr": "b", "outcome": {"type": "exit", "exit_code": 2}}],
            },
            {"type": "computer_call", "call_id": "k", "action": {"type": "click"}},
            {
                "type": "computer_call_output",
                "call_id": "k",
                "output": {"type": "computer_screenshot", "image_url": PNG},
            },
            {"type": "item_reference", "id": "x"},
            {"type": "wish"},
        ],
    }
    data = json.dumps(document).encode()
    rows, skipped = read(detect(data), data)
    assert told(rows) == [
        ("opens", "go"),
        ("replay", '{"type":"reasoning","summary":[]}'),
        ("assistant", "s"),
        ("result", "s", "a\nb\n[exit code 2]"),
        ("assistant", "k"),
        ("result", "k"),
    ]
    assert ([row.ok for row in rows if row.kind == "result"], len(rows[-1].images)) == ([False, True], 1)
    assert skipped == ["item 7 refers to an item that is not in the file", "item 8 is of unknown type wish"]


def test_gemini_calls_without_ids_are_answered_by_the_names_of_their_tools(read, told):
    contents = [
        gemini("user", {"text": "go"}),
        gemini(
            "model",
            {"text": "hm", "thought": True},
            {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "s"},
            {"functionCall": {"name": "g", "args": {}}},
        ),
        gemini(
            "function",
            {"functionResponse": {"name": "g", "response": {"a": 1}}},
            {"functionResponse": {"name": "f", "response": {"output": "x"}}},
            {"fileData": {"fileUri": "gs://x"}},
        ),
        gemini("model"),
        {"role": "oracle", "parts": []},
    ]
    assert rows_of(read, told, contents) == (
        [
            ("opens", "go"),
            ("replay", '{"text":"hm","thought":true}'),
            ("replay", '{"functionCall":{"name":"f","args":{}},"thoughtSignature":"s"}'),
            ("assistant", "call-2-2+call-2-3"),
            ("result", "call-2-3", '{"a":1}'),
            ("result", "call-2-2", "x"),
            ("user", "[file: gs://x]"),
        ],
        ["content 4 is empty", "content 5 has no known role, or no parts"],
    )


SHARED = [
    {"from": "system", "value": "Be kind."},
    {"from": "human", "value": "look"},
    {"from": "gpt", "value": 'I call <tool_call>{"name": "f", "arguments": {"n": 1}}</tool_call>'},
    {"from": "tool", "value": "<tool_response>\none\n</tool_response>"},
    {"from": "function_call", "value": '{"name": "g", "arguments": "{}"}'},
    {"from": "observation", "value": "two"},
    {"from": "gpt", "value": "done"},
    {"from": "moon", "value": "?"},
]


@pytest.mark.parametrize("shape", ["object", "list", "lines", "bare"])
def test_sharegpt_conversations_become_rows(shape, read, told):
    one = {"id": "x", "conversations": SHARED}
    shapes = {"object": one, "list": [one, one], "lines": None, "bare": SHARED}
    lines = b"\n".join([json.dumps(one).encode()] * 2)
    data = lines if shape == "lines" else json.dumps(shapes[shape]).encode()
    assert detect(data).format == "sharegpt"
    rows, skipped = read(detect(data), data)
    many = shape in ("list", "lines")
    assert len({row.ref.session for row in rows}) == (2 if many else 1)
    assert told([row for row in rows if not row.ref.session]) == [
        ("notice", "Be kind."),
        ("opens", "look"),
        ("assistant", "I call", "call-3-1"),
        ("result", "call-3-1", "one"),
        ("assistant", "call-5-1"),
        ("result", "call-5-1", "two"),
        ("assistant", "done"),
    ]
    assert skipped == ["message 8 is from nobody that is known"] * (2 if many else 1)


CHAT = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "name": "f", "arguments": {"n": 1}}]},
    {"role": "tool", "id": "c1", "content": "ok", "requestor": "assistant"},
    {"role": "user", "content": None, "tool_calls": [{"id": "u1", "name": "toggle", "arguments": {}}]},
    {"role": "tool", "id": "u1", "content": "on", "requestor": "user"},
    {"role": "assistant", "content": "done"},
]


def test_each_run_of_a_benchmark_is_a_conversation_with_its_task_as_title(database, tmp_path):
    old = [{"task_id": n, "trial": 0, "reward": 1.0, "info": {}, "traj": CHAT[:3]} for n in range(2)]
    (tmp_path / "old.json").write_text(json.dumps(old, indent=2))
    done = import_file(database, tmp_path / "old.json")
    assert (done.format, [each.rows for each in done.sessions], done.unanswered) == ("tau-bench", [3, 3], 0)
    run = {"task_id": "7", "trial": 1, "reward_info": {}, "start_time": "2026-03-04T05:06:07", "messages": CHAT}
    new = {"timestamp": "x", "info": {}, "tasks": [{"id": "7"}], "simulations": [run, {**run, "messages": []}, run]}
    (tmp_path / "new.json").write_text(json.dumps(new, indent=2))
    done = import_file(database, tmp_path / "new.json")
    assert [each.session for each in done.sessions] == ["new", "new.3"]
    with database.read() as reader:
        assert find(reader, "old.2").title == "task 1, trial 0"
        found = find(reader, "new.3")
    assert (found.title, found.created) == ("task 7, trial 1", "2026-03-04T05:06:07Z")


def test_what_a_simulated_user_does_with_tools_of_its_own_is_a_notice(read, told):
    run = {"task_id": "7", "trial": 1, "reward_info": {}, "messages": CHAT}
    assert rows_of(read, told, {"simulations": [run]}) == (
        [
            ("opens", "go"),
            ("assistant", "c1"),
            ("result", "c1", "ok"),
            ("notice", '[call of the user\'s own tool]\n{"id":"u1","name":"toggle","arguments":{}}'),
            ("notice", "[result of the user's own tool]\non"),
            ("assistant", "done"),
        ],
        [],
    )
