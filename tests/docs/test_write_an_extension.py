"""The page for other extensions: its package is built, installed and tested as it says, and its tables are complete."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from refold.values import inputs, rows

PAGE = (Path(__file__).parents[2] / "docs/write-an-extension.md").read_text()
FILES = dict(re.findall(r"^`([\w./]+)`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's files, and the built package in `site`."""
    folder = tmp_path_factory.mktemp("extensions")
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


def test_the_tests_of_the_page_pass(project: Path) -> None:
    done = run(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_the_settings_of_the_page_are_read_and_a_mistyped_key_is_told(project: Path) -> None:
    (written,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    (project / "home").mkdir(exist_ok=True)
    for text, faulty in ((written, False), (written.replace("mostPins", "mostPin"), True)):
        (project / "home/extensions.json").write_text(text)
        listed = json.loads(run(project, "-m", "refold", "extensions", "--json").stdout)
        (problem,) = [each["problem"] for each in listed["extensions"] if each["id"] == "pins"]
        assert (problem is not None) is faulty
        assert not faulty or "did you mean mostPins?" in problem


@pytest.mark.parametrize(
    ("table", "legal"),
    [("Row.kind", rows.Kind), ("Section.kind", inputs.SectionKind), ("Observation.status", inputs.Status)],
)
def test_the_page_lists_every_legal_value_and_no_other(table: str, legal: object) -> None:
    (body,) = re.findall(rf"\| `{re.escape(table)}` \| \|\n\| --- \| --- \|\n((?:\|.*\n)+)", PAGE)
    assert re.findall(r"^\| `(\w+)`", body, re.MULTILINE) == list(get_args(legal))


def test_the_page_names_every_event() -> None:
    (line,) = re.findall(r"^\| `event` \|.*$", PAGE, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", line)) - {"event"} == rows.EVENTS
