"""Window records: one rule admits them on write and on load; undone, forked, listed, and the view's only source."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from refold import Applied, Cut, Host, Refused, Session
from refold.values.messages import UserMessage
from refold_window.records import Record, fault

from .conftest import WINDOW, Kit, act, chat, event, kinds, outcome, records, words

GOOD = Record(
    id=1, kind="summary", base=0, summarized=8, dropped=8, cut=Cut(12, 900), retained=20, before=900, after=300,
    trigger="automatic", reason="it was due", summary="what happened", model="curator", cleared={12: "[cleared]"},
)  # fmt: skip

CLEARING = evolve(GOOD, kind="microcompact", summarized=0, dropped=0, summary=None)


@pytest.mark.parametrize("record", [GOOD, CLEARING, evolve(GOOD, kind="drop", dropped=10), evolve(GOOD, retained=12)])
def test_a_sound_record_is_admitted(record: Record) -> None:
    assert fault(record, holds=True) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"kind": "erase"}, "kind 'erase' is unknown"),
        ({"base": 9}, "out of order"),
        ({"base": -1}, "out of order"),
        ({"dropped": 13}, "out of order"),
        ({"retained": 11}, "out of order"),
        ({"cut": Cut(11, 900)}, "not the last row"),
        ({"summary": None}, "has no summary"),
        ({"summary": " \n"}, "summary is blank"),
        ({"summary": "x" * 200_001}, "summary is too long"),
        ({"summarized": 0}, "do not belong together"),
        ({"kind": "drop"}, "drops nothing"),
        ({"after": 900}, "makes nothing smaller"),
        ({"cleared": {8: "[cleared]", 12: "[cleared]"}}, "row 8 is cleared outside of its range"),
        ({"cleared": {12: "two\nlines"}}, "no single short line"),
        ({"cleared": {12: " "}}, "no single short line"),
        ({"cleared": {12: "x" * 401}}, "no single short line"),
    ],
)
def test_a_damaged_record_is_not_admitted_and_the_reason_is_named(changes: dict[str, Any], reason: str) -> None:
    assert reason in (fault(evolve(GOOD, **changes), holds=True) or "")


def test_a_record_that_rewrites_nothing_or_whose_cut_does_not_hold_is_not_admitted() -> None:
    assert "rewrites nothing" in (fault(evolve(CLEARING, cleared={}, cut=Cut(0, 0)), holds=True) or "")
    assert "does not hold" in (fault(GOOD, holds=False) or "")


def compacted(session: Session, times: int = 1) -> Session:
    """A session with that many records: first results are cleared, then rows are summarized."""
    for n in range(6):
        act(session, n, "Grep", {"pattern": f"p{n}"}, words(800))
    session.user("and now?")
    session.prepare(WINDOW)
    n = 100
    while len(records(session)) < times:
        chat(session, n, 520)
        session.prepare(WINDOW)
        n += 1
    return session


def damage(host: Host, sql: str, *values: object) -> None:
    with host.database.write() as writer:
        writer.execute(sql, *values)


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("UPDATE window_record SET summary='' WHERE id=2", "its summary is blank"),
        ("UPDATE window_record SET cleared='{' WHERE id=2", "its columns are damaged"),
        ("UPDATE window_record SET cleared='[1]' WHERE id=2", "its columns are damaged"),
        ("UPDATE window_record SET cut_tokens=cut_tokens+1 WHERE id=2", "does not hold in this history"),
        ("UPDATE window_record SET cut_seq=9999, retained=9999 WHERE id=2", "not the last row"),
        ("UPDATE window_record SET summarized='x' WHERE id=2", "its columns are damaged"),
        ("UPDATE window_record SET format=99 WHERE id=2", "format 99, this version reads 1"),
    ],
)
def test_a_bad_record_is_reported_and_skipped_and_the_one_before_it_serves(
    sql: str, problem: str, kit: Kit, session: Session
) -> None:
    compacted(session, 2)
    with_both = session.prepare(200_000)
    assert kinds(with_both) == ["summary", "tail"]
    damage(kit.host, sql)
    prepared = session.prepare(200_000)
    assert kinds(prepared) == ["tail"]
    assert session.context()["compaction"]["facts"]["record in force"].startswith("1 (microcompact")
    assert problem in session.context()["compaction"]["facts"]["record not used"]
    first, second = records(session)
    assert (first["active"], first["problem"]) == (True, None)
    assert (second["active"], problem in second["problem"]) == (False, True)


def test_a_bad_record_is_replaced_by_the_next_one(kit: Kit, session: Session) -> None:
    compacted(session, 2)
    damage(kit.host, "UPDATE window_record SET summary='' WHERE id=2")
    assert isinstance(outcome(session.compact(WINDOW)), Applied)
    assert [record["active"] for record in records(session)] == [True, False, True]


def test_undo_deactivates_the_newest_record_and_the_one_before_it_serves_again(session: Session) -> None:
    compacted(session, 1)
    after_one = session.prepare(200_000).request
    chat(session, 50, 50)
    session.compact(WINDOW)
    assert len(records(session)) == 2
    undone = session.run("window undo", {})["records"]
    assert [record["active"] for record in undone] == [True, False]
    restored = session.prepare(200_000).request
    assert restored.messages[: len(after_one.messages)] == after_one.messages
    session.run("window undo", {})
    assert kinds(session.prepare(200_000)) == ["tail"]
    with pytest.raises(Refused, match="no active window record"):
        session.run("window undo", {})
    assert [record["active"] for record in records(session)] == [False, False]


def test_an_undone_record_stays_undone_and_the_next_one_gets_a_new_id(session: Session) -> None:
    compacted(session, 1)
    session.run("window undo", {})
    assert isinstance(outcome(session.prepare(WINDOW)), Applied)
    assert [(record["id"], record["active"]) for record in records(session)] == [(1, False), (2, True)]


def test_a_fork_takes_the_records_whose_range_lies_before_its_point(kit: Kit, session: Session) -> None:
    compacted(session, 2)
    first, second = records(session)
    assert first["last_seq"] < second["last_seq"]
    whole, before = session.prepare(200_000), session.rows()
    for at, ids in (
        (1, []),
        (first["last_seq"], [1]),
        (second["last_seq"] - 1, [1]),
        (second["last_seq"], [1]),  # its turns would be the newest ones, and still be answered
        (second["last_seq"] + 1, [1, 2]),
        (len(before), [1, 2]),
    ):
        branch = kit.host.session(session.fork(at).session)
        assert [record["id"] for record in records(branch)] == ids
        assert all(record["active"] for record in records(branch))
        assert kinds(branch.prepare(200_000)) == (["summary", "tail"] if 2 in ids else ["tail"])
    assert session.prepare(200_000).request == whole.request
    assert session.rows() == before
    branch = kit.host.session(session.fork(len(before)).session)
    assert branch.prepare(200_000).request.messages == whole.request.messages


def test_a_branch_that_ends_where_a_record_ends_shows_the_turn_that_it_goes_on_with(kit: Kit, session: Session) -> None:
    for n in range(10):
        session.user(f"question {n}: " + words(520))  # never answered
    session.prepare(WINDOW)
    cut = records(session)[0]["last_seq"]
    branch = kit.host.session(session.fork(cut).session)
    assert branch.prepare(200_000).request.messages[-1] == UserMessage(session.source(cut).text)


def test_a_reopened_home_gives_the_same_bytes(kit: Kit, session: Session) -> None:
    compacted(session, 2)
    before = session.prepare(200_000).request
    kit.reopen()
    assert kit.host.session("one").prepare(200_000).request == before


def test_the_view_is_made_from_the_records_alone(kit: Kit, session: Session) -> None:
    """Equal records over equal rows give equal bytes, whatever led to them."""
    compacted(session, 2)
    twin = kit.session("twin")
    twin.append(session.rows())
    damage(
        kit.host,
        "INSERT INTO window_record SELECT 'twin', id, format, active, kind, base, summarized, dropped, cut_seq,"
        " cut_tokens, retained, before, after, cause, reason, summary, model, cleared, run, told FROM window_record",
    )
    assert twin.prepare(200_000).request.messages == session.prepare(200_000).request.messages


def test_deleting_a_session_deletes_its_records(kit: Kit, session: Session) -> None:
    compacted(session, 1)
    session.delete()
    with kit.host.database.read() as reader:
        assert reader.all("SELECT * FROM window_record") == []


def test_a_follower_that_is_behind_gets_the_snapshot_and_the_rows_after_it(session: Session) -> None:
    compacted(session, 2)
    covered = session.prepare(200_000).projection.sections[0].covers
    assert covered is not None
    last = len(session.rows())
    tail = session.tail(0, 1_000)
    assert tail.snapshot is not None
    assert (tail.snapshot.covers, tail.snapshot.owner) == (covered, "window")
    assert "The work so far" in tail.snapshot.text
    assert [row.ref.seq for row, _ in tail.rows] == list(range(covered.upto + 1, last + 1))
    assert (tail.next_after, tail.has_more) == (last, False)


@pytest.mark.parametrize("after", [0, 3])
def test_with_history_a_follower_always_gets_the_rows(after: int, session: Session) -> None:
    compacted(session, 2)
    tail = session.tail(after, 5, history=True)
    assert tail.snapshot is None
    assert [row.ref.seq for row, _ in tail.rows] == [after + 1, after + 2, after + 3, after + 4, after + 5]


def test_cursors_stay_good_while_the_session_is_compacted(session: Session) -> None:
    seen: list[int] = []
    cursor = 0
    for n in range(30):
        chat(session, n, 520)
        session.prepare(WINDOW)
        tail = session.tail(cursor, 100)
        assert tail.snapshot is None, "a follower that keeps up never needs one"
        seen += [row.ref.seq for row, _ in tail.rows]
        cursor = tail.next_after
    assert seen == list(range(1, 61))
    assert len(records(session)) >= 2


def test_pages_of_a_follower_join_without_a_gap_behind_the_snapshot(session: Session) -> None:
    compacted(session, 2)
    pages = [session.tail(0, 2)]
    while pages[-1].has_more:
        pages.append(session.tail(pages[-1].next_after, 2))
    assert pages[0].snapshot is not None
    assert all(page.snapshot is None for page in pages[1:])
    seqs = [row.ref.seq for page in pages for row, _ in page.rows]
    assert seqs == list(range(pages[0].snapshot.covers.upto + 1, len(session.rows()) + 1))


def test_other_strategies_supply_no_snapshot(kit: Kit, session: Session) -> None:
    compacted(session, 2)
    kit.host.choose("rolling", True, session.id)
    tail = session.tail(0, 10)
    assert tail.snapshot is None
    assert [row.ref.seq for row, _ in tail.rows] == list(range(1, 11))


def test_results_that_are_only_cleared_give_no_snapshot(session: Session) -> None:
    compacted(session, 1)
    assert session.tail(0, 10).snapshot is None


def test_a_record_of_a_session_with_an_open_child_holds_after_the_child_joined(session: Session) -> None:
    for n in range(6):
        act(session, n, "Grep", {"pattern": f"p{n}"}, words(800))
    event(session, "spawned", "child")
    session.user("and now?")
    before = session.prepare(WINDOW)
    assert isinstance(outcome(before), Applied)
    event(session, "joined", "child")
    assert session.prepare(WINDOW).request == before.request
