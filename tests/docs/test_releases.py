"""What a release relies on."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_all_distributions_carry_one_version() -> None:
    release = runpy.run_path(str(ROOT / ".ci/version.py"))
    projects = release["projects"]()
    assert len(projects) == 1 + len(list((ROOT / "plugins").iterdir()))
    assert len(release["versions"]()) == 1
    assert {tomllib.loads(project.read_text("utf-8"))["project"]["version"] for project in projects} == release[
        "versions"
    ]()


def test_what_is_no_version_is_refused() -> None:
    main = runpy.run_path(str(ROOT / ".ci/version.py"))["main"]
    assert "is no version" in main(["next"])
    assert "carry" in main(["--check", "99.0.0"])
