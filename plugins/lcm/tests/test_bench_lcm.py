"""Figures of lcm over long sessions, with a stub summarizer.

    pytest plugins/lcm/tests/test_bench_lcm.py --benchmark-only -s
    LCM_ROWS=200000 pytest plugins/lcm/tests/test_bench_lcm.py --benchmark-only -s

Rows: 20,000, or what `LCM_ROWS` says.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import apsw
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from refold import Host, Row, Session, SourceRef
from refold.sizing.estimate import tokens
from refold.summarize.prompt import Prompt
from refold.testing import ScriptedSummarizer

ROWS = int(os.environ.get("LCM_ROWS", "20000"))
WINDOW = 32_000
PART = 2_000
WORDS = (*"abcdefghijklmnopqrstuvwxyz", "parser", "table", "index", "value", "error when", "file", "module")
_NEW = SourceRef("", 0)

Asking = Callable[[Session], AbstractContextManager[Callable[..., dict[str, Any]]]]
_read: list[int] = []
_seconds: list[float] = []


def _reply(prompt: Prompt) -> str:
    _read.append(sum(tokens(block.text) for block in prompt.blocks))
    return " ".join(["went on"] * min(200, (prompt.words or 200) // 3))


def _rows(first: int, count: int) -> Iterator[Row]:
    choose = random.Random(first)
    for n in range(first, first + count, 2):
        text = " ".join(choose.choices(WORDS, k=60))
        rare = " zq9-Xylophone-7731" if n == ROWS // 2 else ""
        yield Row(_NEW, "user", 0, 0, opens=True, text=f"{n} {text}{rare}")
        yield Row(_NEW, "assistant", 0, 0, text=f"done: {text} {text}")


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory, by_itself: Callable[[Host], None]) -> Iterator[Session]:
    """A session that grew part by part, compacted whenever that was due."""
    with Host(tmp_path_factory.mktemp("long"), summarizers=[ScriptedSummarizer(_reply)]) as host:
        by_itself(host)
        session = host.new()
        for first in range(0, ROWS, PART):
            session.append(_rows(first, PART))
            started = time.perf_counter()
            session.prepare(WINDOW)
            _seconds.append(time.perf_counter() - started)
        yield session


def test_bench_growing(benchmark: BenchmarkFixture, long: Session) -> None:
    """A preparation with nothing to fold; and what all compactions before it took together."""
    tree = long.run("lcm tree", {})["nodes"]
    quarter = len(_seconds) // 4
    print(
        f"\n{ROWS:,} rows: {sum(_seconds):.2f} s in {len(_seconds)} compactions, {sum(_read):,} tokens read in"
        f" {len(_read):,} calls, {len(tree):,} nodes, depth {max(node['depth'] for node in tree)};"
        f" first quarter {sum(_seconds[:quarter]):.2f} s, last quarter {sum(_seconds[-quarter:]):.2f} s"
    )
    benchmark(long.prepare, WINDOW)


def test_bench_check(benchmark: BenchmarkFixture, long: Session) -> None:
    benchmark(long.check, WINDOW)


@pytest.mark.parametrize(("name", "needle"), [("rare", "ZQ9-xylophone"), ("common", "ERROR WHEN"), ("absent", "qqqq")])
def test_bench_grep(benchmark: BenchmarkFixture, long: Session, asking: Asking, name: str, needle: str) -> None:
    """The tool's first page beside SQLite's own scan for as many rows: LIKE over the same rows."""
    scan = apsw.Connection(str(long.host.home / "refold.db"), flags=apsw.SQLITE_OPEN_READONLY)

    def plain() -> list[Any]:
        sql = (
            "SELECT r.seq, b.text FROM refold_row r CROSS JOIN refold_body b ON b.id=r.body"
            " WHERE r.session=1 AND b.text LIKE ? ORDER BY r.seq LIMIT 11"
        )
        return scan.execute(sql, (f"%{needle}%",)).fetchall()

    plain()
    best = min(_timed(plain) for _ in range(5))
    with asking(long) as ask:
        benchmark(ask, "lcm_grep", text=needle)
        best_tool = min(_timed(lambda: ask("lcm_grep", text=needle)) for _ in range(5))
    print(f"\n{name}: lcm_grep {best_tool * 1e3:.2f} ms, plain scan {best * 1e3:.2f} ms, ratio {best_tool / best:.2f}")


@pytest.mark.parametrize("needle", ["error when", "qqqq"])
def test_bench_grep_in_a_node(benchmark: BenchmarkFixture, long: Session, asking: Asking, needle: str) -> None:
    """It reads the node's rows, not those behind them."""
    node = next(node["id"] for node in long.run("lcm tree", {})["nodes"] if not node["children"])
    with asking(long) as ask:
        benchmark(ask, "lcm_grep", text=needle, node=node)


def test_bench_expand(benchmark: BenchmarkFixture, long: Session, asking: Asking) -> None:
    node = long.run("lcm tree", {})["nodes"][0]["id"]
    with asking(long) as ask:
        benchmark(ask, "lcm_expand", node=node)


def test_bench_fork(benchmark: BenchmarkFixture, long: Session) -> None:
    benchmark.pedantic(lambda: long.fork(ROWS - 1), rounds=3)


def _timed(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started
