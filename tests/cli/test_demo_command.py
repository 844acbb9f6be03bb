"""`refold demo` shows a real compaction, loses nothing, and its next command works."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from refold import Host
from refold.cli.demo_session import record


def test_the_demo_folds_a_session_into_a_window_and_keeps_every_row(refold) -> None:
    shown = refold("demo", "--json").document
    assert shown["before"]["tokens"] > shown["window"] > shown["after"]["tokens"]
    assert shown["rows_before"] == shown["rows_after"] > 100
    assert shown["transcript_unchanged"]
    assert shown["search"]["folded"]
    covered = [each for each in shown["after"]["sections"] if each["kind"] == "summary"]
    assert covered[0]["row_count"] == shown["summarized_rows"] >= shown["search"]["seq"]
    assert {each["kind"] for each in shown["survived"] if each["sections"]} >= {"goal", "rule", "preference", "change"}
    assert not refold.home.exists()


def test_the_next_command_works_as_it_is_printed_and_the_home_is_kept(refold, tmp_path: Path) -> None:
    command = refold("demo").out.splitlines()[-1].removeprefix("next: ")
    assert "&&" in command
    environment = {**refold.environment, "PATH": os.defpath}
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "summary" in done.stdout
    with Host(tmp_path / "refold-demo") as host:
        assert [each.session.id for each in host.sessions()] == ["demo"]


def test_the_same_python_gives_the_same_rows_and_a_second_demo_a_second_session(tmp_path: Path) -> None:
    with Host(tmp_path / "home") as host:
        made = [record(host).session for _ in range(2)]
        assert [session.id for session in made] == ["demo", "demo-2"]
        first, second = ([(row.kind, row.text, row.calls) for row in session.rows()] for session in made)
    assert first == second
    assert str(tmp_path) not in repr(first)
