"""Titles, times and families that files state: sessions keep them."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from refold.importers.lines import as_time
from refold.importers.store import import_file
from refold.transcript.sessions import find

TIME = "2026-03-04T05:06:07Z"
WHEN = "2026-03-04T05:06:07.123Z"


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def claude(n: int, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": f"prompt {n}"}
    return {"type": "user", "uuid": f"u{n}", "parentUuid": None, "sessionId": "s", "message": message, **more}


FILES = {
    "claude-code": (
        lines(
            claude(1, timestamp=WHEN),
            {"type": "summary", "summary": "Old", "leafUuid": "x"},
            {"type": "custom-title", "customTitle": "A talk", "sessionId": "s"},
            {"type": "ai-title", "aiTitle": "x"},
        ),
        "A talk",
    ),
    "codex": (
        lines(
            {"type": "session_meta", "payload": {"id": "s", "timestamp": WHEN}},
            {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"text": "hello"}]}},
        ),
        "hello",
    ),
    "pi": (
        lines(
            {"type": "session", "version": 3, "id": "s", "timestamp": WHEN, "cwd": "/"},
            {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "hello"}},
            {"type": "session_info", "id": "b", "parentId": "a", "name": "A talk"},
        ),
        "A talk",
    ),
    "gemini-cli": (
        lines(
            {"sessionId": "s", "projectHash": "h", "startTime": WHEN}, {"id": "1", "type": "user", "content": "hello"}
        ),
        "hello",
    ),
    "refold": (
        lines(
            {"refold": 1, "session": "s", "title": "A talk", "created": TIME},
            {"seq": 1, "kind": "user", "opens": True, "turn": 1, "text": "hello", "row": {}},
        ),
        "A talk",
    ),
}


@pytest.mark.parametrize("format", FILES)
def test_a_session_keeps_the_time_and_the_title_that_its_file_states(format, database):
    data, title = FILES[format]
    done = import_file(database, io.BytesIO(data))
    assert (done.format, done.session, done.rows) == (format, "s", 1)
    with database.read() as reader:
        session = find(reader, "s")
    assert (session.created, session.title) == (TIME, title)
    assert import_file(database, io.BytesIO(data)).rows == 0


def test_the_file_of_a_sub_agent_finds_the_session_that_started_it(database):
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": "s", "depth": 1}}}
    said = {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"text": "look"}]}}
    child = lines({"type": "session_meta", "payload": {"id": "k", "source": spawn}}, said)
    alone = lines({"type": "session_meta", "payload": {"id": "m", "source": spawn}}, said)
    import_file(database, io.BytesIO(alone))
    import_file(database, io.BytesIO(FILES["codex"][0]))
    import_file(database, io.BytesIO(child))
    with database.read() as reader:
        assert [find(reader, id).parent for id in ("m", "s", "k")] == [None, None, "s"]
    assert import_file(database, io.BytesIO(child)).rows == 0
    import_file(database, io.BytesIO(FILES["claude-code"][0]), session="c")
    agent = lines(claude(1, isSidechain=True, agentId="a"))
    done = import_file(database, io.BytesIO(agent))
    with database.read() as reader:
        assert (done.session, find(reader, done.session).parent) == ("s/agent-a", "c")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (WHEN, TIME),
        ("2026-03-04T06:06:07+01:00", TIME),
        ("2026-03-04 05:06:07", TIME),
        (1772600767, TIME),
        (1772600767123, TIME),
        (0, None),
        (-5.0, None),
        (1e300, None),
        (True, None),
        ("soon", None),
        (None, None),
        ([], None),
    ],
)
def test_a_moment_is_read_from_what_files_call_one(given, expected):
    assert as_time(given) == expected
