"""`refold` as a process of its own, a home with one session in it, and extensions written on the spot."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from refold import Call, Host, Session
from refold.cli import main as entry


@frozen
class Done:
    """What a process left."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on standard output."""
        assert self.out.count("\n") == 1, self
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


class Shell:
    """Runs `refold` in a home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        ours = ("REFOLD_HOME", "REFOLD_TRACE", "NO_COLOR")
        environment = {
            name: text for name, text in os.environ.items() if name not in ours and not name.startswith("UV")
        }
        self.environment = {**environment, "REFOLD_HOME": str(home), "COLUMNS": "80"}

    def see(self, *folders: Path) -> None:
        """Puts folders with installed extensions on the path of the processes to come, in place of those before."""
        inherited = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
        self.environment["PYTHONPATH"] = os.pathsep.join([*map(str, folders), *inherited])

    def start(self, *words: object, **more: Any) -> subprocess.Popen[bytes]:
        """A process that runs on."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        return subprocess.Popen(
            [sys.executable, "-m", "refold", *map(str, words)], env=self.environment, **pipes, cwd=self.home.parent
        )

    def here(self, *words: object) -> Done:
        """Runs the command in this process: for steps that are not what a test is about."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2))
        with redirect_stdout(out), redirect_stderr(err):
            code = entry.run([*map(str, words), "--home", str(self.home)])
        printed, said = (stream.buffer.getvalue().decode() for stream in (out, err))
        return Done(code, printed, said)

    def __call__(self, *words: object, stdin: bytes | None = None) -> Done:
        more = {} if stdin is None else {"stdin": subprocess.PIPE}
        process = self.start(*words, **more)
        out, err = process.communicate(stdin, timeout=60)
        return Done(process.returncode, out.decode(), err.decode())


@pytest.fixture
def refold(tmp_path: Path) -> Shell:
    """`refold` in an empty home."""
    return Shell(tmp_path / "home")


def talk(session: Session, turns: int, first: int = 0) -> None:
    """Turns with one tool call each, about 400 tokens a turn."""
    for n in range(first, first + turns):
        session.user(f"Question {n}: what does part {n} do?")
        session.assistant("let me see", [Call(f"call-{n}", "read", {"path": f"/src/part{n}.py"})])
        session.results({f"call-{n}": f"def part{n}(): return {n}  # line\n" * 30})
        session.assistant(f"Part {n} returns {n}.")


@pytest.fixture(scope="session")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the session `talk`: 40 turns, 160 rows. Tests that change it work on a copy."""
    home = tmp_path_factory.mktemp("talked") / "home"
    with Host(home) as host:
        talk(host.new("talk", title="forty questions"), 40)
    return home


@pytest.fixture
def in_talk(talked: Path, tmp_path: Path) -> Shell:
    """`refold` in a copy of the home with the session `talk`."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    for each in talked.iterdir():
        (home / each.name).write_bytes(each.read_bytes())
    return Shell(home)


Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Lays extensions, as an installer would, into a folder that `PYTHONPATH` can name; returns the folder."""
    folder = tmp_path / "installed"

    def make(id: str, body: str, **manifest: object) -> Path:
        module = f"ext_{id.replace('-', '_')}"
        facts = folder / f"{module}-1.0.dist-info"
        facts.mkdir(parents=True)
        words = ", ".join(f"{name}={value!r}" for name, value in {"title": id, "summary": id, **manifest}.items())
        preamble = f"from refold import *\n@hookimpl\ndef manifest(): return Manifest(id={id!r}, {words})\n"
        (folder / f"{module}.py").write_text(preamble + textwrap.dedent(body))
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text(f"[refold.extensions]\n{id} = {module}\n")
        (facts / "RECORD").write_text(f"{module}.py,,\n{facts.name}/METADATA,,\n{facts.name}/entry_points.txt,,\n")
        return folder

    return make
