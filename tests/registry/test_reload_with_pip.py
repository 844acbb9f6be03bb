"""Packages are installed, upgraded and removed with real pip while a process lives and reloads."""

from __future__ import annotations

import json
import shutil
from importlib import metadata
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from .conftest import STRATEGY, copy, source


def project(folder: Path, id: str, code: str, version: str = "1", backend: str = "hatchling") -> Path:
    """The source tree of a distribution with one extension, `refold-ID`."""
    package = f"t_{id}"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / package).mkdir(parents=True)
    (folder / package / "__init__.py").write_text(code)
    module = {"hatchling": "hatchling.build", "setuptools": "setuptools.build_meta"}[backend]
    (folder / "pyproject.toml").write_text(f"""\
[build-system]
requires = ["{backend}"]
build-backend = "{module}"
[project]
name = "refold-{id}"
version = "{version}"
dependencies = ["refold"]
[project.entry-points."refold.extensions"]
{id} = "{package}"
[tool.hatch.build]
dev-mode-dirs = ["."]
[tool.hatch.build.targets.wheel]
packages = ["{package}"]
""")
    return folder


def wheel(folder: Path, id: str, code: str, version: str = "1") -> Path:
    """The wheel of such a distribution."""
    built = WheelBuilder(str(project(folder / "source", id, code, version))).build(
        directory=str(folder / "wheels"), versions=["standard"]
    )
    return Path(next(iter(built)))


def says(word: str) -> str:
    """An extension with a tool that answers the word."""
    return f'@hookimpl\ndef tools(): return [Tool("say", "Says.", {{}}, lambda context, arguments: "{word}")]\n'


SAID = "answer = [tool.call(None, {}) for _, tool in registry.composition().tools]"


@pytest.fixture
def child(environment, living):
    """A living process with a default strategy."""
    environment.put("rolling", source("rolling", STRATEGY, default=True))
    process = living()
    assert process.list()["strategy"] == "rolling"
    return process


def test_a_third_party_strategy_lives_through_install_upgrade_rebuild_downgrade_and_removal(
    environment, child, tmp_path
):
    def build(code: str, version: str) -> Path:
        return wheel(tmp_path / f"{version}-{code}", "keep", source("keep", STRATEGY, title=code), version)

    environment.pip("install", first := build("first", "1.0"))
    assert child.reload()["added"] == ["keep"]
    assert child.list()["strategy"] == "rolling"
    assert child.list()["rows"]["keep"]["kind"] == "strategy"

    child.choose(changes={"keep": True})
    assert child.list()["strategy"] == "keep"
    assert child.list(session={"rolling": True})["strategy"] == "rolling"

    for code, version in (("second", "2.0"), ("rebuilt", "2.0"), ("first", "1.0")):
        environment.pip("install", "--force-reinstall", "--no-deps", build(code, version))
        assert child.reload()["changed"] == ["keep"]
        row = child.list()["rows"]["keep"]
        assert (row["version"], row["title"], row["enabled"]) == (version, code, True)
    assert child.reload()["changed"] == []

    environment.pip("uninstall", "-y", "refold-keep")
    assert child.reload()["removed"] == ["keep"]
    now = child.list()
    assert now["strategy"] == "rolling"
    assert now["rows"]["keep"]["problem"].startswith("is chosen but not installed")
    assert now["rows"]["keep"]["version"] is None
    assert child.list(session={"keep": True})["strategy"] == "rolling"
    assert child.modules("t_keep") == []

    environment.pip("install", first)
    child.reload()
    now = child.list()
    assert now["strategy"] == "keep"
    assert now["rows"]["keep"]["problem"] is None


def test_a_tool_comes_and_goes_and_a_broken_release_costs_only_itself(environment, child, tmp_path):
    environment.pip("install", wheel(tmp_path / "1", "talk", source("talk", says("one"), default=True), "1"))
    child.reload()
    assert child.python(SAID) == ["one"]

    environment.pip(
        "install", wheel(tmp_path / "2", "talk", "import t_talk.later\nraise RuntimeError('half done')", "2")
    )
    child.reload()
    now = child.list()
    assert now["enabled"] == ["rolling"]
    assert "cannot be imported" in now["rows"]["talk"]["problem"]
    assert now["rows"]["talk"]["version"] == "2"
    assert child.modules("t_talk") == []
    assert child.python(SAID) == []

    environment.pip("install", wheel(tmp_path / "3", "talk", source("talk", says("three"), default=True), "3"))
    assert child.reload()["changed"] == ["talk"]
    assert child.python(SAID) == ["three"]


def newer(path: Path, code: str) -> None:
    """A quick edit: the same size, within the same second."""
    assert len(code) == path.stat().st_size
    path.write_text(code)


def edits_moves_and_removal(environment, child, tmp_path, backend):
    body = """
        from t_edit.words import WORD
        @hookimpl
        def tools():
            return [Tool("say", "Says.", {}, lambda context, arguments: WORD)]
    """
    here = project(tmp_path / "here", "edit", source("edit", body, default=True), backend=backend)
    words = here / "t_edit" / "words.py"
    words.write_text("WORD = 'aaa'")
    environment.pip("install", "--no-deps", "--no-build-isolation", "-e", here)
    assert child.reload()["added"] == ["edit"]
    assert child.list()["rows"]["edit"]["problem"] is None
    assert child.python(SAID) == ["aaa"]
    assert bool(child.modules("__editable__")) is (backend == "setuptools")

    for word in ("bbb", "ccc", "ddd"):
        newer(words, f"WORD = '{word}'")
        assert child.reload()["changed"] == ["edit"]
        assert child.python(SAID) == [word]

    there = tmp_path / "there"
    shutil.copytree(here, there)
    (there / "t_edit" / "words.py").write_text("WORD = 'moved'")
    environment.pip("install", "--no-deps", "--no-build-isolation", "-e", there)
    child.reload()
    assert child.python(SAID) == ["moved"]

    environment.pip("uninstall", "-y", "refold-edit")
    assert child.reload()["removed"] == ["edit"]
    assert child.modules("t_edit") == child.modules("__editable__") == []


def test_an_editable_project_is_edited_moved_and_removed(environment, child, tmp_path):
    edits_moves_and_removal(environment, child, tmp_path, "hatchling")


def test_an_editable_project_with_a_finder_is_edited_moved_and_removed(environment, child, tmp_path):
    try:
        setuptools = metadata.distribution("setuptools")
    except metadata.PackageNotFoundError:
        pytest.skip("setuptools is not installed")
    if int(setuptools.version.partition(".")[0]) < 71:
        pytest.skip("this setuptools cannot build without the package wheel")
    copy(setuptools, environment.site)
    edits_moves_and_removal(environment, child, tmp_path, "setuptools")
    assert child.python("import sys; answer = [path for path in sys.path if '__editable__' in path]") == []


def test_the_choice_of_a_new_default_does_not_displace_the_strategy_in_force(environment, child, home, tmp_path):
    environment.pip("install", wheel(tmp_path, "ace", source("ace", STRATEGY, default=True)))
    child.reload()
    assert child.list()["strategy"] == "rolling"
    assert json.loads((home / "extensions.json").read_text()) == {"enabled": {"rolling": True}}
    child.choose(changes={"rolling": None})
    assert child.list()["strategy"] == "ace"
