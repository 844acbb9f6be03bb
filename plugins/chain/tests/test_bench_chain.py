"""What a request costs under chain: by what it holds, whatever the session's length.

pytest plugins/chain/tests/test_bench_chain.py --benchmark-only
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from refold import Call, Host, Row, Session, SourceRef
from refold.testing import ScriptedSummarizer

NEW = SourceRef("", 0)
WINDOW = 200_000


def turn(number: int) -> list[Row]:
    text = "value = compute(argument, other=3)\n" * 12
    return [
        Row(NEW, "user", 0, 0, opens=True, text=f"question {number}?"),
        Row(NEW, "assistant", 0, 0, text="Let me look.", calls=(Call(f"c{number}", "read", {"path": f"/s/{number}"}),)),
        Row(NEW, "result", 0, 0, text=text, call_id=f"c{number}"),
        Row(NEW, "assistant", 0, 0, text=f"answer {number}. {text}"),
    ]


def folded(home: Path, rows: int) -> Session:
    """A session of so many rows, all but the newest 400 in ten blocks."""
    home.mkdir()
    (home / "extensions.json").write_text(json.dumps({"enabled": {"chain": True}}))
    host = Host(home, summarizers=[ScriptedSummarizer()])
    session = host.new("s")
    part = (rows - 400) // 10 // 4
    for number in range(10):
        session.append(row for n in range(number * part, (number + 1) * part) for row in turn(n))
        session.compact(10_000_000)
    session.append(row for n in range(10 * part, rows // 4) for row in turn(n))
    return session


@pytest.mark.benchmark(group="chain prepares")
@pytest.mark.parametrize("rows", [2_000, 20_000])
def test_prepare_below_the_threshold(rows: int, benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    session = folded(tmp_path / "home", rows)
    prepared = benchmark(session.prepare, WINDOW)
    assert prepared.attempted is None
    session.host.close()


@pytest.mark.benchmark(group="chain checks")
@pytest.mark.parametrize("rows", [2_000, 20_000])
def test_the_check_that_decides_to_do_nothing(rows: int, benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    session = folded(tmp_path / "home", rows)
    assert not benchmark(session.check, WINDOW).due
    session.host.close()
