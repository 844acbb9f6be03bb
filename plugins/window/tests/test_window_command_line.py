"""`refold window records`, `refold window undo` and `refold tail` as other programs rely on them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from .conftest import WINDOW, Kit, chat, records

KEYS = {"id", "kind", "first_seq", "last_seq", "before_tokens", "after_tokens", "lossy", "active"}


def refold(kit: Kit, *words: str, code: int = 0) -> Any:
    command = [sys.executable, "-m", "refold", *words, "--home", str(kit.home)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if "--json" in words else done.stdout


@pytest.fixture
def compacted(kit: Kit) -> Kit:
    session = kit.session()
    for n in range(10):
        chat(session, n, 520)
    session.user("and now?")
    session.prepare(WINDOW)
    assert len(records(session)) == 1
    return kit


def test_records_and_undo_have_the_documented_shape(compacted: Kit) -> None:
    (record,) = refold(compacted, "window", "records", "one", "--json")["records"]
    assert record.keys() >= KEYS
    assert (record["id"], record["kind"], record["first_seq"], record["active"]) == (1, "summary", 1, True)
    assert "summary" in refold(compacted, "window", "records", "one")
    (undone,) = refold(compacted, "window", "undo", "one", "--json")["records"]
    assert undone == {**record, "active": False}
    failed = refold(compacted, "window", "undo", "one", "--json", code=1)
    assert "no active window record" in failed["error"]["message"]


def test_tail_hands_out_the_snapshot_or_the_rows(compacted: Kit) -> None:
    covered = refold(compacted, "window", "records", "one", "--json")["records"][0]["last_seq"]
    behind = refold(compacted, "tail", "one", "--after", "0", "--limit", "2", "--json")
    assert (behind["snapshot"]["first_seq"], behind["snapshot"]["last_seq"]) == (1, covered)
    assert behind["snapshot"]["source"] == "window"
    assert [row["seq"] for row in behind["rows"]] == [covered + 1, covered + 2]
    assert (behind["next_after"], behind["has_more"]) == (covered + 2, True)
    rows = refold(compacted, "tail", "one", "--after", "0", "--limit", "2", "--history", "--json")
    assert (rows["snapshot"], [row["seq"] for row in rows["rows"]]) == (None, [1, 2])
    level = refold(compacted, "tail", "one", "--after", str(covered), "--json")
    assert (level["snapshot"], level["rows"][0]["seq"]) == (None, covered + 1)
    assert "The work so far" in refold(compacted, "tail", "one")


def test_compact_with_its_name_chooses_it_and_says_what_it_did(compacted: Kit) -> None:
    document = refold(compacted, "compact", "one", "window", "--window", "2000", "--json")
    assert (document["state"], document["strategy"], document["kind"]) == ("compacted", "window", "summary")
    assert document["after_tokens"] < document["before_tokens"]
