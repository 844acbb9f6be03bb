"""What the transcript costs. Run with `pytest tests/bench --benchmark-only`; nothing here asserts a time.

The long session has 200,000 rows cut from the standard library's sources (1.4 kB each on average).
"""

from __future__ import annotations

import itertools
import os
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from refold import Call, Row, SourceRef
from refold.transcript import sessions
from refold.transcript.append import append
from refold.transcript.database import Database
from refold.transcript.deletion import delete
from refold.transcript.fork import fork
from refold.transcript.history import StoredHistory
from refold.transcript.rows import last_seq, raw_rows
from refold.transcript.search import search

LONG, SHORT, RARE = 200_000, 1_000, "zyxqw"
PLAIN_SCAN = (
    "SELECT r.seq FROM refold_row r CROSS JOIN refold_body b ON b.id=r.body"
    " WHERE r.session=(SELECT key FROM sessions WHERE id=?) AND b.text LIKE ? ORDER BY r.seq LIMIT 20"
)


def row(kind: str, text: str, **fields: object) -> Row:
    return Row(SourceRef("", 0), kind, 0, 0, text=text, **fields)


def conversation(dice: random.Random, words: str) -> Iterator[Row]:
    for turn in itertools.count():
        at = dice.randrange(len(words) - 3000)
        yield row("user", words[at : at + 300], opens=True)
        for n in range(3):
            at, call = dice.randrange(len(words) - 3000), f"{turn}-{n}"
            yield row("assistant", words[at : at + 100], calls=(Call(call, "read", {"path": f"/src/{turn}.py"}),))
            yield row("result", words[at : at + 2500] + (RARE if turn == LONG // 16 else ""), call_id=call)
        yield row("assistant", words[at : at + 500])


@pytest.fixture(scope="module")
def words() -> str:
    return "".join(path.read_text(errors="replace") for path in sorted(Path(os.__file__).parent.glob("*.py"))[:100])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, words: str) -> Iterator[Database]:
    with Database(tmp_path_factory.mktemp("bench") / "refold.db") as database:
        for name, size in (("long", LONG), ("short", SHORT)):
            with database.write() as writer:
                sessions.create(writer, name)
                append(writer, name, itertools.islice(conversation(random.Random(1), words), size))
        yield database


@pytest.mark.parametrize("what", ["assistant row", "result row", "both in one commit"])
def test_append(benchmark, home, words, what):
    """Beside every round a bare commit of 600 bytes: a disk's mood changes within seconds. `-s` shows the ratio."""
    call = row("assistant", words[:100], calls=(Call("c", "read", {"path": "/x.py"}),))
    result = row("result", words[:1500], call_id="c")
    rows = {"assistant row": [call], "result row": [result], "both in one commit": [call, result]}[what]
    bare = []

    def bare_commit():
        began = time.perf_counter()
        with home.write() as writer:
            writer.execute("INSERT INTO refold_body(folding, text, rest) VALUES(0, ?, '{}')", words[:600])
        bare.append(time.perf_counter() - began)

    def run():
        with home.write() as writer:
            append(writer, "short", rows)

    benchmark.pedantic(run, setup=bare_commit, rounds=1000, warmup_rounds=5)
    if benchmark.stats:
        ratio = benchmark.stats.stats.median / statistics.median(bare)
        benchmark.extra_info["over a bare commit"] = ratio
        print(f"{what}: {ratio:.2f} times a bare commit")


@pytest.mark.parametrize("session", ["short", "long"])
@pytest.mark.parametrize("what", ["size", "tail", "cut", "turn ends"])
def test_look_up(benchmark, home, session, what):
    with home.read() as reader:
        upto = last_seq(reader, session)

        def run():
            history = StoredHistory(reader, session, 0, upto, lambda raw: raw, lambda width, height: 0)
            if what == "size":
                return history.size()
            if what == "tail":
                return history.tail(100_000)
            if what == "cut":
                return history.cut(upto // 2)
            return history.ends("turn")[len(history.ends("turn")) // 2]

        benchmark.pedantic(run, rounds=200, warmup_rounds=5)
        assert reader.decoded == 0


@pytest.mark.parametrize("word", ["import", RARE, "never to be found", "größe"])
@pytest.mark.parametrize("how", ["plain LIKE", "search"])
def test_search(benchmark, home, word, how):
    with home.read() as reader:

        def run():
            return search(reader, "long", word) if how == "search" else reader.all(PLAIN_SCAN, "long", f"%{word}%")

        benchmark.pedantic(run, rounds=5, warmup_rounds=1)


@pytest.mark.parametrize("how", ["plain read", "raw rows"])
def test_export(benchmark, home, how):
    with home.read() as reader:

        def run():
            if how == "raw rows":
                return sum(len(raw.rest) for raw in raw_rows(reader, "long"))
            sql = (
                "SELECT r.seq, b.text, b.rest FROM refold_row r JOIN refold_body b ON b.id=r.body"
                " WHERE session=1 ORDER BY r.seq"
            )
            return sum(len(rest) for _, _, rest in reader.each(sql))

        benchmark.pedantic(run, rounds=3, warmup_rounds=1)


def test_fork_and_delete_the_fork(benchmark, home):
    made = []
    benchmark.pedantic(lambda: made.append(fork(home, "long", LONG).session), rounds=5)
    with home.read() as reader:
        size = reader.one("SELECT sum(pgsize) / 1e6 FROM dbstat WHERE name='refold_row'")
        benchmark.extra_info["MB of all row references"] = size and size[0]
    for session in made:
        delete(home, session)
