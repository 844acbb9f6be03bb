"""What window costs by what a request holds.

pytest plugins/window/tests/test_bench_window.py --benchmark-only
"""

from __future__ import annotations

from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from refold import Call, Row
from refold_window.planner import plan
from refold_window.shape import End, Result, Shape

from .conftest import NEW, Kit, words
from .test_window_planner import P

WINDOW = 40_000


def filled(kit: Kit, turns: int) -> Any:
    """A session of four rows a turn with one summary record; what is shown is the same, whatever its length."""
    session = kit.session()
    text = words(300)
    for start in range(0, turns, 500):
        session.append(
            row
            for n in range(start, min(turns, start + 500))
            for row in (
                Row(NEW, "user", 0, 0, opens=True, text=f"question {n}"),
                Row(NEW, "assistant", 0, 0, calls=(Call(f"c{n}", "Grep", {"pattern": f"p{n}"}),)),
                Row(NEW, "result", 0, 0, text=text, call_id=f"c{n}"),
                Row(NEW, "assistant", 0, 0, text=f"answer {n}"),
            )
        )
    session.user("and now?")
    session.prepare(WINDOW)
    return session


@pytest.mark.parametrize("turns", [500, 5_000])
def test_bench_the_check_that_decides_to_do_nothing(benchmark: BenchmarkFixture, kit: Kit, turns: int) -> None:
    session = filled(kit, turns)
    assert not benchmark(session.check, WINDOW).due


@pytest.mark.parametrize("turns", [500, 5_000])
def test_bench_a_request_below_the_trigger(benchmark: BenchmarkFixture, kit: Kit, turns: int) -> None:
    session = filled(kit, turns)
    assert benchmark(session.prepare, WINDOW).attempted is None


def test_bench_a_plan_over_two_thousand_results(benchmark: BenchmarkFixture) -> None:
    results = tuple(Result(n * 4, "dump", 300, "[cleared]", 20, f"f{n % 200}") for n in range(1, 2_001))
    ends = tuple(End(n * 4 + 1, n * 400, n * 400) for n in range(1, 2_001))
    benchmark(plan, Shape(0, 900_000, results, ends), P)
