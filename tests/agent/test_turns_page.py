"""The page for host apps: its program runs as it is written, against a model on the loopback."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from refold.agent import events
from refold.agent.commands import HOST

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
