"""A home with sessions, and extensions written on the spot."""

from __future__ import annotations

import itertools
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from refold import Call, Host, Session

_NAMES = itertools.count()

Install = Callable[..., str]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs an extension for this test: a module with its distribution on the path."""
    made: list[str] = []

    def make(id: str, body: str, **manifest: object) -> str:
        module = f"extension_{next(_NAMES)}"
        folder = tmp_path / module
        facts = folder / f"{module}-1.0.dist-info"
        facts.mkdir(parents=True)
        words = ", ".join(f"{k}={v!r}" for k, v in {"title": id, "summary": id, "default": True, **manifest}.items())
        preamble = f"from refold import *\n@hookimpl\ndef manifest(): return Manifest(id={id!r}, {words})\n"
        (folder / f"{module}.py").write_text(preamble + textwrap.dedent(body))
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text(f"[refold.extensions]\n{id} = {module}\n")
        (facts / "RECORD").write_text(f"{module}.py,,\n{facts.name}/METADATA,,\n{facts.name}/entry_points.txt,,\n")
        monkeypatch.syspath_prepend(folder)
        made.append(module)
        return module

    yield make
    for module in made:
        sys.modules.pop(module, None)


@pytest.fixture
def host(home: Path, install: Install) -> Iterator[Host]:
    """A host; extensions that a test installs first are in it."""
    with Host(home) as opened:
        yield opened


@pytest.fixture
def talk() -> Callable[..., None]:
    """Appends whole turns with one tool call each."""

    def say(session: Session, turns: int, words: int = 60, first: int = 0) -> None:
        for turn in range(first, first + turns):
            session.user(f"question {turn}: " + "what does this do? " * (words // 5))
            session.assistant("reading it", [Call(f"call-{turn}", "read", {"path": f"/src/module_{turn}.py"})])
            session.results({f"call-{turn}": f"def f{turn}(): return {turn}\n" * (words // 3)})
            session.assistant(f"answer {turn}: " + "it returns a number. " * (words // 5))

    return say
