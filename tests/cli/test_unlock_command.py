"""`unlock`: a session whose holder cannot give it back."""

from __future__ import annotations

import pytest
from refold.transcript.database import Database
from refold.transcript.leases import LIFETIME


@pytest.fixture
def locked(in_talk):
    """The session is held by a process of a container that is gone."""
    with Database(in_talk.home / "refold.db") as database, database.write() as writer:
        writer.execute(
            "INSERT INTO refold_lease"
            " VALUES('talk', 't', 'send', 'box', 7, 'b', '2026-01-01T00:00:00Z', unixepoch()+?)",
            LIFETIME * 1000,
        )
    return in_talk


HOLDER = {"process": 7, "machine": "box", "here": False, "does": "send", "since": "2026-01-01T00:00:00Z"}


def test_a_session_held_elsewhere_is_listed_and_taken_with_yes(locked) -> None:
    busy = locked("delete", "talk", "--yes")
    assert busy.code == 1
    assert "held by process 7 on box (send, since 2026-01-01T00:00:00Z)" in busy.err
    assert "refold unlock talk'" in busy.err
    assert locked("unlock", "--json").document == {"held": [{"session": "talk", **HOLDER}]}
    assert "box" in locked("unlock").out
    asked = locked("unlock", "talk")
    assert (asked.code, "held by process 7 on box" in asked.err, "add --yes" in asked.err) == (2, True, True)
    assert locked("unlock", "talk", "--yes", "--json").document == {"session": "talk", "holder": HOLDER}
    assert locked("delete", "talk", "--yes").code == 0


def test_nobody_holds_a_session_and_an_unknown_one_is_told(in_talk) -> None:
    assert in_talk("unlock", "--json").document == {"held": []}
    assert "Nobody holds a session" in in_talk("unlock").out
    assert in_talk("unlock", "talk").out == "nobody holds talk\n"
    assert in_talk("unlock", "talk", "--yes", "--json").document == {"session": "talk", "holder": None}
    assert in_talk("unlock", "nobody").code == 1
