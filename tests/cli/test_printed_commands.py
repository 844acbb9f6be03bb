"""Every command that refold prints works where it is printed, however refold was started there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from refold.cli.program import Start, called

SCRIPTS = Path(sys.executable).parent
UV = {"UV": "/tools/uv", "UV_RUN_RECURSION_DEPTH": "1"}


@pytest.mark.parametrize(
    ("argv0", "given", "environment", "folder", "found", "words"),
    [
        ("/p/.venv/bin/refold", "", {}, "/p", {"refold": "/p/.venv/bin/refold"}, "refold"),
        (".venv/bin/refold", "", {}, "/p", {}, ".venv/bin/refold"),
        ("/other/bin/refold", "", {}, "/p", {"refold": "/usr/bin/refold"}, "/other/bin/refold"),
        ("/s/refold/__main__.py", "python3 -m refold demo", {}, "/p", {}, "python3 -m refold"),
        ("/s/refold/__main__.py", "/v/bin/python -P -m refold", {}, "/p", {}, "/v/bin/python -P -m refold"),
        ("/p/.venv/bin/refold", "", UV, "/p/docs", {"uv": "/tools/uv"}, "uv run refold"),
        ("/p/.venv/bin/refold", "", UV, "/p", {}, "/tools/uv run refold"),
        ("/p/.venv/bin/refold", "", {**UV, "UV": "/p/.venv/bin/uv"}, "/p", {}, ".venv/bin/uv run refold"),
        ("/p/.venv/bin/refold", "", UV, "/elsewhere", {"uv": "/tools/uv"}, "uv run --project /p refold"),
        ("/s/__main__.py", "/p/.venv/bin/python -m refold", UV, "/p", {"uv": "/tools/uv"}, "uv run python -m refold"),
        ("/cache/x/bin/refold", "", {"UV": "/tools/uv"}, "/p", {"uv": "/tools/uv"}, "uvx refold"),
        ("/p/bin/pytest", "python -m pytest", {}, "/p", {}, "refold"),
        ("-c", "python -c code", {}, "/p", {}, "refold"),
    ],
)
def test_how_refold_was_started_says_how_to_call_it(
    argv0: str,
    given: str,
    environment: dict[str, str],
    folder: str,
    found: dict[str, str],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os.path, "samefile", lambda one, other: one == other)
    prefix = Path("/cache/x") if argv0.startswith("/cache") else Path("/p/.venv")
    start = Start([argv0], given.split() or ["python", argv0], environment, prefix, Path(folder))
    assert called(start, lambda name, path: found.get(name)) == words.split()


STARTS = {
    "on the path": ("refold", str(SCRIPTS)),
    "in an environment that is not active": (str(SCRIPTS / "refold"), ""),
    "as a module": (f"{shlex.quote(sys.executable)} -m refold", ""),
}


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
@pytest.mark.parametrize("how", STARTS)
def test_hints_errors_and_examples_name_commands_that_this_shell_finds(refold, in_talk, how: str) -> None:
    program, folder = STARTS[how]
    environment = {**in_talk.environment, "PATH": f"{folder}{os.pathsep}{os.defpath}"}

    def shell(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, shell=True, capture_output=True, text=True, cwd=in_talk.home, env=environment)

    hinted = re.findall(r"^(?:more|read one): (.*)$", shell(f"{program} show talk").stdout, re.MULTILINE)
    lost = re.findall(r"`(.*?)`", shell(f"{program} show nobody").stderr)
    usage = re.findall(r"; '(.*? --help)'", shell(f"{program} show --limit 0").stderr)
    (example,) = re.findall(r"Example: (.*)", shell(f"{program} show --help").stdout)
    shown = [*hinted, *lost, *usage, example.replace("my-session", "talk")]
    assert len(shown) == 4
    for command in shown:
        done = shell(command)
        assert (done.returncode, done.stderr) == (0, ""), command
