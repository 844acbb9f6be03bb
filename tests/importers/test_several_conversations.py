"""Files that hold several conversations: one session each, whatever the messages look like."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from refold import Importer, Refused, Row, SessionFacts, SourceRef
from refold.importers.store import import_file
from refold.transcript.append import append
from refold.transcript.rows import load_sources
from refold.transcript.sessions import find, listing


def talk(*words: str) -> list[dict[str, str]]:
    return [{"role": "user" if n % 2 == 0 else "assistant", "content": word} for n, word in enumerate(words)]


def said(database: Any) -> dict[str, list[str]]:
    with database.read() as reader:
        return {
            each.session.id: [row.text for row in load_sources(reader, each.session.id, 0, 99)]
            for each in listing(reader)
        }


TALKS = [talk("a", "A"), talk("b", "B"), talk("c", "C")]
EXPECTED = {"talks": ["a", "A"], "talks.2": ["b", "B"], "talks.3": ["c", "C"]}


@pytest.mark.parametrize(
    "data",
    [
        "\n".join(json.dumps({"messages": each, "id": n}) for n, each in enumerate(TALKS)),
        "\n".join(json.dumps(each) for each in TALKS),
        json.dumps([{"messages": each} for each in TALKS]),
        json.dumps(TALKS, indent=1),
    ],
    ids=["an object a line", "a list a line", "a list of objects", "a list of lists"],
)
def test_each_conversation_of_a_file_becomes_a_session(data, database, tmp_path):
    (tmp_path / "talks.jsonl").write_text(data)
    done = import_file(database, tmp_path / "talks.jsonl")
    assert [each.session for each in done.sessions] == list(EXPECTED)
    assert (done.session, done.rows, done.turns, done.children) == ("talks", 6, 3, ())
    assert said(database) == EXPECTED
    with database.read() as reader:
        assert [find(reader, id).parent for id in EXPECTED] == [None] * 3
    again = import_file(database, tmp_path / "talks.jsonl")
    assert (again.rows, again.already, len(again.sessions)) == (0, 6, 3)


def test_one_message_a_line_is_one_conversation(database, tmp_path):
    (tmp_path / "talk.jsonl").write_text("\n".join(json.dumps(each) for each in talk("a", "A", "b")))
    assert import_file(database, tmp_path / "talk.jsonl").session == "talk"
    assert said(database) == {"talk": ["a", "A", "b"]}


def test_a_file_of_one_line_is_the_same_conversation_when_a_second_line_comes(database, tmp_path):
    path = tmp_path / "talks.jsonl"
    for count in (1, 2):
        path.write_text("\n".join(json.dumps({"messages": each}) for each in TALKS[:count]))
        import_file(database, path)
    assert said(database) == {"talks": ["a", "A"], "talks.2": ["b", "B"]}
    one = tmp_path / "one.jsonl"
    one.write_text(json.dumps(talk("a")[0]))
    assert import_file(database, one).rows == 1
    one.write_text("\n".join(map(json.dumps, talk("a", "A"))))
    assert import_file(database, one).rows == 1
    assert said(database)["one"] == ["a", "A"]


def test_only_what_grew_is_added_and_what_was_continued_here_or_changed_becomes_a_new_session(database, tmp_path):
    path = tmp_path / "talks.jsonl"
    path.write_text("\n".join(json.dumps(each) for each in TALKS))
    import_file(database, path)
    with database.write() as writer:
        append(writer, "talks.2", [Row(SourceRef("", 0), "user", 0, 0, opens=True, text="here")])
    changed = [talk("a", "A", "more"), talk("b", "B", "more"), talk("other"), talk("d")]
    path.write_text("\n".join(json.dumps(each) for each in changed))
    done = import_file(database, path)
    assert [(each.session, each.rows, each.already) for each in done.sessions] == [
        ("talks", 1, 2),
        ("talks.2-2", 3, 0),
        ("talks.3-2", 1, 0),
        ("talks.4", 1, 0),
    ]
    assert "session talks.2 was continued here" in done.note
    assert "session talks.3 holds another history" in done.note
    assert said(database)["talks.2"] == ["b", "B", "here"]
    assert import_file(database, path).rows == 0


def named(*names: str) -> Importer:
    """An importer of lines `name text`; each name is a conversation of its own."""

    def read(stream):
        known = set()
        for line in stream:
            name, _, words = line.decode().strip().partition(" ")
            if name not in known:
                known.add(name)
                yield SessionFacts(name, title=f"about {name}", created="2026-01-02T03:04:05+01:00")
            yield Row(SourceRef(name, 0), "user", 0, 0, opens=True, text=words)

    return Importer("named", lambda head: True, read)


def test_a_conversation_that_is_here_already_is_found_behind_one_that_is_not(database):
    def run(data: bytes) -> Any:
        return import_file(database, io.BytesIO(data), importers=[named()])

    run(b"x one\n")
    done = run(b"y two\nx one\nx three\nz four\n")
    assert [(each.session, each.rows, each.already) for each in done.sessions] == [
        ("y", 1, 0),
        ("z", 1, 0),
        ("x", 1, 1),
    ]
    assert said(database) == {"x": ["one", "three"], "y": ["two"], "z": ["four"]}
    with database.read() as reader:
        assert (find(reader, "z").title, find(reader, "z").parent) == ("about z", None)


def test_conversations_that_take_turns_in_a_file_stay_apart(database):
    data = b"".join(b"%s %d\n" % (name, n) for n in range(600) for name in (b"a", b"b"))
    for _ in range(2):
        import_file(database, io.BytesIO(data), importers=[named()])
    found = said(database)
    assert set(found) == {"a", "b"}
    with database.read() as reader:
        assert {each.session.id: each.rows for each in listing(reader)} == {"a": 600, "b": 600}


def test_a_named_target_is_for_the_first_conversation(database, tmp_path):
    path = tmp_path / "talks.jsonl"
    path.write_text("\n".join(json.dumps(each) for each in TALKS))
    done = import_file(database, path, session="mine")
    assert [each.session for each in done.sessions] == ["mine", "talks.2", "talks.3"]
    assert import_file(database, path, session="mine").rows == 0
    with pytest.raises(Refused, match=r"session talks\.2 was not imported from this file"):
        import_file(database, path, session="talks.2")


def test_a_broken_line_costs_its_own_conversation(database, tmp_path):
    path = tmp_path / "talks.jsonl"
    path.write_text("\n".join([json.dumps({"messages": TALKS[0]}), '{"messages": [{"ro', json.dumps({"messages": []})]))
    done = import_file(database, path)
    assert (len(done.sessions), done.rows) == (1, 2)
    assert [(skip.line, skip.reason) for skip in done.skipped] == [(2, "not JSON at character 16")]


def test_many_conversations_cost_the_memory_of_one(database, tmp_path):
    path = tmp_path / "many.jsonl"
    path.write_text("\n".join(json.dumps({"messages": talk(f"q {n}", "a" * 2000)}) for n in range(1500)))
    done = import_file(database, path)
    assert (len(done.sessions), done.rows) == (1500, 3000)
    assert done.sessions[-1].session == "many.1500"
