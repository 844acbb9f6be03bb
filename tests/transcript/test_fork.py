from __future__ import annotations

from contextlib import contextmanager

import pytest
from refold import Call, NotFound, Refused, SourceRef
from refold.transcript import sessions, state
from refold.transcript.fork import STUB, ForkHook, fork
from refold.transcript.migrations import migrate
from refold.transcript.rows import load_sources, source


def texts(database, session):
    with database.read() as reader:
        return [r.text for r in load_sources(reader, session, 0, 1000)]


@pytest.fixture
def talk(database, row, fill):
    """Two turns; the second calls two tools."""
    calls = (Call("a", "read", {}), Call("b", "read", {}))
    fill("s", row("user", "one", opens=True), row("assistant", "two"), row("user", "three", opens=True))
    fill(
        "s",
        row("assistant", "four", calls=calls),
        row("result", "five", call_id="a"),
        row("result", "six", call_id="b"),
    )
    fill("s", row("assistant", "seven"))
    return database


@pytest.mark.parametrize(("at", "unanswered"), [(1, ()), (3, ()), (4, ("a", "b")), (5, ("b",)), (6, ()), (7, ())])
def test_a_fork_holds_the_rows_up_to_the_checkpoint_and_answers_open_calls(talk, at, unanswered):
    report = fork(talk, "s", at, "branch")
    last = at + len(unanswered)
    assert (report.session, report.rows, report.first_seq, report.last_seq) == ("branch", last, 1, last)
    assert report.unanswered == unanswered
    assert texts(talk, "branch") == texts(talk, "s")[:at] + [STUB] * len(unanswered)
    with talk.read() as reader:
        rows = load_sources(reader, "branch", 0, 99)
        assert [r.ref for r in rows] == [SourceRef("branch", n + 1) for n in range(last)]
        assert [(r.kind, r.ok, r.call_id, r.turn, r.step) for r in rows[at:]] == [
            ("result", False, call, 2, 1) for call in unanswered
        ]


def test_of_many_calls_those_that_nobody_answered_get_a_stub_in_their_order(database, row, fill):
    calls = [f"c{n % 6000}" for n in range(10_000)]  # the first 4,000 ids are used twice
    results = [row("result", call_id=f"c{n}") for n in reversed(range(6000)) if n % 2]
    fill("s", row("user", opens=True), row("assistant", calls=tuple(Call(id, "t", {}) for id in calls)), *results)
    expected = [id for n, id in enumerate(calls) if int(id[1:]) % 2 == 0 or n >= 6000]
    assert list(fork(database, "s", 2 + len(results)).unanswered) == expected


def test_only_the_last_step_is_decoded(talk, row, fill, monkeypatch):
    fill("s", *[row("user", opens=True) for _ in range(500)], row("assistant", calls=(Call("x", "t", {}),)))
    write, writers = talk.write, []

    @contextmanager
    def watched():
        with write() as writer:
            writers.append(writer)
            yield writer

    monkeypatch.setattr(talk, "write", watched)
    fork(talk, "s", 508, hooks=[ForkHook("x", "x", lambda fork: None)])
    assert [writer.decoded for writer in writers] == [1]


def test_both_go_their_own_way_afterwards(talk, row, fill):
    fork(talk, "s", 3, "branch")
    fill("branch", row("user", "other", opens=True))
    fill("s", row("user", "same session", opens=True))
    assert texts(talk, "branch")[2:] == ["three", "other"]
    assert texts(talk, "s")[6:] == ["seven", "same session"]
    with talk.read() as reader:
        assert source(reader, SourceRef("branch", 4)).turn == 3


def test_bodies_are_shared_and_a_fork_of_a_fork_works(talk):
    with talk.read() as reader:
        (bodies,) = reader.one("SELECT count(*) FROM refold_body")
    fork(talk, "s", 6, "b")
    fork(talk, "b", 6, "c")
    fork(talk, "c", 5, "d")
    assert texts(talk, "d") == [*texts(talk, "s")[:5], STUB]
    with talk.read() as reader:
        assert reader.one("SELECT count(*) FROM refold_body") == (bodies + 1,)
        assert reader.one("SELECT count(DISTINCT family) FROM sessions") == (1,)
        tree = sessions.tree(reader)
        assert [branch.session.id for branch in tree] == ["s"]
        assert tree[0].children[0].children[0].children[0].session.forked_at == 5


def test_running_totals_are_those_of_the_source(talk):
    fork(talk, "s", 6, "b")
    with talk.read() as reader:
        assert reader.all(
            "SELECT turn, images, tokens FROM refold_row WHERE session=1 AND seq<=6 ORDER BY seq"
        ) == reader.all("SELECT turn, images, tokens FROM refold_row WHERE session=2 ORDER BY seq")


def test_choices_and_head_come_along_and_nothing_else_does(talk):
    with talk.write() as writer:
        state.set_choice(writer, "s", "lcm", True)
        state.set_head(writer, "s", "{}")
        state.set_snapshot(writer, "s", "{}")
        state.bump(writer, "s", "lcm")
        sessions.set_model(writer, "s", "m")
    fork(talk, "s", 3, "b")
    with talk.read() as reader:
        assert (state.choices(reader, "b"), state.head(reader, "b")) == ({"lcm": True}, "{}")
        assert (state.snapshot(reader, "b"), state.current(reader, "b", "lcm")) == (None, 0)
        assert sessions.find(reader, "b").model == "m"


def test_a_call_that_a_later_prompt_passed_over_stays_unanswered(database, row, fill):
    fill("s", row("user", opens=True), row("assistant", calls=(Call("a", "t", {}),)), row("user", opens=True))
    assert fork(database, "s", 3).unanswered == ()
    assert fork(database, "s", 2).unanswered == ("a",)


def test_an_event_after_open_calls_does_not_hide_them(database, row, fill):
    calls = (Call("same", "t", {}), Call("same", "t", {}))
    fill("s", row("user", opens=True), row("assistant", calls=calls), row("result", call_id="same"), row("event"))
    assert fork(database, "s", 4).unanswered == ("same",)


def test_a_late_result_of_the_same_turn_has_its_call(database, row, fill):
    fill("s", row("user", opens=True), row("assistant", calls=(Call("a", "t", {}),)), row("assistant", "on"))
    fill("s", row("result", call_id="a"))
    assert fork(database, "s", 4).rows == 4


def test_a_child_that_had_not_joined_is_not_waited_for(database, row, fill, history_of):
    fill("s", row("user", opens=True), row("event", "kid", event="spawned"), row("event", "kid", event="joined"))
    fork(database, "s", 2, "early")
    fork(database, "s", 3, "late")
    with database.read() as reader:
        assert history_of(reader, "s", upto=2).open_join() == 1
        assert history_of(reader, "early").open_join() is None
        assert history_of(reader, "late").open_join() is None


@pytest.mark.parametrize("at", [0, -1, 8, 2**62])
def test_an_unknown_checkpoint_is_refused(talk, at):
    with pytest.raises(Refused, match="its rows are 1 to 7"):
        fork(talk, "s", at, "b")
    with talk.read() as reader, pytest.raises(NotFound):
        sessions.find(reader, "b")


def test_a_result_without_its_call_an_empty_and_an_unknown_session_are_refused(database, row, fill):
    fill("s", row("user", opens=True), row("result", call_id="a"), row("assistant"), row("result", call_id="b"))
    fill("empty")
    for session, at, error, words in (
        ("s", 2, Refused, "without its call"),
        ("s", 4, Refused, "without its call"),
        ("empty", 1, Refused, "no rows"),
        ("nobody", 1, NotFound, "no session"),
    ):
        with pytest.raises(error, match=words):
            fork(database, session, at)
    with pytest.raises(Refused, match="exists already"):
        fork(database, "s", 1, "empty")


def test_extensions_copy_their_state_and_a_raise_costs_one_its_own(talk):
    for name in ("good", "bad"):
        table = f"CREATE TABLE {name}(session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE, seq INTEGER)"
        migrate(talk, name, name, [table])
        with talk.write() as writer:
            writer.execute(f"INSERT INTO {name} VALUES('s', 2), ('s', 6)")

    def copy(name):
        def hook(fork):
            assert fork.read(f"SELECT count(*) FROM {name} WHERE session=?", fork.source) == [(2,)]
            fork.write.execute(
                f"INSERT INTO {name} SELECT ?, seq FROM {name} WHERE session=? AND seq<=?",
                fork.target,
                fork.source,
                fork.at,
            )
            if name == "bad":
                fork.write.execute("DELETE FROM good")

        return ForkHook(name, name, hook)

    report = fork(talk, "s", 3, "b", hooks=[copy("bad"), copy("good")])
    ((extension, reason),) = report.failures
    assert extension == "bad"
    assert "delete good" in reason
    with talk.read() as reader:
        assert reader.all("SELECT session, seq FROM good ORDER BY session, seq") == [("b", 2), ("s", 2), ("s", 6)]
        assert reader.all("SELECT session, seq FROM bad") == [("s", 2), ("s", 6)]


def test_a_hook_that_leaves_costs_its_own_copy_alone_and_is_told_on_one_line(talk):
    def leaving(fork):
        raise SystemExit("a\nb")

    report = fork(talk, "s", 3, "b", hooks=[ForkHook("odd", "odd", leaving)])
    assert report.failures == (("odd", "SystemExit: a b"),)


def test_a_follow_up_between_two_results_does_not_hide_an_open_call(database, fill, row):
    calls = (Call("a", "read", {}), Call("b", "read", {}))
    fill("s", row("user", opens=True), row("assistant", calls=calls), row("result", call_id="a"), row("user", "and c"))
    fill("s", row("result", call_id="b"))
    assert fork(database, "s", 4).unanswered == ("b",)
    assert fork(database, "s", 5).unanswered == ()
