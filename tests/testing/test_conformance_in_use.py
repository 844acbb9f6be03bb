"""The suite as a third party uses it: a subclass, run by pytest in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from refold.testing import StrategyConformance

MODULE = """
from refold.testing import StrategyConformance

class TestOne(StrategyConformance):
    strategy = "{id}"
    examples = 3
"""


def run(id: str, site: Path, folder: Path, *options: str) -> str:
    (folder / "test_one.py").write_text(MODULE.format(id=id))
    path = os.pathsep.join([str(site), str(Path(__file__).parent / "planted")])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-W", "error", *options, "test_one.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def outcomes(output: str, word: str) -> set[str]:
    return {
        line.split("::")[-1].split(" - ")[0] for line in output.splitlines() if line.startswith(f"{word} test_one.py")
    }


def test_an_honest_strategy_passes_every_test(site: Path, tmp_path: Path) -> None:
    output = run("honest", site, tmp_path)
    assert outcomes(output, "PASSED") == {name for name in dir(StrategyConformance) if name.startswith("test_")}, output


def test_a_faulty_one_fails_the_test_that_names_the_rule_and_no_other(site: Path, tmp_path: Path) -> None:
    output = run("counts-in-front", site, tmp_path)
    assert outcomes(output, "FAILED") == {"test_appending_extends_the_previous_request"}, output
    assert "counts-in-front breaks a rule: appending extends the previous request\n" in output
    assert "  1. Talk(turns=" in output


def test_a_strategy_that_is_not_installed_fails_at_once(site: Path, tmp_path: Path) -> None:
    output = run("nobody", site, tmp_path, "-x")
    assert "NotFound: " in output
    assert "nobody" in output
    assert not outcomes(output, "PASSED")


def test_a_conformance_test_cannot_be_replaced() -> None:
    with pytest.raises(TypeError, match="TestMine replaces test_project_writes_nothing"):
        type("TestMine", (StrategyConformance,), {"test_project_writes_nothing": None})
