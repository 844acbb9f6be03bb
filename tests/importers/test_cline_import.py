"""Cline and Roo Code task histories."""

from __future__ import annotations

import json
from typing import Any

import pytest
from refold.importers.agents.cline import IMPORTER
from refold.importers.formats import detect
from refold.importers.messages.xml_tools import tagged_calls
from refold.importers.store import import_file
from refold.transcript.sessions import listing


def text(*parts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": part} for part in parts]


ENVIRONMENT = "<environment_details>\n# Current Mode\nACT MODE\n</environment_details>"

BY_TAGS = [
    {"role": "user", "content": text("<task>\nShow me a.py\n</task>", ENVIRONMENT), "ts": 1777073160794},
    {"role": "assistant", "content": text("I read it.\n<read_file>\n<path>a.py</path>\n</read_file>")},
    {"role": "user", "content": text("[read_file for 'a.py'] Result:", "print('<answer>no</answer>')", ENVIRONMENT)},
    {
        "role": "assistant",
        "content": text("<write_to_file><path>b</path><content>\nx = '</write_to_file>'\n</content></write_to_file>"),
    },
    {
        "role": "user",
        "content": text("[write_to_file for 'b'] Result:\nThe user denied it.", "# TODO LIST x"),
    },
    {"role": "assistant", "content": text("<attempt_completion><result>Done</result></attempt_completion>")},
    {"role": "user", "content": text("[attempt_completion] Result:", "See below.\n<feedback>\nNow b.py\n</feedback>")},
]
NATIVE = [
    {"role": "user", "content": text("<task>\nLook around\n</task>", ENVIRONMENT)},
    {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "id": "t1", "name": "list_files", "input": {"path": "."}, "call_id": "t1"},
            {"type": "tool_use", "id": "t2", "name": "read_file", "input": {"path": "x"}},
            {"type": "tool_use", "id": "t3", "name": "read_file", "input": {"path": "y"}},
        ],
        "modelInfo": {"modelId": "m"},
    },
    {
        "role": "user",
        "content": [
            *text(
                "[read_file for 'x'] Result:\nan x",
                "[read_file for 'y'] Result:\na y",
                "[list_files for '.'] Result:\nx y",
            ),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}},
        ],
    },
    {"role": "assistant", "type": "reasoning", "encrypted_content": "e", "id": "r"},
    {"role": "assistant", "content": text("<think>hm</think> fine")},
    {"role": "user", "content": text("A summary."), "isSummary": True},
]


def test_calls_and_results_in_the_text_are_calls_and_results(read, told):
    rows, skipped = read(IMPORTER, json.dumps(BY_TAGS).encode())
    assert told(rows) == [
        ("notice", ENVIRONMENT),
        ("opens", "Show me a.py"),
        ("assistant", "I read it.", "call-2-1"),
        ("result", "call-2-1", "print('<answer>no</answer>')"),
        ("notice", ENVIRONMENT),
        ("assistant", "call-4-1"),
        ("result", "call-4-1", "The user denied it."),
        ("notice", "# TODO LIST x"),
        ("assistant", "call-6-1"),
        ("result", "call-6-1", "See below."),
        ("opens", "Now b.py"),
    ]
    calls = [(call.name, dict(call.arguments)) for row in rows for call in row.calls]
    assert calls == [
        ("read_file", {"path": "a.py"}),
        ("write_to_file", {"path": "b", "content": "x = '</write_to_file>'"}),
        ("attempt_completion", {"result": "Done"}),
    ]
    assert skipped == []


def test_results_as_texts_answer_calls_as_blocks_by_the_name_of_their_tool(read, told):
    rows, skipped = read(IMPORTER, json.dumps(NATIVE).encode())
    assert told(rows)[2:] == [
        ("assistant", "t1+t2+t3"),
        ("result", "t2", "an x"),
        ("result", "t3", "a y"),
        ("result", "t1", "x y"),
        ("replay", '{"role":"assistant","type":"reasoning","encrypted_content":"e","id":"r"}'),
        ("assistant", "<think>hm</think> fine"),
        ("notice", "A summary."),
    ]
    assert [len(row.images) for row in rows if row.kind == "result"] == [0, 0, 1]
    assert skipped == []


def test_what_the_user_said_in_a_result_block_of_the_api_is_a_prompt(read, told):
    messages = [
        *NATIVE[:1],
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "q", "name": "ask_followup_question", "input": {}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "q", "content": "<answer>\nblue\n</answer>"}],
        },
    ]
    rows, _ = read(IMPORTER, json.dumps(messages).encode())
    assert told(rows)[-2:] == [("result", "q"), ("opens", "blue")]


def test_a_history_is_known_before_it_is_taken_for_plain_messages(tmp_path, database):
    folder = tmp_path / "1777073160794"
    folder.mkdir()
    (folder / "api_conversation_history.json").write_text(json.dumps(BY_TAGS))
    done = import_file(database, folder / "api_conversation_history.json")
    assert (done.format, done.session, done.calls, done.unanswered, done.note) == ("cline", folder.name, 3, 0, "")
    assert import_file(database, folder / "api_conversation_history.json").rows == 0
    with database.read() as reader:
        assert listing(reader)[0].session.created == "2026-04-24T23:26:00Z"
    assert detect(json.dumps(NATIVE[1:]).encode()).format == "cline"
    plain = [{"role": "user", "content": text("hi")}, {"role": "assistant", "content": text("<b>hi</b>")}]
    assert detect(json.dumps(plain).encode()).format == "openai-chat"


@pytest.mark.parametrize(
    ("given", "words", "calls"),
    [
        ("a <read_file><path>x", "a <read_file><path>x", []),
        ("<div><p>x</p></div>", "<div><p>x</p></div>", []),
        ("<read_file>x</read_file> b", "b", [("read_file", {"input": "x"})]),
        (
            "<read_file><path>a</path></read_file><read_file><path>b</path></read_file>",
            "",
            [("read_file", {"path": "a"}), ("read_file", {"path": "b"})],
        ),
        ("<apply_diff><diff><a></a></diff></apply_diff>", "", [("apply_diff", {"diff": "<a></a>"})]),
    ],
)
def test_only_whole_calls_of_known_tools_are_taken_out_of_a_text(given, words, calls):
    found = tagged_calls(given, {"read_file", "apply_diff"})
    assert (found[0], [(call.name, dict(call.arguments)) for call in found[1]]) == (words, calls)
