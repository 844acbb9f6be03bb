"""The report on survival runs and is complete. What survives is not asserted: the sets are for measuring alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def report(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.bench.survival", "--sessions", "1", "--rounds", "2", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)


@pytest.mark.parametrize("strategy", ["rolling", "lcm", "chain", "window", "snapcompact"])
def test_every_planted_row_is_counted_after_each_compaction(strategy: str) -> None:
    (told,) = json.loads(report("--strategy", strategy, "--window", "8000", "--json").stdout)
    assert not told["faults"]
    assert sum(told["compactions"].values()) >= 2
    assert len(told["kinds"]) == 7
    for found in told["kinds"].values():
        assert found["planted"] == [4, 4]
        for text, pages in zip(found["text"], found["pages"], strict=True):
            assert 0 <= text + pages <= 4


def test_people_get_tables() -> None:
    options = ("--strategy", "rolling", "--window", "8000")
    long, brief = report(*options).stdout, report(*options, "--brief").stdout
    assert "| 8,000 | rolling | user-rules | 4 |" in long
    assert "Compactions by kind:" in long
    assert len(brief.splitlines()) == 3
