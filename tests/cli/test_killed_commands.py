"""A command that is killed at any moment leaves a home that opens, holds what was committed, and goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from refold import Host, Session

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kill -9 of POSIX")


def kill_when(process, ready: Callable[[], bool], seconds: float = 20.0) -> None:
    """Kills the process at once when `ready`; it must not have ended by itself."""
    until = time.monotonic() + seconds
    while not ready():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.002)
    process.kill()
    process.communicate()
    assert process.returncode == -9


def whole(host: Host) -> None:
    """The database passes SQLite's own checks."""
    with host.database.read() as reader:
        assert reader.all("PRAGMA integrity_check") == [("ok",)]
        assert reader.all("PRAGMA foreign_key_check") == []


def rows_of(home: Path) -> int:
    if not (home / "refold.db").exists():
        return 0
    with Host(home) as host:
        return sum(each.rows for each in host.sessions())


def test_a_killed_import_leaves_a_whole_beginning_and_goes_on_the_next_time(refold, tmp_path: Path) -> None:
    file, turns = tmp_path / "long.json", 12_000
    messages = [
        {"role": role, "content": f"{role} {n} " + "words and more words " * 20}
        for n in range(turns)
        for role in ("user", "assistant")
    ]
    file.write_bytes(orjson.dumps(messages))
    process = refold.start("import", file, "--json")
    kill_when(process, lambda: rows_of(refold.home) >= 1000)
    with Host(refold.home) as host:
        whole(host)
        (left,) = host.sessions()
        assert 1000 <= left.rows < 2 * turns
        texts = [row.text for row in host.session(left.session.id).rows()]
    assert texts == [message["content"] for message in messages[: left.rows]]
    again = refold("import", file, "--json").document
    assert (again["session"], again["already"], again["rows"]) == (
        left.session.id,
        left.rows,
        2 * turns - left.rows,
    )


def test_a_killed_compaction_changes_nothing_and_the_next_one_compacts(in_talk, install) -> None:
    """The extension stops the process inside the compaction: after its commit, before the request is drawn again."""
    mark = in_talk.home.parent / "inside"
    body = f"""
        import time
        def stay(name):
            open({str(mark)!r} + name, "w").close()
            time.sleep(60)
        @hookimpl
        def {{hook}}(context, event): stay({{hook!r}})
        """
    for hook, state in (("pre_compact", "whole"), ("post_compact", "compacted")):
        folder = install(hook.replace("_", "-"), body.format(hook=hook), default=True)
        in_talk.see(folder)
        process = in_talk.start("compact", "talk", "--window", 4000, "--json")
        kill_when(process, Path(str(mark) + hook).exists)
        in_talk.see()
        with Host(in_talk.home) as host:
            whole(host)
            session = host.session("talk")
            assert session.record.compactions == (state == "compacted")
            assert session.prepare(window=1_000_000).snapshot.status == state
            assert len(session.rows()) == 160
        for each in folder.iterdir():
            if each.is_dir():
                for file in each.iterdir():
                    file.unlink()
                each.rmdir()
    talk_on(in_talk.home)
    assert in_talk("compact", "talk", "--window", 4000, "--json").document["state"] == "compacted"


def talk_on(home: Path) -> None:
    with Host(home) as host:
        session: Session = host.session("talk")
        for n in range(30):
            session.user(f"Another question {n}? " * 20)
            session.assistant(f"Another answer {n}. " * 20)


def test_killed_writes_of_choices_leave_the_old_file_or_the_new_one(refold) -> None:
    """A process does nothing but `extensions enable` and `inherit`; it is killed at a later moment each time."""
    refold.home.mkdir(mode=0o700)
    path = refold.home / "extensions.json"
    before = {"rolling": {"triggerPercent": 80}, "kept": {"by": "hand"}}
    states = [{**before, "enabled": enabled} for enabled in ({}, {"rolling": True})]
    path.write_text(json.dumps(states[0]))
    again = (
        "from refold.cli.main import run\n"
        "while True:\n"
        "    for word in ('enable', 'inherit'):\n"
        "        assert run(['extensions', word, 'rolling', '--json']) == 0\n"
    )
    for number in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", again], env=refold.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.0013 * number)
        process.kill()
        process.communicate()
        assert process.returncode == -9
        assert json.loads(path.read_text()) in states
    done = refold("extensions", "enable", "rolling", "--json")
    assert done.document["strategy"] == "rolling"
    assert json.loads(path.read_text()) == states[1]


def test_two_processes_that_compact_one_session_are_one_compaction_and_one_clear_report(in_talk, install) -> None:
    """The first waits inside its compaction until the second has ended."""
    inside, go = in_talk.home.parent / "inside", in_talk.home.parent / "go"
    body = f"""
        import os, time
        @hookimpl
        def pre_compact(context, event):
            open({str(inside)!r}, "w").close()
            while not os.path.exists({str(go)!r}):
                time.sleep(0.01)
        """
    in_talk.see(install("slow", body, default=True))
    first = in_talk.start("compact", "talk", "--window", 4000, "--json")
    while not inside.exists():
        assert first.poll() is None, first.communicate()
        time.sleep(0.005)
    second = in_talk("compact", "talk", "--window", 4000, "--json")
    go.touch()
    out, err = first.communicate(timeout=30)
    assert json.loads(out)["state"] == "compacted"
    assert (second.code, second.document["state"], second.document["code"]) == (1, "blocked", "busy")
    assert second.document["error"]["code"] == "busy"
    assert f"process {first.pid}" in second.err
    for text in (err.decode(), second.err, out.decode(), second.out):
        assert "database is locked" not in text
        assert "Traceback" not in text
    with Host(in_talk.home) as host:
        whole(host)
        assert host.session("talk").record.compactions == 1


def test_processes_that_start_to_compact_at_once_all_report_clearly(in_talk) -> None:
    running = [in_talk.start("compact", "talk", "--window", 4000, "--json") for _ in range(3)]
    answers = []
    for process in running:
        out, err = process.communicate(timeout=60)
        assert b"database is locked" not in err
        assert b"Traceback" not in err
        answers.append(json.loads(out))
    states = [answer["state"] for answer in answers]
    assert "compacted" in states
    assert set(states) <= {"compacted", "nothing", "blocked"}
    assert {answer["code"] for answer in answers if answer["state"] == "blocked"} <= {"busy"}
