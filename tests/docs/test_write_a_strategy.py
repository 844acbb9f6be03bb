"""The page for authors: its strategy is packaged, installed with pip, tested and used as the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/write-a-strategy.md").read_text()
FILES = dict(re.findall(r"^`([\w./]+)`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's files, and the built package in `site`."""
    folder = tmp_path_factory.mktemp("keep_last")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    install = ["pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", "site", "."]
    subprocess.run([sys.executable, "-m", *install], cwd=folder, check=True, capture_output=True)
    return folder


def run(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(project / "site"), "REFOLD_HOME": str(project / "home")}
    return subprocess.run(
        [sys.executable, "-P", *words], cwd=project, env=env, capture_output=True, text=True, check=False
    )


def test_the_page_holds_a_package_a_strategy_and_a_test() -> None:
    assert sorted(FILES) == ["pyproject.toml", "refold_keep_last/__init__.py", "tests/test_keep_last.py"]


def test_the_strategy_passes_the_conformance_suite(project: Path) -> None:
    done = run(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_the_strategy_is_listed_and_can_be_enabled(project: Path) -> None:
    done = run(project, "-m", "refold", "extensions", "enable", "keep-last", "--json")
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    assert listed["strategy"] == "keep-last"
    found = {each["id"]: each for each in listed["extensions"]}
    assert found["keep-last"]["problem"] is None
    assert found["rolling"]["enabled"] is False
