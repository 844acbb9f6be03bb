"""Changed system prompts, several programs on one session, and compactions that stop early."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
from refold import (
    Applied,
    Call,
    Host,
    Replay,
    Row,
    RowRange,
    SourceRef,
)
from refold.prepare.request import Prepared
from refold.values.messages import ResultMessage

WINDOW = 6_000
Talk = Callable[..., None]
Install = Callable[..., str]
Configure = Callable[..., None]


def results_follow_calls(prepared: Prepared) -> bool:
    """Whether nothing stands between a call and its results."""
    waiting = 0
    for message in prepared.request.messages:
        if waiting and not isinstance(message, ResultMessage):
            return False
        waiting = len(getattr(message, "calls", ())) or max(0, waiting - 1)
    return waiting == 0


def test_a_note_never_stands_between_a_call_and_its_results(host: Host) -> None:
    session = host.new()
    session.system = "A"
    session.user("hi")
    session.prepare(WINDOW)
    session.assistant("", [Call("c1", "x", {}), Call("c2", "x", {})])
    session.results({"c1": "one"})
    session.system = "B"
    assert results_follow_calls(session.prepare(WINDOW))
    session.results({"c2": "two"})
    assert results_follow_calls(session.prepare(WINDOW))


def test_notes_of_an_empty_session_stay_in_front_and_in_order(host: Host) -> None:
    session = host.new()
    for system in ("A", "B", "C"):
        session.system = system
        session.prepare(WINDOW)
    session.user("u0")
    session.assistant("a0")
    first = session.prepare(WINDOW).request.messages
    assert ["B" in first[0].text, "C" in first[1].text] == [True, True]
    session.user("u1")
    second = session.prepare(WINDOW).request.messages
    assert second[: len(first)] == first


def test_a_second_change_at_one_row_is_a_note_of_its_own(host: Host) -> None:
    session = host.new()
    session.system = "A"
    session.user("u0")
    session.prepare(WINDOW)
    session.system = "B"
    before = session.prepare(WINDOW).request.messages
    session.system = "C"
    after = session.prepare(WINDOW).request.messages
    assert after[: len(before)] == before
    assert "C" in after[-1].text


def test_a_fork_before_a_note_keeps_it_at_its_end(host: Host, talk: Talk) -> None:
    session = host.new()
    session.system = "A"
    talk(session, 1)
    session.prepare(WINDOW)
    talk(session, 1, first=1)
    session.system = "B"
    session.prepare(WINDOW)
    branch = host.session(session.fork(4).session)
    before = branch.prepare(WINDOW).request.messages
    branch.user("more")
    after = branch.prepare(WINDOW).request.messages
    assert after[: len(before)] == before


def test_another_program_without_a_system_prompt_leaves_the_one_that_was_sent(home: Path) -> None:
    with Host(home) as host:
        session = host.new("s")
        session.system = "You are terse."
        session.user("hi")
        sent = session.prepare(WINDOW).request
        assert host.session("s").prepare(WINDOW).request == sent
        assert session.prepare(WINDOW).request == sent


def test_a_session_object_does_not_serve_rows_of_a_deleted_session(host: Host) -> None:
    session = host.new("s")
    session.user("old words")
    session.prepare(WINDOW)
    host.session("s").delete()
    host.new("s").user("new words")
    assert [message.text for message in session.prepare(WINDOW).request.messages] == ["new words"]


def test_what_was_decoded_cannot_be_changed_by_who_reads_it(host: Host) -> None:
    session = host.new()
    session.user("hi")
    session.assistant("", [Call("a", "read", {"lines": [1, 2]})])
    arguments = session.prepare(WINDOW).request.messages[1].calls[0].arguments
    with pytest.raises(TypeError, match="a durable row does not change"):
        arguments["lines"].append(3)
    mine = copy.deepcopy(arguments)
    mine["lines"].append(3)
    assert session.prepare(WINDOW).request.messages[1].calls[0].arguments == {"lines": [1, 2]}


BATCHES = """
class Batches:
    def project(self, context):
        rows = context.history.range
        found = context.read("SELECT max(upto) FROM batches_done WHERE session=?", context.session)[0][0] or 0
        sections = (Section("tail", "tail", "tail", (Rows(RowRange(rows.session, found, rows.upto)),)),)
        if found:
            sections = (Section("s", "s", "summary", (Note("earlier"),), RowRange(rows.session, 0, found)), *sections)
        return Projection(sections, None, Observation("whole", "test"))
    def compact(self, context, demand):
        context.begin(RowRange(context.session, 0, 8))
        context.commit(lambda writer: writer.execute("INSERT INTO batches_done VALUES(?, 4)", context.session))
        raise SummaryFailed("the provider failed; nothing was changed")
@hookimpl
def compaction_strategy(): return Batches()
@hookimpl
def migrations():
    return ["CREATE TABLE batches_done(session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE, upto)"]
"""


def test_a_compaction_that_stopped_early_names_the_rows_that_it_reached(
    install: Install, home: Path, talk: Talk
) -> None:
    install("batches", BATCHES, default=False)
    with Host(home) as host:
        session = host.new("s")
        talk(session, 3)
        host.choose("batches", True, session.id)
        attempted = session.compact(WINDOW).attempted
        assert attempted is not None
        assert attempted.outcome == Applied(RowRange("s", 0, 4), note="stopped early: the provider failed")


def test_rows_that_are_not_sent_do_not_count_inside_a_compaction(host: Host, talk: Talk) -> None:
    session = host.new()
    talk(session, 6)
    sent = session.prepare(100_000).size.tokens
    session.append([Row(SourceRef("", 0), "replay", 0, 0, replay=Replay("somebody/else", "x" * 40_000))])
    session.user("newest")
    attempted = session.compact(100_000).attempted
    assert attempted is not None
    assert attempted.before.tokens < sent + 100
