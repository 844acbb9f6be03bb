"""`import` of folders, of several files, and of what an agent keeps."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

CHAT = [{"role": "user", "content": "hi there"}, {"role": "assistant", "content": "hello"}]


def write(path: Path, *values: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(value) for value in values) + "\n")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "chats" / "one.json", CHAT)
    write(tmp_path / "chats" / "deep" / "two.jsonl", {"messages": CHAT}, {"messages": CHAT})
    (tmp_path / "chats" / "notes.txt").write_text("x")
    return tmp_path / "chats"


def test_a_folder_is_imported_whole_with_a_line_for_each_file(refold, folder: Path) -> None:
    done = refold("import", folder)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[:2] == [
        "one.json: openai-chat, session one, 2 new rows",
        "deep/two.jsonl: openai-chat, session two and 1 more, 4 new rows",
    ]
    again = refold("import", folder, "--json").document
    assert [(each["file"], each["session"], each["rows"]) for each in again["files"]] == [
        ("one.json", "one", 0),
        ("deep/two.jsonl", "two", 0),
    ]
    assert (again["imported"], again["failed"], again["other_files"], again["rows"]) == (2, 0, 1, 0)


def test_files_that_fail_are_told_and_the_others_are_kept(refold, folder: Path) -> None:
    (folder / "bad.json").write_text('[{"role": "user", "content": "cut')
    write(folder / "odd.json", {"a": 1})
    done = refold("import", folder)
    assert done.code == 1
    told = done.err.splitlines()
    assert told[0].startswith("refold: bad.json: bad holds no row of format openai-chat (the file is cut")
    assert told[1:] == [
        "refold: odd.json: its format is not known",
        "refold: error: 2 of 4 files failed; what the others hold is kept; the same command goes on from there",
    ]
    document = refold("import", folder, "--json").document
    assert (document["imported"], document["failed"]) == (2, 2)
    assert document["error"]["message"].startswith("2 of 4 files failed")
    assert {session["id"] for session in refold("sessions", "--json").document["sessions"]} == {"one", "two", "two.2"}


def test_several_files_are_imported_and_a_target_is_for_one(refold, folder: Path) -> None:
    done = refold("import", folder / "one.json", folder / "deep" / "two.jsonl")
    assert done.code == 0
    assert refold("import", folder, "--session", "x").code == 2
    assert refold("import").code == 2
    assert refold("import", folder, "--all").code == 2
    assert refold("import", folder / "one.json", folder / "missing.json").err.startswith(
        "refold: error: there is no file"
    )
    (folder.parent / "empty").mkdir()
    assert "there is no session file in" in refold("import", folder.parent / "empty").err


@pytest.fixture
def agent(refold, tmp_path: Path) -> Path:
    refold.environment |= {"CODEX_HOME": str(tmp_path / "codex")}
    for name, words in (("a", "first things"), ("b", "second things")):
        content = [{"type": "input_text", "text": words}]
        write(
            tmp_path / "codex" / "sessions" / "2026" / f"rollout-{name}.jsonl",
            {"type": "session_meta", "payload": {"id": name}},
            {"type": "response_item", "payload": {"type": "message", "role": "user", "content": content}},
        )
    return tmp_path / "codex"


def test_what_an_agent_keeps_is_listed_and_imported_by_number_name_or_all(refold, agent: Path) -> None:
    listed = refold("import", "--agent", "codex", "--list", "--json").document["found"]
    assert sorted((each["file"], each["title"]) for each in listed) == [
        ("sessions/2026/rollout-a.jsonl", "first things"),
        ("sessions/2026/rollout-b.jsonl", "second things"),
    ]
    assert "second things" in refold("import", "--agent", "codex", "--list").out
    number = next(each["number"] for each in listed if each["title"] == "second things")
    assert refold("import", "--agent", "codex", number).out.startswith(
        "sessions/2026/rollout-b.jsonl: codex, session b"
    )
    assert refold("import", "--agent", "codex", "rollout-a").out.startswith("sessions/2026/rollout-a.jsonl")
    everything = refold("import", "--agent", "codex", "--all", "--json").document
    assert (everything["imported"], everything["rows"]) == (2, 0)


def test_without_a_choice_or_with_a_wrong_one_nothing_is_imported(refold, agent: Path) -> None:
    for words in ((), ("9",), ("nothing-like-it",)):
        done = refold("import", "--agent", "codex", *words)
        assert done.code == 2
    assert "say which: numbers or names from --list, or --all" in refold("import", "--agent", "codex").err
    assert "names none of the 2 sessions" in done.err
    assert refold("sessions", "--json").document["sessions"] == []


def test_a_machine_without_the_agent_says_where_it_looked(refold, tmp_path: Path) -> None:
    refold.environment |= {"CODEX_HOME": str(tmp_path / "nowhere")}
    done = refold("import", "--agent", "codex", "--all", "--json")
    assert done.code == 1
    assert done.document["error"] == {
        "code": "not_found",
        "message": f"there are no sessions of codex here; looked in {tmp_path / 'nowhere'}; name a file or a folder",
    }


@pytest.mark.skipif(os.name == "nt", reason="a pseudo terminal of POSIX")
def test_on_a_terminal_it_asks_which_and_nothing_means_none(refold, agent: Path) -> None:
    import pty

    for answer, sessions in (("\n", []), ("rollout-b\n", ["b"])):
        above, below = pty.openpty()
        process = refold.start("import", "--agent", "codex", stdin=below, stdout=below, stderr=below)
        os.close(below)
        os.write(above, answer.encode())
        shown = b""
        while part := _read(above):
            shown += part
        os.close(above)
        assert process.wait(30) == 0
        assert b"first things" in shown
        assert b"which?" in shown
        assert [each["id"] for each in refold("sessions", "--json").document["sessions"]] == sessions


def _read(end: int) -> bytes:
    try:
        return os.read(end, 65_536)
    except OSError:  # the other end is gone
        return b""


def test_a_family_is_exported_in_one_file_with_or_without_its_folds(refold, tmp_path: Path) -> None:
    refold.here("import", write(tmp_path / "talk.json", CHAT), "--session", "talk")
    fork = refold.here("fork", "talk", "--at", "1", "--json").document["session"]
    for words in ((), ("--folds",)):
        (tmp_path / "family.jsonl").write_text(refold("export", "talk", "--family", *words).out)
        refold.home = tmp_path / f"other-{len(words)}"
        refold.environment["REFOLD_HOME"] = str(refold.home)
        done = refold("import", tmp_path / "family.jsonl", "--json").document
        assert (done["session"], done["children"], done["rows"], done["child_rows"]) == ("talk", [fork], 2, 1)
        (found,) = refold("tree", "--json").document["sessions"]
        assert [(child["id"], child["forked_at"]) for child in found["children"]] == [(fork, 1)]
