"""The page for host apps: its program runs as it is written, against a model on the loopback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from refold import Session
from refold.agent import events
from refold.agent.commands import HOST

from tests.pictures import png

from .wires import Say

PAGE = (Path(__file__).parents[2] / "docs" / "turns.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_program_of_the_page_runs(model: Any, home: Path, tmp_path: Path) -> None:
    file = json.loads(block("json"))
    file["providers"]["local"]["baseUrl"] = model.url
    home.mkdir(mode=0o700)
    (home / "models.json").write_text(json.dumps(file))
    model.plays(Say("", (("c", "read", {"path": "billing.py"}),), usage=(90, 12)), Say("120 lines.", usage=(120, 4)))
    command = [sys.executable, "-c", block("python")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:2] == ["120 lines.", "end 4 rows"]
    assert lines[2].startswith("answer local/small ok {'input_tokens': 90")
    assert "billing.py: 120 lines" in json.dumps(model.asked[1])


def test_the_page_names_every_event_and_command() -> None:
    for event in events.Event.__args__:
        assert event.__name__ in PAGE
    for name in HOST:
        assert f"/{name}" in PAGE


class Page:
    """A page of a browser, as far as the program looks at one."""

    async def screenshot(self) -> bytes:
        return png(4, 4)


def test_the_tools_of_the_page_run(
    session: Session, model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heard: list[Any]
) -> None:
    (program,) = [each for each in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "ToolResult" in each]
    make = tmp_path / "make"
    make.write_text("#!/bin/sh\necho compiling $1\necho linking $1\n")
    make.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    exec(program, {"session": session, "page": Page(), "input": lambda words: "yes"})
    model.plays(Say("", (("1", "build", {"target": "all"}), ("2", "screenshot", {}))), Say("Built."))
    assert session.send("Build it", on_event=heard.append).text == "Built."
    built, shown = (row for row in session.rows() if row.kind == "result")
    assert built.text == '{"exit":0}'
    assert (shown.text, [image.width for image in shown.images]) == ("the page", [4])
    assert [event.text for event in heard if isinstance(event, events.CallProgress)][-1] == "linking all"
