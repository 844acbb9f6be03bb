from __future__ import annotations

import pytest
from refold import Measured, NotFound, Refused
from refold.transcript import requests, sessions, state
from refold.transcript.fork import fork


def test_a_session_is_found_as_it_was_made(database):
    with database.write() as writer:
        made = sessions.create(writer, "s", title="Title", model="m", created="2026-01-02T03:04:05Z")
        assert sessions.find(writer, "s") == made
        sessions.set_model(writer, "s", None)
        sessions.set_title(writer, "s", "New")
        assert sessions.count_compaction(writer, "s") == 1
        found = sessions.find(writer, "s")
    assert (found.title, found.model, found.created, found.compactions) == ("New", None, "2026-01-02T03:04:05Z", 1)


def test_an_id_that_nobody_gave_is_new_each_time(database):
    with database.write() as writer:
        made = {sessions.create(writer).id for _ in range(20)}
    assert len(made) == 20


@pytest.mark.parametrize("id", ["", "a\nb", "a\0", "\u202e", "\ud800", "ü" * 101])
def test_an_id_that_cannot_be_shown_is_refused_and_never_found(database, id):
    with pytest.raises(Refused, match="cannot name a session"), database.write() as writer:
        sessions.create(writer, id)
    with database.read() as reader, pytest.raises(NotFound):
        sessions.find(reader, id)


def test_a_taken_id_and_an_unknown_parent_are_refused(database):
    with database.write() as writer:
        sessions.create(writer, "ü" * 100)
        with pytest.raises(Refused, match="exists already"):
            sessions.create(writer, "ü" * 100)
        with pytest.raises(NotFound):
            sessions.create(writer, "child", parent="nobody")
        for change in (sessions.set_model, sessions.set_title):
            with pytest.raises(NotFound):
                change(writer, "nobody", "x")


def test_the_listing_shows_totals_and_the_newest_is_no_sub_agent(database, row, fill):
    with database.read() as reader, pytest.raises(NotFound, match="no session yet"):
        sessions.newest(reader)
    fill("s", row("user", "x", opens=True), row("assistant", "y"), row("user", "z", opens=True))
    fork(database, "s", 2, "branch")
    with database.write() as writer:
        sessions.create(writer, "child", parent="branch")
    with database.read() as reader:
        listed = {entry.session.id: entry for entry in sessions.listing(reader)}
        assert {id: (entry.rows, entry.turns) for id, entry in listed.items()} == {
            "s": (3, 2),
            "branch": (2, 1),
            "child": (0, 0),
        }
        assert listed["s"].tokens > listed["branch"].tokens > 0
        assert (listed["branch"].session.parent, listed["branch"].session.forked_at) == ("s", 2)
        assert (listed["child"].session.parent, listed["child"].session.forked_at) == ("branch", None)
        assert sessions.newest(reader).id == "branch"
        (tree,) = sessions.tree(reader)
        assert [child.session.id for child in tree.children[0].children] == ["child"]
        assert sessions.tree(reader, "branch") == list(tree.children)


def test_choices_are_set_changed_and_taken_back(database, fill):
    fill("s")
    fill("t")
    with database.write() as writer:
        state.set_choice(writer, "s", "lcm", True)
        state.set_choice(writer, "s", "rolling", True)
        state.set_choice(writer, "s", "rolling", False)
        assert state.choices(writer, "s") == {"lcm": True, "rolling": False}
        state.set_choice(writer, "s", "lcm", None)
        assert state.choices(writer, "s") == {"rolling": False}


def test_revisions_count_commits_of_one_store_in_one_session(database, fill):
    fill("s")
    fill("t")
    with database.write() as writer:
        assert (state.bump(writer, "s", "lcm"), state.bump(writer, "s", "lcm"), state.bump(writer, "t", "lcm")) == (
            1,
            2,
            1,
        )
        assert (state.current(writer, "s", "lcm"), state.current(writer, "s", "rolling")) == (2, 0)


def test_snapshot_head_and_origin_are_replaced_whole(database, fill):
    fill("s")
    with database.write() as writer:
        assert (state.snapshot(writer, "s"), state.head(writer, "s"), state.origin(writer, "s")) == (None, None, None)
        for body in ("{}", '{"a":1}'):
            state.set_snapshot(writer, "s", body)
            state.set_head(writer, "s", body)
            state.set_origin(writer, "s", "file.jsonl", len(body))
        assert state.snapshot(writer, "s") == state.head(writer, "s") == '{"a":1}'
        assert (
            state.origin(writer, "s") == state.imported_from(writer, "file.jsonl") == state.Origin("s", "file.jsonl", 7)
        )
        assert state.imported_from(writer, "other") is None
        state.set_head(writer, "s", None)
        assert state.head(writer, "s") is None


def test_requests_are_measured_by_what_they_held(database, fill):
    fill("s")
    with database.write() as writer:
        first = requests.record(writer, "s", "answer", "m", 3, 0, 90)
        requests.settle(writer, first, "ok", 100, {"input_tokens": 90, "cached_tokens": 10})
        requests.record(writer, "s", "summary", "m", 9, 0, 45, tokens=50)
        refused = requests.record(writer, "s", "answer", "m", 6, 0, 190)
        requests.settle(writer, refused, "too_large", None)
        requests.replace(writer, refused)
        requests.record(writer, "s", "answer", "m", 7, 1, 200)
        assert requests.measured(writer, "s") == [Measured(3, 100, "m", 0), Measured(7, None, "m", 1)]
        assert requests.measured(writer, "s", 3) == [Measured(7, None, "m", 1)]
        assert requests.newest(writer, "s") == requests.Counted(Measured(3, 100, "m", 0), 90)
        asked = requests.asked(writer, "s")
        assert [(a.kind, a.outcome, a.replaced) for a in asked] == [
            ("answer", "ok", False),
            ("summary", "sent", False),
            ("answer", "too_large", True),
            ("answer", "sent", False),
        ]
        assert asked[0].usage == {"input_tokens": 90, "cached_tokens": 10}
        assert requests.asked(writer, "s", first)[0].kind == "summary"
        assert requests.newest(writer, "nobody") is None


def test_a_made_up_id_that_is_taken_is_made_up_again(database, monkeypatch):
    words = iter(["aa", "aa", "aa", "bb"])
    monkeypatch.setattr(sessions, "_made_up", lambda: next(words))
    with database.write() as writer:
        assert [sessions.create(writer).id for _ in range(2)] == ["aa", "bb"]
