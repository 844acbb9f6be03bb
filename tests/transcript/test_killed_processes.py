"""Processes killed at random moments: what was acknowledged is there, and nothing is half there."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

from refold.transcript import sessions
from refold.transcript.database import Database
from refold.transcript.deletion import finish_deletions
from refold.transcript.rows import load_sources

WORK = """
import sys
from pathlib import Path
from refold import Row, SourceRef
from refold.transcript import sessions
from refold.transcript.append import append
from refold.transcript.database import Database
from refold.transcript.deletion import delete
from refold.transcript.fork import fork
database = Database(Path(sys.argv[1]))
print("ready", flush=True)
for n in range(10**6):
    step = [Row(SourceRef("", 0), "assistant", 0, 0, text="x" * 3000), Row(SourceRef("", 0), "result", 0, 0, text="y")]
    with database.write() as writer:
        refs = append(writer, "s", step)
    print(refs[-1].seq, flush=True)
    branch = fork(database, "s", refs[-1].seq).session
    if n % 2:
        delete(database, branch)
"""


def test_twenty_kills_lose_nothing_that_was_acknowledged(tmp_path):
    path, dice = tmp_path / "home" / "refold.db", random.Random(7)
    with Database(path) as database, database.write() as writer:
        sessions.create(writer, "s")
    acknowledged = 0
    for _ in range(20):
        process = subprocess.Popen([sys.executable, "-c", WORK, str(path)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(dice.uniform(0.0, 0.04))
        os.kill(process.pid, signal.SIGKILL)
        told = [int(line) for line in process.communicate()[0].splitlines(keepends=True) if line.endswith("\n")]
        acknowledged = max([acknowledged, *told])
        check(path, acknowledged)
    assert acknowledged > 0


def check(path, acknowledged: int) -> None:
    with Database(path) as database:
        finish_deletions(database)
        with database.read() as reader:
            rows = load_sources(reader, "s", 0, 10**9)
            assert len(rows) >= acknowledged
            assert [row.kind for row in rows] == ["assistant", "result"] * (len(rows) // 2), "a step was torn"
            assert reader.one("PRAGMA integrity_check") == ("ok",)
            assert reader.all("PRAGMA foreign_key_check") == []
            assert reader.one("SELECT count(*) FROM refold_row WHERE body NOT IN (SELECT id FROM refold_body)") == (0,)
            assert reader.one("SELECT count(*) FROM refold_body WHERE id NOT IN (SELECT body FROM refold_row)") == (0,)
            assert reader.one("SELECT count(*) FROM refold_row WHERE session NOT IN (SELECT key FROM sessions)") == (0,)
