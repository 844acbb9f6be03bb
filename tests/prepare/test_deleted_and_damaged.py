"""Sessions that go while something works on them, and stored leftovers that cannot be read."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest
from refold import Host, NotFound

WATCHER = """
def between(): ...
@hookimpl
def observe(context, projection):
    between()
    return ()
@hookimpl
def migrations(): return ["CREATE TABLE watcher(session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE)"]
def keep(work, arguments):
    between()
    work.commit(lambda writer: writer.execute("INSERT INTO watcher VALUES(?)", work.session))
    return {}
@hookimpl
def commands(): return [Command("watcher keep", "Keeps.", {}, keep)]
"""

Talk = Callable[..., None]
Install = Callable[..., str]


@pytest.mark.parametrize("work", ["prepare", "compact", "commit"])
def test_work_on_a_session_that_was_deleted_meanwhile_says_that_it_is_gone(
    install: Install, host: Host, talk: Talk, work: str
) -> None:
    module = install("watcher", WATCHER)
    session, other = host.new("s"), host.new("other")
    talk(session, 6)
    talk(other, 2)
    host.extensions()
    sys.modules[module].between = lambda: host.session("s").delete()
    does = {
        "prepare": lambda: session.prepare(window=100_000),
        "compact": lambda: session.compact(window=6_000),
        "commit": lambda: session.run("watcher keep", {}),
    }
    with pytest.raises(NotFound, match="no session 's'"):
        does[work]()
    sys.modules[module].between = lambda: None
    with host.database.read() as reader:
        for table in ("refold_snapshot", "refold_head", "watcher", "refold_revision", "refold_compaction"):
            assert reader.one(f"SELECT count(*) FROM {table}") == (0,)
    other.prepare(window=100_000)


DAMAGED = ["junk", "", "[]", "null", "5", "{}", '{"format":1}', '{"format":99}', "[" * 5000]


@pytest.mark.parametrize("table", ["refold_snapshot", "refold_head"])
@pytest.mark.parametrize("text", [*DAMAGED, "old", "odd"])
def test_what_an_earlier_request_left_reads_as_absent_when_it_is_damaged(
    host: Host, talk: Talk, table: str, text: str
) -> None:
    session = host.new("s")
    session.system = "be brief"
    talk(session, 2)
    sent = session.prepare(window=100_000)
    with host.database.write() as writer:
        (stored,) = writer.one(f"SELECT body FROM {table}") or ("",)
        known = json.loads(stored)
        assert known["format"] == 1
        if text == "old":
            text = json.dumps({**known, "format": 0})
        elif text == "odd":
            text = json.dumps({key: {"odd": [value]} if key != "format" else value for key, value in known.items()})
        writer.execute(f"UPDATE {table} SET body=?", text)
    assert session.context()["state"] in ("pending", "ready")
    again = session.prepare(window=100_000)
    assert again.request == sent.request
    assert session.context()["state"] == "ready"
    with host.database.read() as reader:
        assert json.loads((reader.one(f"SELECT body FROM {table}") or ("",))[0]) == (
            known if table == "refold_head" else {**known, "captured_at": again.snapshot.captured_at}
        )
