"""A session's title or the beginning of its id serves wherever an id does, and a near miss is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from refold import Host

from .conftest import Shell, talk


@pytest.fixture
def named(refold: Shell) -> Shell:
    """Sessions `release-41` (title: Release 4.1), `release-42` (Release 4.2), `notes` (release-41), `plain`."""
    with Host(refold.home) as host:
        for id, title in {"release-41": "Release 4.1", "release-42": "Release 4.2", "notes": "Billing notes"}.items():
            talk(host.new(id, title=title), 1)
        host.new("plain").user("hello")
    return refold


@pytest.mark.parametrize(
    ("word", "id"),
    [
        ("release-41", "release-41"),
        ("release 4.2", "release-42"),
        ("Release 4.2", "release-42"),
        ("no", "notes"),
        ("bill", "notes"),
        ("pl", "plain"),
    ],
)
def test_a_title_or_a_beginning_that_only_one_has_names_a_session(named: Shell, word: str, id: str) -> None:
    assert named.here("show", word, "--json").document["session"] == id


COMMANDS = [
    ["show", "bill"],
    ["tail", "bill"],
    ["search", "bill", "part"],
    ["tree", "bill"],
    ["export", "bill", "--json"],
    ["prepare", "bill"],
    ["compact", "bill", "--dry-run"],
    ["fork", "bill", "--at", "2"],
    ["extensions", "--session", "bill"],
    ["extensions", "enable", "rolling", "--session", "bill"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_it_serves_in_every_command_that_takes_a_session(named: Shell, words: list[str]) -> None:
    done = named.here(*words)
    assert done.code == 0, done.err


def test_an_exact_id_wins_over_every_title(named: Shell) -> None:
    with Host(named.home) as host:
        host.new("other", title="plain")
    assert named.here("show", "plain", "--json").document["session"] == "plain"


def test_several_are_an_error_that_lists_them(named: Shell) -> None:
    done = named.here("show", "rel", "--json")
    assert (done.code, done.document["error"]["code"]) == (1, "refused")
    assert "release-41 (Release 4.1), release-42 (Release 4.2)" in done.err


def test_delete_tells_what_it_matched_before_and_after(named: Shell) -> None:
    asked = named.here("delete", "bill")
    assert asked.code == 2
    assert "session notes would be gone for good; 'bill' is its title, or begins it" in asked.err
    done = named.here("delete", "bill", "--yes", "--json")
    assert done.document["session"] == "notes"
    assert "deleting session notes; 'bill'" in done.err
    assert named.here("delete", "rel", "--yes").code == 1
    assert named.here("delete", "plain", "--yes").err == ""


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["compcat"], "did you mean compact?"),
        (["show", "realease-42"], "did you mean release-42?"),
        (["show", "Biling notes"], "did you mean notes?"),
        (["compact", "plain", "roling"], "did you mean rolling?"),
        (["import", "f.json", "--format", "claude-cod"], "did you mean claude-code?"),
    ],
)
def test_a_near_miss_is_told(named: Shell, words: list[str], meant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = named.home.parent / "f.json"
    file.write_text("[]")
    done = named.here(*[str(file) if word == "f.json" else word for word in words])
    assert done.code != 0
    assert meant in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["--home", "H", "--json", "show", "plain"],
        ["--json", "show", "plain", "--home", "H"],
        ["show", "plain", "--home", "H", "--json"],
        ["--home=H", "show", "--json", "plain"],
        ["extensions", "--home", "H", "--json", "enable", "rolling"],
        ["--home", "H", "extensions", "--json", "enable", "rolling"],
    ],
    ids=" ".join,
)
def test_home_and_json_stand_before_the_command_or_behind_it(named: Shell, tmp_path: Path, words: list[str]) -> None:
    named.environment["REFOLD_HOME"] = str(tmp_path / "another")
    done = named(*[word.replace("H", str(named.home)) if "home" in word or word == "H" else word for word in words])
    assert done.code == 0, done.err
    assert {"session", "strategy"} & done.document.keys()
    assert not (tmp_path / "another").exists()


def test_what_stands_behind_the_command_wins(named: Shell, tmp_path: Path) -> None:
    assert named("--home", tmp_path / "another", "show", "plain", "--home", named.home).code == 0


# Completion


def completed(named: Shell, line: str) -> list[str]:
    """What bash is told that the last word of the line may become."""
    words = line.split(" ")
    asked = {"_REFOLD_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "refold"], env={**named.environment, **asked}, capture_output=True, text=True, check=True
    )
    return [each.partition(",")[2] for each in done.stdout.splitlines() if each]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("refold comp", ["compact", "completion"]),
        ("refold show rel", ["release-42", "release-41"]),
        ("refold extensions enable roll", ["rolling"]),
        ("refold extensions --session no", ["notes"]),
    ],
)
def test_commands_sessions_and_extensions_are_completed(named: Shell, line: str, words: list[str]) -> None:
    assert completed(named, line) == words


def test_completing_in_an_empty_home_makes_none(refold: Shell) -> None:
    assert completed(refold, "refold show x") == []
    assert not refold.home.exists()


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_is_printed(refold: Shell, shell: str) -> None:
    done = refold("completion", shell)
    assert done.code == 0
    assert "_REFOLD_COMPLETE" in done.out
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=done.out, text=True, check=True)


def test_import_suggests_a_window_that_the_session_does_not_fit(refold: Shell) -> None:
    with Host(refold.home) as host:
        talk(host.new("long"), 60)
    file = refold.home.parent / "long.jsonl"
    file.write_text(refold.here("export", "long").out)
    hinted = refold("import", file, "--session", "again").out
    assert "next: " in hinted
    window = hinted.split()[-1]
    assert refold.here("compact", "again", "--window", window, "--json").document["state"] == "compacted"
