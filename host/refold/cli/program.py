"""How this program was called, so that every command it prints works where it is printed.

`refold` where that is on the path; else as it was started: `.venv/bin/refold`, `python -m refold`, `uv run refold`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from attrs import frozen

NAME = "refold"
_COMMAND = re.compile(r"(?<=[`'])refold (?=[A-Za-z-])|(?<=Example: )refold ")


@frozen
class Start:
    """What a process knows of its own start. `argv` is Python's, `given` the words that the system was given;
    `environment` its variables, `prefix` the environment that its Python belongs to."""

    argv: Sequence[str]
    given: Sequence[str]
    environment: Mapping[str, str]
    prefix: Path
    folder: Path


Which = Callable[[str, str], str | None]


def called(start: Start, which: Which) -> list[str]:
    """The words that call refold in the shell that this process was started from. `which` finds a program on a path."""
    module = _module(start.given)
    script = start.argv[0] if start.argv else NAME
    if not module and Path(script).stem.lower() != NAME:
        return [NAME]  # inside another program
    if "UV_RUN_RECURSION_DEPTH" in start.environment:
        return [*_uv(start, which), "run", *_project(start), *(["python", "-m", NAME] if module else [NAME])]
    if "UV" in start.environment and which(NAME, _outer_path(start)) is None:
        return ["uvx", NAME]
    if module:
        return module
    found = which(NAME, start.environment.get("PATH", ""))
    return [NAME] if found and _same(found, script) else [script]


def _module(given: Sequence[str]) -> list[str]:
    """`python -m refold` as it was typed; empty when it was something else."""
    for place in range(1, len(given) - 1):
        if given[place] == "-m":
            return list(given[: place + 2]) if given[place + 1] == NAME else []
        if not given[place].startswith("-"):
            break
    return []


def _uv(start: Start, which: Which) -> list[str]:
    """uv by its name where the shell finds it, else where it is."""
    uv = start.environment.get("UV", "uv")
    found = which("uv", _outer_path(start))
    if found and _same(found, uv):
        return ["uv"]
    within = Path(uv).is_relative_to(start.folder)
    return [str(Path(uv).relative_to(start.folder)) if within else uv]


def _project(start: Start) -> list[str]:
    """The option that names the project, where uv would not find it from here."""
    project = start.prefix.parent
    found_from_here = start.prefix.name != ".venv" or start.folder.is_relative_to(project)
    return [] if found_from_here else ["--project", str(project)]


def _outer_path(start: Start) -> str:
    """The path of the shell: uv puts that of its environment in front for this process alone."""
    folders = start.environment.get("PATH", "").split(os.pathsep)
    return os.pathsep.join(each for each in folders if not each or not Path(each).is_relative_to(start.prefix))


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


@lru_cache(maxsize=1)
def _words() -> tuple[str, ...]:
    start = Start(sys.argv, sys.orig_argv, os.environ, Path(sys.prefix), Path.cwd())
    return tuple(called(start, lambda name, path: shutil.which(name, path=path)))


def program() -> str:
    """What calls this program, ready for a shell."""
    return shlex.join(_words())


def command(*words: object) -> str:
    """A command of refold that works as it stands; `words` begin with its name.

    >>> command("show", "my session")
    "refold show 'my session'"
    """
    return f"{program()} {shlex.join(map(str, words))}"


def runnable(text: str) -> str:
    """The text, each command of refold in quotes in it, or behind `Example:`, as it works here."""
    return _COMMAND.sub(lambda _: f"{program()} ", text) if program() != NAME else text


def installs(*words: str) -> str:
    """The command that installs a package where this program finds it."""
    python = sys.executable
    if find_spec("pip") is None:
        return shlex.join(["uv", "pip", "install", "--python", python, *words])
    return shlex.join([python, "-m", "pip", "install", *words])
