"""What holds of eviction whatever a model calls, in random turns; and what a decision costs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_benchmark.fixture import BenchmarkFixture
from refold import Call, Row, SourceRef
from refold.values.traits import KNOWN_TOOLS
from refold_eviction.decide import verdicts
from refold_eviction.placeholders import placeholder
from refold_eviction.results import seen
from refold_eviction.settings import EvictionSettings

TOOLS = ("read", "grep", "ls", "bash", "write", "nobody", "keep_result", "WebFetch")
PATHS = ("a", "src", "src/a.py", "/repo/src/a.py", "..", "C:\\x", "", "https://e.org")
CALLS = st.tuples(
    st.sampled_from(TOOLS),
    st.fixed_dictionaries(
        {},
        optional={
            "path": st.sampled_from(PATHS) | st.none() | st.integers(),
            "url": st.sampled_from(PATHS),
            "pattern": st.sampled_from(("x", "y")),
            "offset": st.integers(-1, 90),
            "limit": st.integers(0, 50),
        },
    ),
)
STEPS = st.lists(
    st.lists(st.tuples(CALLS, st.sampled_from([0, 3_000]), st.booleans()), max_size=4), min_size=1, max_size=9
)


def rows_of(steps: Any) -> list[Row]:
    rows = [Row(SourceRef("s", 1), "user", 1, 0, opens=True, text="go")]

    def add(kind: Any, **more: Any) -> None:
        rows.append(Row(SourceRef("s", len(rows) + 1), kind, 1, 1, **more))

    for number, calls in enumerate(steps):
        made = [Call(f"c{number}-{n}", name, arguments) for n, ((name, arguments), _, _) in enumerate(calls)]
        add("assistant", text="on it", calls=tuple(made))
        for call, (_, size, ok) in zip(made, calls, strict=True):
            add("result", call_id=call.id, text="x" * size, ok=ok)
    return rows


def collapsed(rows: list[Row], *, listings: bool = True) -> dict[int, str]:
    found = verdicts(seen(rows, KNOWN_TOOLS.get), EvictionSettings(), listings=listings)
    return {ref.seq: placeholder(verdict) for ref, verdict in found.items()}


@settings(max_examples=150, deadline=None)
@given(STEPS, STEPS)
def test_what_collapsed_stays_so_unless_it_is_marked(first: Any, more: Any) -> None:
    unmarked = [[call for call in step if call[0][0] != "keep_result"] for step in more]
    before, after = collapsed(rows_of(first)), collapsed(rows_of([*first, *unmarked]))
    assert before.keys() <= after.keys()
    stale = {seq: text for seq, text in before.items() if "stale since" in text}
    assert stale.items() <= after.items()


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_only_large_results_of_tools_that_can_be_called_again_collapse_into_one_line(steps: Any) -> None:
    rows = rows_of(steps)
    calls = {call.id: call for row in rows for call in row.calls}
    for seq, text in collapsed(rows).items():
        row = rows[seq - 1]
        assert row.kind == "result"
        assert len(row.text) > 2_000
        assert calls[row.call_id or ""].name in ("read", "grep", "ls", "WebFetch")
        assert text.startswith("[evicted: ")
        assert text.endswith("again]")
        assert len(text.splitlines()) == 1
        assert text.count("]") == 1


@settings(max_examples=100, deadline=None)
@given(STEPS)
def test_the_two_newest_stay_unless_they_are_stale(steps: Any) -> None:
    rows = rows_of(steps)
    found = collapsed(rows)
    reads = [result.ref.seq for result in seen(rows, KNOWN_TOOLS.get).results if result.kind != "listing"]
    large = [seq for seq in reads if len(rows[seq - 1].text) > 2_000]
    assert all("stale since" in found[seq] for seq in large[-2:] if seq in found)


@pytest.mark.benchmark(group="eviction decides")
@pytest.mark.parametrize("steps", [100, 1_000])
def test_a_decision_over_a_turn_of_parallel_reads(steps: int, benchmark: BenchmarkFixture) -> None:
    rows = rows_of([[(("read", {"path": f"src/{n}/{m}.py"}), 3_000, True) for m in range(4)] for n in range(steps)])
    assert len(benchmark(collapsed, rows)) == steps * 4 - 4


@pytest.mark.benchmark(group="eviction decides")
@pytest.mark.parametrize("steps", [100, 1_000])
def test_a_decision_over_a_turn_of_reads_and_writes(steps: int, benchmark: BenchmarkFixture) -> None:
    calls = [
        [(("read", {"path": f"src/{n}.py"}), 3_000, True), (("write", {"path": f"src/{n % 50}.py"}), 10, True)]
        for n in range(steps)
    ]
    assert len(benchmark(collapsed, rows_of(calls))) >= 50
