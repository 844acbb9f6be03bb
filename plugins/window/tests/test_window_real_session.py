"""A real imported session, played again request by request: every rung of the ladder, with its figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from refold import Applied, Row

from .conftest import Kit, kinds, outcome, records

FILE = Path(__file__).parents[3].parent / "shared" / "data" / "pi-before-compaction.jsonl"

RUNGS = {"microcompact", "collapse", "summary"}

pytestmark = pytest.mark.skipif(not FILE.is_file(), reason="the file is not here")


def test_a_real_session_steps_through_all_three_rungs(kit: Kit) -> None:
    imported = kit.host.session(kit.host.import_file(FILE).session)
    session, waiting, requests = kit.session(), list[Row](), 0
    for row in imported.rows():
        if row.kind == "assistant":
            session.append(waiting)
            waiting = []
            known = len(records(session))
            prepared = session.prepare(64_000)
            requests += 1
            if isinstance(outcome(prepared), Applied):
                record = records(session)[-1]
                size = prepared.size.tokens
                print(f"row {row.ref.seq}: {record['kind']}, {record['before_tokens']:,} -> {size:,} tokens")
                assert size < record["before_tokens"]
                assert abs(size - record["after_tokens"]) <= record["before_tokens"] // 50, "as it was on paper"
                assert kinds(prepared).count("summary") <= 1
            assert len(records(session)) - known == isinstance(outcome(prepared), Applied)
            if {record["kind"] for record in records(session)} >= RUNGS:
                break
        waiting.append(row)
    made = [record["kind"] for record in records(session)]
    print(f"{requests} requests, {len(made)} records, {kit.curator.calls} curator calls")
    assert set(made) >= RUNGS
    assert made.count("summary") <= kit.curator.calls < requests // 10, "in passes of the service, seldom"
    assert [row.text for row in session.rows()] == [row.text for row in imported.rows()][: len(session.rows())]
