"""What a request costs by what it holds, whatever the session's length.

pytest tests/bench/test_bench_prepare.py --benchmark-only
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from refold import Call, Host, Row, Session, SourceRef
from refold.providers.protocols import PROTOCOLS
from refold.values.json_text import json_bytes

WINDOW = 200_000
NEW = SourceRef("", 0)


def turn(number: int) -> list[Row]:
    """Eight rows, about 640 characters each: a prompt, three calls with results, a reply."""
    text = f"line {number} of a file that somebody reads: " + "value = compute(argument, other=3)\n" * 16
    rows = [Row(NEW, "user", 0, 0, opens=True, text=f"question {number}? {text}")]
    for step in range(3):
        call = Call(f"call-{number}-{step}", "read_file", {"absolute_path": f"/src/{number}/{step}.py"})
        rows.append(Row(NEW, "assistant", 0, 0, text="Let me look.", calls=(call,)))
        rows.append(Row(NEW, "result", 0, 0, text=text, call_id=call.id))
    return [*rows, Row(NEW, "assistant", 0, 0, text=f"answer {number}. {text}")]


def fill(session: Session, rows: int) -> None:
    for start in range(0, rows // 8, 500):
        session.append(row for number in range(start, min(start + 500, rows // 8)) for row in turn(number))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("bench") / "home"
    with Host(folder) as host:
        yield host


@pytest.fixture(scope="module")
def sessions(home: Host) -> dict[int, Session]:
    made = {}
    for rows in (200, 2_000, 20_000, 200_000):
        made[rows] = home.new(f"rows-{rows}")
        fill(made[rows], rows)
    return made


@pytest.fixture(scope="module")
def folded(sessions: dict[int, Session]) -> dict[int, Session]:
    """Both with a rolling state whose request is the same: the newest 400 rows and a summary."""
    for rows in (2_000, 200_000):
        session = sessions[rows]
        upto = rows - 400
        with session.host.database.write() as writer:
            tokens = writer.one(
                "SELECT tokens FROM refold_row WHERE session=(SELECT key FROM sessions WHERE id=?) AND seq=?",
                session.id,
                upto,
            )
            assert tokens is not None
            writer.execute(
                "INSERT INTO rolling_state VALUES(?, 0, 1, 'what came before', ?, ?, '', 0, 'bench')",
                session.id,
                upto,
                tokens[0],
            )
    return sessions


@pytest.mark.parametrize("rows", [200, 2_000, 20_000, 200_000])
def test_the_check_that_decides_to_do_nothing(
    rows: int, sessions: dict[int, Session], benchmark: BenchmarkFixture
) -> None:
    session = sessions[rows]
    assert not benchmark(session.check, 100_000_000).due


@pytest.mark.parametrize("rows", [2_000, 200_000])
def test_prepare_below_the_trigger_warm(rows: int, folded: dict[int, Session], benchmark: BenchmarkFixture) -> None:
    session = folded[rows]
    prepared = benchmark(session.prepare, WINDOW)
    assert prepared.attempted is None
    assert len(prepared.request.messages) == 402


@pytest.mark.parametrize("rows", [2_000, 200_000])
def test_prepare_below_the_trigger_with_nothing_decoded_before(
    rows: int, folded: dict[int, Session], benchmark: BenchmarkFixture
) -> None:
    host = folded[rows].host
    prepared = benchmark(lambda: host.session(f"rows-{rows}").prepare(WINDOW))
    assert len(prepared.request.messages) == 402


def test_encode_a_prepared_request(folded: dict[int, Session], benchmark: BenchmarkFixture) -> None:
    request = folded[2_000].prepare(WINDOW).request
    assert benchmark(lambda: json_bytes(PROTOCOLS["anthropic"].encode(request, lambda image: b"")))
