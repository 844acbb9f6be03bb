"""Which importer a file gets."""

from __future__ import annotations

import io
import json

import pytest
from refold import Importer, Refused, Row
from refold.importers.formats import BUILT_IN, detect, named

LISTED = ", ".join(importer.format for importer in BUILT_IN)


@pytest.mark.parametrize(
    ("value", "format"),
    [
        ({"type": "user", "uuid": "u", "sessionId": "s", "message": {}}, "claude-code"),
        ({"type": "file-history-snapshot", "messageId": "m"}, "claude-code"),
        ({"type": "session_meta", "payload": {"id": "s"}}, "codex"),
        ({"type": "session", "id": "s", "cwd": "/x"}, "pi"),
        ({"sessionId": "s", "projectHash": "h"}, "gemini-cli"),
        ({"refold": 1, "session": "s"}, "refold"),
        ([{"role": "user", "content": "x"}], "openai-chat"),
        ({"messages": [{"role": "developer", "content": "x"}]}, "openai-chat"),
        ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}], "anthropic-messages"),
        ({"system": "x", "messages": [{"role": "user", "content": "x"}]}, "anthropic-messages"),
    ],
)
def test_a_file_is_known_by_its_beginning(value, format):
    text = json.dumps(value).encode()
    assert detect(text + b"\n").format == format
    assert detect(b"\xef\xbb\xbf" + text + b"\r\n").format == format


def test_a_first_record_longer_than_the_head_is_known_by_its_keys():
    head = b'{"parentUuid":null,"sessionId":"s","type":"user","message":{"content":"' + b"x" * 100
    assert detect(head).format == "claude-code"


@pytest.mark.parametrize("head", [b"", b"   \n", b"hello", b"[]", b'{"a": 1}', b"\xff\xfe\x00", b"42"])
def test_an_unknown_file_is_refused_in_one_line_that_lists_the_formats(head):
    with pytest.raises(Refused) as refused:
        detect(head)
    assert LISTED in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_unknown_format_is_refused_in_one_line_that_lists_the_formats():
    with pytest.raises(Refused, match=f"no format 'telepathy'.*{LISTED}"):
        named("telepathy")


def test_an_importer_whose_detection_raises_costs_its_own_format_only():
    broken = Importer("broken", lambda head: 1 / 0 > 0, lambda stream: [])
    assert detect(b'{"refold": 1, "session": "s"}\n', (broken, *BUILT_IN)).format == "refold"


@pytest.mark.parametrize("format", ["pi", "gemini-cli", "codex", "claude-code", "refold"])
def test_an_unreadable_first_line_is_reported_and_the_rest_is_read(format: str) -> None:
    records = {
        "pi": [
            {"type": "session", "version": 3, "id": "s", "cwd": "/"},
            {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "go"}},
        ],
        "gemini-cli": [
            {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z"},
            {"id": "a", "type": "user", "content": "go"},
        ],
        "codex": [
            {"type": "session_meta", "payload": {"id": "s", "cwd": "/"}},
            {
                "type": "response_item",
                "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
            },
        ],
        "claude-code": [
            {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "go"}},
        ],
        "refold": [
            {"refold": 1, "session": "s"},
            {"seq": 1, "kind": "user", "opens": True, "text": "go", "row": {}},
        ],
    }[format]
    data = b"garbage{\n" + b"".join(json.dumps(each).encode() + b"\n" for each in records)
    found = [importer.format for importer in BUILT_IN if importer.detect(data)]
    assert found == [format]
    importer = next(importer for importer in BUILT_IN if importer.format == format)
    rows = list(importer.rows(io.BytesIO(data)))
    assert [each.text for each in rows if isinstance(each, Row)] == ["go"]
    assert [each for each in rows if isinstance(each, str)] == ["not JSON at character 1"]
