"""What extensions may do on the road of one request, and what the host makes of one that breaks a rule."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from refold import (
    Applied,
    Blocked,
    CompactionFailed,
    Host,
    ProjectionFailed,
)
from refold.values.messages import ResultMessage, UserMessage

WINDOW = 6_000
Talk = Callable[..., None]
Install = Callable[..., str]
Configure = Callable[..., None]

READER = """
class Reader:
    def reduce(self, context, rows, size, refused):
        return {row.ref: "[elided: read again]" for row in rows if row.kind == "result" and row.ref.seq < 8}
@hookimpl
def reducer(): return Reader()
"""


def test_a_veto_blocks_and_names_who_said_so(install: Install, home: Path, talk: Talk) -> None:
    install("freeze", "@hookimpl\ndef pre_compact(event): return 'a deployment is running'\n")
    with Host(home) as host:
        session = host.new()
        talk(session, 20)
        attempted = session.compact(WINDOW).attempted
        assert attempted is not None
        assert attempted.outcome == Blocked("veto", "freeze refused the compaction: a deployment is running")
        assert session.record.compactions == 0


def test_a_hook_that_raises_costs_that_call_and_shows_a_notice(install: Install, home: Path, talk: Talk) -> None:
    install(
        "clumsy",
        "@hookimpl\ndef pre_compact(): 1/0\n@hookimpl\ndef observe(): 1/0\n@hookimpl\ndef post_compact(): 1/0\n",
    )
    with Host(home) as host:
        session = host.new()
        talk(session, 20)
        prepared = session.compact(WINDOW)
        assert isinstance(prepared.attempted.outcome, Applied)
        for hook in ("pre_compact", "post_compact", "observe"):
            assert (
                f"clumsy: {hook} failed (ZeroDivisionError: division by zero); it was skipped this time"
                in prepared.notices
            )


def test_post_compact_runs_before_the_second_projection(install: Install, home: Path, talk: Talk) -> None:
    install(
        "counter",
        """
        @hookimpl
        def migrations():
            return ["CREATE TABLE counter_seen(session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE, n)"]
        @hookimpl
        def post_compact(context, event):
            values = context.session, event.outcome.covers.upto
            context.commit(lambda writer: writer.execute("INSERT INTO counter_seen VALUES(?, ?)", *values))
        @hookimpl
        def observe(context, projection):
            return [Fact("seen", str(context.read("SELECT n FROM counter_seen WHERE session=?", context.session)))]
        """,
    )
    with Host(home) as host:
        session = host.new()
        talk(session, 20)
        session.compact(WINDOW)
        covered = session.context()["sections"][0]["last_seq"]
        assert session.context()["compaction"]["facts"]["seen"] == f"[({covered},)]"


def test_reducers_shorten_what_is_shown_and_measured_and_leave_the_transcript(
    install: Install, home: Path, talk: Talk
) -> None:
    install("tidy", READER)
    with Host(home) as host:
        session = host.new()
        talk(session, 3)
        prepared = session.prepare(100_000)
        results = [message for message in prepared.request.messages if isinstance(message, ResultMessage)]
        assert [result.text == "[elided: read again]" for result in results] == [True, True, False]
        assert [result.call_id for result in results] == ["call-0", "call-1", "call-2"]
        assert prepared.size.tokens < session.check(100_000).size
        assert "def f0()" in session.source(3).text
        assert session.context()["compaction"]["facts"]["results shown as one line"] == "2"


def test_a_context_block_stands_in_the_system_prompt_and_a_change_waits(
    install: Install, home: Path, talk: Talk
) -> None:
    install(
        "rules",
        "@hookimpl\ndef context_blocks(context): return [ContextBlock('rules', 'House rules', 'Answer in English.')]\n",
    )
    with Host(home) as host:
        session = host.new()
        session.system = "You are terse."
        talk(session, 20)
        first = session.prepare(100_000)
        assert first.request.system == "You are terse.\n\n# House rules\n\nAnswer in English."
        session.system = "You are verbose."
        second = session.prepare(100_000)
        assert second.request.system == first.request.system
        assert second.request.messages[: len(first.request.messages)] == first.request.messages
        note = second.request.messages[-1]
        assert isinstance(note, UserMessage)
        assert "You are verbose." in note.text
        talk(session, 1, first=20)
        third = session.prepare(100_000)
        assert third.request.messages[: len(second.request.messages)] == second.request.messages
        fourth = session.compact(100_000)
        assert fourth.request.system.startswith("You are verbose.")
        assert note not in fourth.request.messages
        assert "the system prompt changed" in fourth.snapshot.changed


LOSING = """
class Losing:
    def project(self, context):
        rows = context.history.range
        tail = Section("tail", "tail", "tail", (Rows(RowRange(rows.session, 4, rows.upto)),))
        return Projection((tail,), None, Observation("whole", "test"))
    def compact(self, context, demand): return Nothing("never")
@hookimpl
def compaction_strategy(): return Losing()
"""

RAISING = """
class Raising:
    def project(self, context): raise ValueError("no luck")
    def compact(self, context, demand): raise ValueError("no luck")
@hookimpl
def compaction_strategy(): return Raising()
"""


@pytest.mark.parametrize(
    ("body", "words"), [(LOSING, "row 1 is neither shown nor covered nor announced"), (RAISING, "ValueError: no luck")]
)
def test_a_view_that_breaks_a_rule_fails_the_request_and_nothing_else_is_sent(
    body: str, words: str, install: Install, home: Path, talk: Talk
) -> None:
    install("broken", body, default=False)
    with Host(home) as host:
        session = host.new()
        talk(session, 2)
        host.choose("broken", True, session.id)
        with pytest.raises(ProjectionFailed, match=words) as failure:
            session.prepare(WINDOW)
        assert "strategy broken" in str(failure.value)
        assert session.context()["state"] == "pending"
        host.choose("rolling", True, session.id)
        assert session.prepare(WINDOW).strategy == "rolling"


COMMITTING = """
class Committing:
    def project(self, context):
        rows = context.history.range
        return Projection((Section("tail", "tail", "tail", (Rows(rows),)),), 1, Observation("whole", "test"))
    def compact(self, context, demand):
        {begin}
        context.commit(lambda writer: writer.execute("INSERT INTO writes_n VALUES(?, 1)", context.session))
        {after}
@hookimpl
def compaction_strategy(): return Committing()
@hookimpl
def migrations(): return ["CREATE TABLE writes_n(session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE, n)"]
"""


def test_a_failure_after_a_commit_is_applied_with_a_note(install: Install, home: Path, talk: Talk) -> None:
    body = COMMITTING.format(
        begin="context.begin(RowRange(context.session, 0, 4))", after="raise ValueError('too late')"
    )
    install("writes", body, default=False)
    with Host(home) as host:
        session = host.new()
        talk(session, 2)
        host.choose("writes", True, session.id)
        attempted = session.compact(WINDOW).attempted
        assert attempted is not None
        assert isinstance(attempted.outcome, Applied)
        assert attempted.outcome.note == "stopped early: ValueError: too late"
        assert session.record.compactions == 1


def test_a_commit_before_begin_is_a_failure_that_writes_nothing(install: Install, home: Path, talk: Talk) -> None:
    install("writes", COMMITTING.format(begin="pass", after="return Nothing('x')"), default=False)
    with Host(home) as host:
        session = host.new()
        talk(session, 2)
        host.choose("writes", True, session.id)
        with pytest.raises(CompactionFailed, match="commit before begin"):
            session.compact(WINDOW)
        with host.database.read() as reader:
            assert reader.one("SELECT count(*) FROM writes_n") == (0,)


def test_a_store_that_moved_since_it_was_read_is_not_overwritten(install: Install, home: Path, talk: Talk) -> None:
    body = """
    from refold.transcript.state import bump
    HOST = []
    class Slow:
        def project(self, context):
            tail = Section("tail", "tail", "tail", (Rows(context.history.range),))
            return Projection((tail,), None, Observation("whole", "test"))
        def compact(self, context, demand):
            context.begin(RowRange(context.session, 0, 4))
            with HOST[0].database.write() as writer: bump(writer, context.session, "slow")
            context.commit(lambda writer: writer.execute("SELECT 1"))
    @hookimpl
    def compaction_strategy(): return Slow()
    """
    module = install("slow", body, default=False)
    with Host(home) as host:
        session = host.new()
        talk(session, 2)
        host.choose("slow", True, session.id)
        sys.modules[module].HOST.append(host)
        attempted = session.compact(WINDOW).attempted
        assert attempted is not None
        assert isinstance(attempted.outcome, Blocked)
        assert attempted.outcome.code == "busy"
        assert session.record.compactions == 0
