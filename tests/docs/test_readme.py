"""Every command and program in the README runs as it is written."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from refold.registry.home_file import read

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def environment(tmp_path: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    inherited = {name: text for name, text in os.environ.items() if name != "REFOLD_DISABLE"}
    return {**inherited, "REFOLD_HOME": str(tmp_path / "home"), "PATH": path, "COLUMNS": "100"}


def test_every_refold_command_in_the_readme_succeeds_in_order(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs/examples", tmp_path / "docs/examples")
    env = environment(tmp_path)
    commands = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("refold ")]
    assert len(commands) >= 7
    session = "SESSION"
    for command in commands:
        words = [session if word == "SESSION" else word for word in shlex.split(command)]
        done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        if command.startswith("refold import"):
            listed = subprocess.run(
                ["refold", "sessions", "--json"], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
            )
            session = json.loads(listed.stdout)["sessions"][0]["id"]


def test_the_other_shell_commands_of_the_readme_are_run_by_ci_as_they_are_written() -> None:
    script = (ROOT / ".ci/run").read_text()
    lines = [line for block in blocks("sh") for line in block.splitlines() if not line.startswith("refold ")]
    assert len(lines) >= 6
    for line in lines:
        assert line in script, f"{line} is run nowhere"


def test_the_demo_needs_no_group_of_dependencies_and_the_tests_name_theirs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["uv"]["default-groups"] == []
    (command,) = [line for block in blocks("sh") for line in block.splitlines() if line.endswith("pytest")]
    (group,) = re.findall(r"--group (\w+)", command)
    wanted = project["dependency-groups"][group]
    assert {"include-group": "peers"} in wanted
    assert any(str(each).startswith("pytest>") for each in wanted)


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_each_program_in_the_readme_runs(number: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", blocks("python")[number]],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_settings_in_the_readme_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFOLD_DISABLE", raising=False)
    from refold import Host

    home = tmp_path / "home"
    home.mkdir()
    (home / "extensions.json").write_text(blocks("json")[0])
    assert read(home / "extensions.json").fault is None
    with Host(home) as host:
        assert host.extensions().problems == ()
        assert [each.problem for each in host.extensions().extensions if each.id == "rolling"] == [None]
