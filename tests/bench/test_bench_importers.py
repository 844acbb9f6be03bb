"""How long an import and an export take. No absolute time is asserted."""

from __future__ import annotations

import io
import itertools
import json

import pytest
from refold.importers.export import export_lines
from refold.importers.store import import_file
from refold.transcript.database import Database

STEPS = 1000


@pytest.fixture
def rollout():
    def line(kind, **payload):
        return json.dumps({"type": kind, "payload": payload}).encode() + b"\n"

    parts = [line("session_meta", id="talk")]
    for n in range(STEPS):
        if n % 8 == 0:
            said = [{"type": "input_text", "text": "please look at the next file " * 8}]
            parts.append(line("response_item", type="message", role="user", content=said))
        call = {"call_id": f"c{n}", "name": "shell", "arguments": json.dumps({"command": f"sed -n 1,80p file{n}.py"})}
        parts.append(line("response_item", type="function_call", **call))
        output = f"def function_{n}(value):\n    return value * {n}\n" * 40
        parts.append(line("response_item", type="function_call_output", call_id=f"c{n}", output=output))
    return b"".join(parts)


def test_import_of_two_megabytes(benchmark, tmp_path, rollout):
    homes = itertools.count()

    def fresh():
        return (Database(tmp_path / str(next(homes)) / "refold.db"),), {}

    def run(database):
        with database:
            return import_file(database, io.BytesIO(rollout)).rows

    assert benchmark.pedantic(run, setup=fresh, rounds=5) == 2 * STEPS + STEPS // 8


def test_import_of_the_same_file_again(benchmark, tmp_path, rollout):
    with Database(tmp_path / "refold.db") as database:
        import_file(database, io.BytesIO(rollout))
        assert benchmark(lambda: import_file(database, io.BytesIO(rollout)).rows) == 0


def test_export(benchmark, tmp_path, rollout):
    with Database(tmp_path / "refold.db") as database:
        import_file(database, io.BytesIO(rollout))

        def run():
            with database.read() as reader:
                return sum(1 for _ in export_lines(reader, "talk"))

        assert benchmark(run) == 2 * STEPS + STEPS // 8 + 1
