"""Whatever goes wrong is one line and an exit code; a traceback reaches nobody."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from refold import Host
from refold.cli import main as entry
from refold.cli.root import root


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["nosuch"], 2, "No such command 'nosuch'"),
        (["show", "--limit", "0"], 2, "0 is not in the range"),
        (["search", "one"], 2, "Missing argument 'TEXT'"),
        (["prepare", "--protocol", "telegraph"], 2, "'telegraph' is not one of"),
        (["delete", "talk"], 2, "add --yes"),
        (["extensions", "shake"], 2, "No such command 'shake'"),
        (["extensions", "--session", "talk", "enable", "rolling"], 2, "stands behind 'enable'"),
        (["extensions", "--no-load", "enable", "rolling"], 2, "--no-load stands behind 'enable'"),
        (["show", "nobody"], 1, "there is no session 'nobody'"),
        (["import", "nowhere.jsonl"], 1, "there is no file nowhere.jsonl"),
        (["fork", "talk", "--at", "999"], 1, "its rows are 1 to 160"),
        (["context", "talk", "tail"], 1, "no request was prepared"),
        (["compact", "talk", "-m", "some-model"], 1, "unknown model 'some-model'"),
        (["compact", "talk", "-r", "ultra"], 1, "reasoning 'ultra' is not offered"),
        (["compact", "talk", "sliding"], 1, "no strategy 'sliding' is installed"),
        (["compact", "rolling"], 1, "name the session first"),
        (["search", "talk", ""], 1, "an empty text"),
        (["show", "\udcff"], 1, "\\udcff"),
        (["new", "--title", "\udcff"], 1, "is not UTF-8"),
        (["extensions", "enable", "ghost"], 1, "no extension ghost is installed"),
    ],
)
def test_a_mistake_is_one_line_and_with_json_one_document_too(
    in_talk, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str], code: int, says: str
) -> None:
    monkeypatch.setenv("REFOLD_HOME", str(in_talk.home))
    assert entry.run(words) == code
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("refold: error: ")
    assert err.count("\n") == 1
    assert says in err
    assert entry.run([*words, "--json"]) == code
    out, err = capfd.readouterr()
    error = json.loads(out)["error"]
    assert out.count("\n") == err.count("\n") == 1
    assert says in error["message"]
    assert (error["code"] == "usage") == (code == 2)


def test_exit_codes_reach_the_shell(refold) -> None:
    usage, failed = refold("frob", "--json"), refold("show", "nobody", "--json")
    assert (usage.code, usage.document["error"]["code"]) == (2, "usage")
    assert (failed.code, failed.document["error"]["code"]) == (1, "not_found")
    assert usage.err.count("\n") == failed.err.count("\n") == 1


def test_an_empty_home_says_what_to_do_next(refold) -> None:
    assert "refold demo" in refold("sessions").out
    assert "refold import FILE" in refold("show").err


def test_an_extension_that_raises_costs_one_line_and_the_trace_is_there_when_asked_for(in_talk, install) -> None:
    in_talk.see(
        install("odd", "@hookimpl\ndef commands(): return [Command('odd', 'Fails.', {}, lambda work, given: 1 / 0)]")
    )
    in_talk("extensions", "enable", "odd")
    plain = in_talk("odd", "--json")
    assert (plain.code, plain.document["error"]["code"]) == (1, "internal")
    assert "ZeroDivisionError" in plain.err
    assert plain.err.count("\n") == 1
    in_talk.environment["REFOLD_TRACE"] = "1"
    traced = in_talk("odd")
    assert "Traceback" in traced.err
    assert traced.err.splitlines()[-1].startswith("refold: error: unexpected ZeroDivisionError")


def test_a_home_that_cannot_be_used_is_one_line(tmp_path: Path, refold) -> None:
    (tmp_path / "file").write_text("no folder")
    done = refold("sessions", "--home", tmp_path / "file" / "home")
    assert done.code == 1
    assert done.err.count("\n") == 1
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "refold.db").write_text("this is no database, but a text that somebody put here\n" * 40)
    damaged = refold("sessions")
    assert damaged.code == 1
    assert "is no refold database" in damaged.err
    assert (tmp_path / "home" / "refold.db").read_text().startswith("this is no database")


@pytest.mark.skipif(os.name == "nt", reason="pipes and signals of POSIX")
def test_a_reader_that_had_enough_is_no_error(in_talk) -> None:
    with Host(in_talk.home) as host:
        host.session("talk").user("more than a pipe holds " * 20_000)
    process = in_talk.start("export", "talk")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(30) == 1
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupted_command_says_so_and_exits_with_130(refold) -> None:
    process = refold.start("import", "-", stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b'{"type":"user"}\n')
    process.stdin.flush()
    while not (refold.home / "refold.db").exists():
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == b""
    assert err.strip() == b"refold: error: interrupted; what was committed is kept"


def test_the_version_needs_neither_a_home_nor_an_extension_nor_a_table(refold) -> None:
    check = (
        "import sys; from refold.cli.main import run; code = run(['--version']); "
        "late = {'rich', 'apsw', 'cattrs', 'httpx', 'refold_rolling', 'refold.agent.host'} & set(sys.modules); "
        "sys.exit(code or str(late or ''))"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, env=refold.environment)
    assert (done.stdout.split()[0], done.stderr.strip(), done.returncode) == ("refold", "", 0) or done.stderr == "\n"
    assert not refold.home.exists()


def test_json_draws_no_table_so_rich_is_not_loaded(in_talk) -> None:
    check = (
        "import sys; from refold.cli.main import run; code = run(['show', 'talk', '--json']); "
        "sys.exit('rich was loaded' if 'rich' in sys.modules else code)"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, env=in_talk.environment)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_of_every_command_is_short_and_shows_an_example(capfd: pytest.CaptureFixture[str]) -> None:
    from refold.cli.commands import HOST

    commands = [[name] for name in HOST] + [["extensions", word] for word in ("enable", "disable", "inherit")]
    for words in commands:
        assert entry.run([*words, "--help"]) == 0
        out = capfd.readouterr().out
        assert f"Example: refold {' '.join(words)}" in out
        assert len(out.splitlines()) <= 30
    assert entry.run([]) == 0
    out = capfd.readouterr().out
    assert all(f"\n  {name} " in out for name in HOST)
    assert max(map(len, out.splitlines())) <= 80


def test_a_closed_session_named_in_two_homes_is_looked_up_in_the_one_given(in_talk, tmp_path: Path) -> None:
    with Host(tmp_path / "second") as host:
        host.new("talk", title="the other one")
    (listed,) = in_talk("sessions", "--home", tmp_path / "second", "--json").document["sessions"]
    assert listed["title"] == "the other one"


def test_a_command_that_calls_sys_exit_is_an_error_that_is_said(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command()
    @click.option("--json", is_flag=True)
    def leaving(json: bool) -> None:
        sys.exit(3)

    monkeypatch.setattr(root, "get_command", lambda context, name: leaving)
    assert entry.run(["sessions", "--json"]) == 1
    out, err = capfd.readouterr()
    assert "sys.exit(3) inside a command" in json.loads(out)["error"]["message"]
    assert err.startswith("refold: error: ")


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
@pytest.mark.parametrize("words", [("show", "talk", "--limit", "200"), ("extensions",), ("sessions",), ("tree",)])
def test_a_reader_that_has_had_enough_ends_a_table_quietly(in_talk, words) -> None:
    above, below = os.pipe()
    os.close(above)
    process = in_talk.start(*words, stdout=below)
    os.close(below)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (1, b"")
