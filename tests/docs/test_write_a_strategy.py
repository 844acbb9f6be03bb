"""The page for authors: what `refold new-strategy` writes is built, installed, tested and used as the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/write-a-strategy.md").read_text()
SHOWN = dict(re.findall(r"^`([\w./]+)`:\n\n```\w+\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of a new strategy by another name, its wheel, and the wheel installed in `site`."""
    folder = tmp_path_factory.mktemp("project")
    run(folder, "-m", "refold", "new-strategy", "two-tails", "--folder", ".", check=True)
    run(
        folder,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        "dist",
        ".",
        check=True,
    )
    (wheel,) = (folder / "dist").glob("*.whl")
    run(folder, "-m", "pip", "install", "--quiet", "--no-deps", "--target", "site", str(wheel), check=True)
    return folder


def run(project: Path, *words: str, check: bool = False) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(project / "site"), "REFOLD_HOME": str(project / "home")}
    return subprocess.run(
        [sys.executable, "-P", *words], cwd=project, env=env, capture_output=True, text=True, check=check
    )


def test_the_page_shows_the_files_that_the_command_writes(tmp_path: Path) -> None:
    done = run(tmp_path, "-m", "refold", "new-strategy", "keep-last", "--json")
    document = json.loads(done.stdout)
    folder = tmp_path / document["folder"]
    assert {*SHOWN, "README.md"} == set(document["files"])
    assert {name: (folder / name).read_text() for name in SHOWN} == SHOWN


def test_a_new_strategy_passes_the_conformance_suite_as_it_is(project: Path) -> None:
    done = run(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_its_wheel_holds_the_package_and_nothing_of_the_template(project: Path) -> None:
    (wheel,) = (project / "dist").glob("*.whl")
    assert wheel.name == "refold_two_tails-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if "keep" in name]
        assert b"keep" not in archive.read("refold_two_tails/__init__.py").lower()


def test_it_is_listed_and_can_be_enabled(project: Path) -> None:
    done = run(project, "-m", "refold", "extensions", "enable", "two-tails", "--json")
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    assert listed["strategy"] == "two-tails"
    found = {each["id"]: each for each in listed["extensions"]}
    assert found["two-tails"]["problem"] is None
    assert found["rolling"]["enabled"] is False


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Two", "an id is a lower-case letter"),
        ("search", "it is a command of refold"),
        ("compaction", "a section of the host"),
        ("rolling", "an extension of that name is installed"),
        ("../up", "an id is a lower-case letter"),
    ],
)
def test_a_name_that_cannot_be_writes_nothing_and_says_why(tmp_path: Path, name: str, why: str) -> None:
    done = run(tmp_path, "-m", "refold", "new-strategy", name)
    assert done.returncode == 1
    assert why in done.stderr
    assert "nothing was written" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "refold-two-tails").mkdir()
    (tmp_path / "refold-two-tails/mine.txt").write_text("mine")
    done = run(tmp_path, "-m", "refold", "new-strategy", "two-tails")
    assert done.returncode == 1
    assert "is there already" in done.stderr
    assert [each.name for each in (tmp_path / "refold-two-tails").iterdir()] == ["mine.txt"]
