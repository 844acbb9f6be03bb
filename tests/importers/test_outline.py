"""What detection sees of a file: its structure, however long its values are."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refold.importers.formats import BUILT_IN, detect
from refold.importers.outline import HEAD, beginning, closed, head_of, is_lines

LONG = "data:image/png;base64," + "iVBOR" * 60_000
ESCAPED = 'a "quoted" \\ line\n\u00e9\U0001f600' * 20_000

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(['"', "\\", "\\u", "[{", "\n"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


def pretty(value: Any) -> bytes:
    return json.dumps(value, indent=2).encode()


def one_line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def by_lines(values: list[Any]) -> bytes:
    return b"".join(one_line(value) + b"\n" for value in values)


@pytest.mark.parametrize("long", [LONG, ESCAPED], ids=["picture", "escapes"])
@pytest.mark.parametrize(
    ("format", "file"),
    [
        ("openai-chat", lambda long: pretty([{"content": long, "role": "user"}])),
        ("openai-chat", lambda long: one_line({"messages": [{"role": "user", "content": long}]})),
        ("openai-chat", lambda long: by_lines([{"content": long, "role": "user"}, {"role": "user", "content": "x"}])),
        (
            "anthropic-messages",
            lambda long: pretty(
                {
                    "tools": [{"name": f"t{n}", "description": long[:9000], "input_schema": {}} for n in range(40)],
                    "messages": [{"role": "user", "content": [{"type": "tool_result", "content": long}]}],
                }
            ),
        ),
        (
            "claude-code",
            lambda long: by_lines(
                [{"message": {"content": long}, "type": "user", "uuid": "u", "sessionId": "s", "parentUuid": None}] * 2
            ),
        ),
        ("codex", lambda long: by_lines([{"payload": {"base_instructions": long, "id": "s"}, "type": "session_meta"}])),
        ("pi", lambda long: by_lines([{"title": long, "type": "session", "id": "s", "cwd": "/"}])),
        ("gemini-cli", lambda long: pretty({"summary": long, "sessionId": "s", "projectHash": "h", "messages": []})),
        ("refold", lambda long: by_lines([{"title": long, "refold": 1, "session": "s"}])),
    ],
)
def test_a_first_message_longer_than_the_head_does_not_hide_the_format(format, file, long):
    data = file(long)
    assert len(data) > HEAD
    head = head_of(io.BytesIO(data))
    assert len(head) <= HEAD
    assert detect(head).format == format


def test_what_stands_behind_a_long_list_is_seen():
    data = one_line({"vectors": [[0.25] * 500] * 300, "messages": [{"role": "user", "content": "x"}]})
    assert detect(head_of(io.BytesIO(data))).format == "openai-chat"


def test_the_head_of_a_small_file_and_of_a_large_one_that_is_no_json_is_its_beginning():
    small = one_line([LONG[:1000]])
    assert head_of(io.BytesIO(small)) == small
    words = b"# a page\n" * 20_000
    assert head_of(io.BytesIO(words)) == words[:HEAD]


@settings(max_examples=150, deadline=None)
@given(value=VALUES.filter(lambda value: isinstance(value, (list, dict))), cut=st.integers(1, 400), ascii=st.booleans())
def test_json_that_is_cut_anywhere_is_closed_to_json(value, cut, ascii):
    text = json.dumps(value, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
    json.loads(closed(text[:cut]).decode("utf-8", "surrogatepass"))
    assert json.loads(closed(text)) == value


@settings(max_examples=60, deadline=None)
@given(value=VALUES, kind=st.sampled_from(["picture", "escapes", "backslashes", "wide"]), shift=st.integers(0, 3))
def test_the_outline_of_json_is_json_of_the_same_structure(value, kind, shift):
    long = {"picture": LONG, "escapes": ESCAPED, "backslashes": "\\" * 70_001 + '"', "wide": "\u00e9" * 70_000}[kind]
    data = json.dumps({"a": value, "long": "x" * shift + long, "b": value}, ensure_ascii=False).encode()
    found = beginning(head_of(io.BytesIO(data))).document
    assert (found["a"], found["b"]) == (value, value)
    assert found["long"][:50] == ("x" * shift + long)[:50]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", False),
        (b"\n \n", False),
        (b'{"a": 1}', False),
        (b'\n{"a": 1}\n\n', False),
        (b'{"a": 1}\n{"a": 2}', True),
        (b'\xef\xbb\xbf{"a": 1}\r\n{"a": 2}', True),
        (b"[1,\n2]", False),
        (b'{"a":\n"b"}', False),
        (b'{"half": "a\n{"a": 2}', True),
        (b'half"}\n{"a": 2}', True),
        (b'{"a": "\\"",\n"b": 1}', False),
    ],
)
def test_a_document_is_told_from_lines(data, lines):
    assert is_lines(io.BytesIO(data)) is lines


def test_no_file_costs_more_than_its_length_to_be_known():
    """A file of nothing but structure is read up to a bound of steps; then the head is what it is by then."""
    for data in (b"[" * 3_000_000, b"[1," * 2_000_000, b'{"a":[' * 500_000, b"[" + b'"\\\\",' * 1_000_000):
        assert len(head_of(io.BytesIO(data))) <= HEAD
        with pytest.raises(Exception, match="format is not known"):
            detect(head_of(io.BytesIO(data)), BUILT_IN)
