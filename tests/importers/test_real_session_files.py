"""Real files of other agents, where they lie beside the repository."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from refold.importers.store import import_file
from refold.transcript.rows import load_sources

FOLDER = Path(__file__).parents[2].parent / "shared" / "data"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the files are not here")


@pytest.mark.parametrize(
    ("name", "format", "kinds", "skipped_lines"),
    [
        ("claude-code-pomodoro", "claude-code", {"user": 4, "assistant": 40, "result": 37, "replay": 31}, []),
        ("claude-code-representative", "claude-code", {"user": 4, "assistant": 5, "result": 2}, []),
        ("claude-code-edge-cases", "claude-code", {"user": 4, "assistant": 4, "result": 1}, [10, 11, 13, 14, 15, 16]),
        ("codex-session", "codex", {"user": 2, "assistant": 7, "result": 5, "replay": 6}, []),
        ("codex-parent-with-spawns", "codex", {"user": 2, "assistant": 2}, []),
        ("pi-before-compaction", "pi", {"user": 58, "assistant": 469, "result": 448, "replay": 49}, []),
    ],
)
def test_every_record_of_a_real_file_has_its_row(name, format, kinds, skipped_lines, database):
    done = import_file(database, FOLDER / f"{name}.jsonl")
    assert done.format == format
    assert [skipped.line for skipped in done.skipped] == skipped_lines
    with database.read() as reader:
        rows = load_sources(reader, done.session, 0, done.rows)
    assert {kind: n for kind, n in Counter(row.kind for row in rows).items() if kind != "event"} == kinds
    again = import_file(database, FOLDER / f"{name}.jsonl")
    assert (again.session, again.rows, again.already) == (done.session, 0, done.rows)


def test_every_result_of_a_real_file_follows_the_answer_that_called(database):
    done = import_file(database, FOLDER / "pi-before-compaction.jsonl")
    with database.read() as reader:
        rows = load_sources(reader, done.session, 0, done.rows)
    calls: set[str] = set()
    for row in rows:
        if row.kind == "assistant":
            calls = {call.id for call in row.calls}
        elif row.kind == "result":
            assert row.call_id in calls
