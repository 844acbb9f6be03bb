"""A process that dies in an import, and two that import one file at once."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
import time
from pathlib import Path

from refold.importers.store import import_file
from refold.transcript.database import Database
from refold.transcript.rows import load_sources
from refold.transcript.sessions import find, listing
from refold.transcript.state import origin

IMPORT = """
import sys
from pathlib import Path
from refold import RefoldError
from refold.importers import store
from refold.transcript.database import Database

store.BATCH_ROWS = int(sys.argv[3])
print("ready", flush=True)
with Database(Path(sys.argv[1])) as database:
    try:
        print(store.import_file(database, sys.argv[2]).rows)
    except RefoldError as error:
        print(type(error).__name__, error)
"""
ROWS = 3000


def write_session(path: Path) -> None:
    """A rollout of ROWS rows: prompts, calls and their results."""
    with path.open("w") as file:

        def line(kind: str, **payload: object) -> None:
            file.write(json.dumps({"type": kind, "payload": payload}) + "\n")

        line("session_meta", id="talk")
        for n in range(ROWS // 3):
            line(
                "response_item", type="message", role="user", content=[{"type": "input_text", "text": f"go {n} " * 20}]
            )
            line("response_item", type="function_call", call_id=f"c{n}", name="f", arguments="{}")
            line("response_item", type="function_call_output", call_id=f"c{n}", output=f"out {n} " * 40)


def start(home: Path, file: Path, batch: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", IMPORT, str(home / "refold.db"), str(file), str(batch)],
        stdout=subprocess.PIPE,
        text=True,
    )


def contents(database: Database, session: str) -> list[object]:
    with database.read() as reader:
        return [
            (row.ref.seq, row.kind, row.turn, row.step, row.opens, row.text, row.calls, row.call_id)
            for row in load_sources(reader, session, 0, 10**9)
        ]


def test_a_killed_import_leaves_a_whole_beginning_and_the_next_one_goes_on(tmp_path):
    file = tmp_path / "rollout.jsonl"
    write_session(file)
    with Database(tmp_path / "clean" / "refold.db") as database:
        import_file(database, file)
        expected = contents(database, "talk")
    chance = random.Random(7)
    home = tmp_path / "home"
    cut_short = 0
    for _ in range(5):
        process = start(home, file, 20)
        assert process.stdout is not None
        process.stdout.readline()
        while process.poll() is None:
            with Database(home / "refold.db") as database, database.read() as reader:
                if listing(reader):
                    break
        time.sleep(chance.uniform(0, 0.1))
        process.kill()
        process.communicate()
        with Database(home / "refold.db") as database:
            with database.read() as reader:
                sessions = listing(reader)
            if sessions:
                left = contents(database, "talk")
                assert left == expected[: len(left)]
                assert left[-1][1] != "assistant" or len(left) == ROWS
                with database.read() as reader:
                    place = origin(reader, "talk")
                assert place is not None
                assert place.rows == len(left)
                cut_short += 0 < len(left) < ROWS
    with Database(home / "refold.db") as database:
        import_file(database, file)
        assert contents(database, "talk") == expected
        with database.read() as reader:
            assert [listed.session.id for listed in listing(reader)] == ["talk"]
    assert cut_short


def test_two_processes_that_import_one_file_make_one_session(tmp_path):
    file = tmp_path / "rollout.jsonl"
    write_session(file)
    pair = [start(tmp_path / "home", file, 50) for _ in range(2)]
    told = [process.communicate(timeout=60)[0].splitlines()[-1] for process in pair]
    with Database(tmp_path / "home" / "refold.db") as database:
        with database.read() as reader:
            assert [listed.session.id for listed in listing(reader)] == ["talk"]
            assert find(reader, "talk").title is not None
        assert len(contents(database, "talk")) == ROWS
        assert import_file(database, io.BytesIO(file.read_bytes())).rows == 0
    assert all(words in ("0", str(ROWS)) or words.startswith("Busy ") for words in told)
    assert str(ROWS) in told
