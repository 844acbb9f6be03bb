"""Folds that other extensions stored: in front until rolling's first compaction, then part of its summary."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from refold import Host, RowRange, Session
from refold.prepare.request import Prepared
from refold.testing import ScriptedSummarizer

pytestmark = pytest.mark.usefixtures("archive")

Turns = Callable[..., None]
Store = Callable[[str, int, int, str], None]


@pytest.fixture
def session(archive: None, host: Host) -> Session:
    return host.new("one")


@pytest.fixture
def host(archive: None, tmp_path, summarizer: ScriptedSummarizer):
    with Host(tmp_path / "home", summarizers=[summarizer]) as host:
        yield host


def ids(prepared: Prepared) -> list[str]:
    return [section.id for section in prepared.projection.sections]


def test_stored_folds_stand_in_front_of_the_rest(session: Session, turns: Turns, fold: Store) -> None:
    turns(session, 1, 6)
    fold("p1", 0, 4, "[archive p1] the first turn")
    fold("p2", 4, 12, "[archive p2] two more")
    prepared = session.prepare(200_000)
    assert ids(prepared) == ["fold-archive-p1", "fold-archive-p2", "tail"]
    first, second, *_ = prepared.request.messages
    shown = [message.text.partition("\n\n[users' own words")[0] for message in (first, second)]
    assert shown == ["[archive p1] the first turn", "[archive p2] two more"]
    assert prepared.projection.sections[2].inputs[0].range == RowRange("one", 12, 24)


def test_the_first_compaction_folds_them_in_as_the_oldest_material(
    session: Session, turns: Turns, fold: Store, summarizer: ScriptedSummarizer
) -> None:
    turns(session, 1, 20)
    fold("p1", 0, 8, "[archive p1] two turns")
    session.user("newest")
    prepared = session.compact(4_000)
    assert ids(prepared) == ["summary", "recap", "tail"]
    assert prepared.attempted.outcome.covers.after == 8
    assert prepared.projection.sections[0].covers.after == 0
    first = summarizer.prompts[0].user()
    assert first.index("[archive p1] two turns") < first.index("prompt 3\n")
    assert "prompt 2\n" not in first
    assert all("[archive p1]" not in prompt.user() for prompt in summarizer.prompts[1:])


def test_a_later_compaction_does_not_read_them_again(
    session: Session, turns: Turns, fold: Store, summarizer: ScriptedSummarizer
) -> None:
    turns(session, 1, 8)
    fold("p1", 0, 8, "[archive p1] two turns")
    session.user("newest")
    session.compact(4_000)
    turns(session, 9, 16)
    asked = len(summarizer.prompts)
    assert ids(session.compact(4_000)) == ["summary", "recap", "tail"]
    assert all("[archive p1]" not in prompt.user() for prompt in summarizer.prompts[asked:])


def test_when_prior_returns_others_the_state_is_ignored_and_then_replaced(
    session: Session, turns: Turns, fold: Store, host: Host
) -> None:
    turns(session, 1, 12)
    fold("p1", 0, 8, "[archive p1] two turns")
    session.user("newest")
    session.compact(4_000)
    fold("p2", 8, 12, "[archive p2] one more")
    assert ids(session.prepare(200_000)) == ["fold-archive-p1", "fold-archive-p2", "tail"]
    with host.database.read() as reader:
        assert reader.all("SELECT folds, folds_upto FROM rolling_state") == [("p1", 8)]
    assert ids(session.compact(4_000)) == ["summary", "recap", "tail"]
    with host.database.read() as reader:
        assert reader.all("SELECT folds, folds_upto FROM rolling_state WHERE slot=0") == [("p1\np2", 12)]


def test_switching_the_folds_off_and_on_brings_the_state_back(
    session: Session, turns: Turns, fold: Store, host: Host
) -> None:
    turns(session, 1, 12)
    fold("p1", 0, 8, "[archive p1] two turns")
    session.user("newest")
    compacted = session.compact(4_000)
    host.choose("archive", False, "one")
    assert ids(session.prepare(200_000)) == ["tail"]
    host.choose("archive", True, "one")
    assert session.prepare(200_000).projection.sections == compacted.projection.sections


def test_folds_that_reach_into_a_turn_leave_its_whole_unit(session: Session, turns: Turns, fold: Store) -> None:
    turns(session, 1, 6)
    fold("p1", 0, 6, "[archive p1] one turn and a half")
    prepared = session.prepare(200_000)
    assert prepared.projection.sections[1].inputs[0].range == RowRange("one", 4, 24)


def test_folds_that_cover_everything_are_all_that_is_sent(session: Session, turns: Turns, fold: Store) -> None:
    turns(session, 1, 2)
    fold("p1", 0, 8, "[archive p1] all of it")
    assert ids(session.prepare(200_000)) == ["fold-archive-p1"]
    session.user("go on")
    assert ids(session.prepare(200_000)) == ["fold-archive-p1", "tail"]


def test_folds_alone_are_folded_when_nothing_else_is_older_than_the_newest_turn(
    session: Session, turns: Turns, fold: Store, summarizer: ScriptedSummarizer
) -> None:
    turns(session, 1, 6)
    fold("p1", 0, 24, "[archive p1] " + "a long page of text. " * 400)
    session.user("newest")
    before = session.prepare(200_000).size.tokens
    prepared = session.compact(200_000)
    assert ids(prepared) == ["summary", "recap", "tail"]
    assert prepared.attempted.outcome.covers == RowRange("one", 0, 24)
    assert "[archive p1]" in summarizer.prompts[0].user()
    assert prepared.size.tokens < before
    assert ids(session.prepare(200_000)) == ["summary", "recap", "tail"]


def test_folds_that_end_inside_a_turn_are_not_folded_alone(session: Session, turns: Turns, fold: Store) -> None:
    turns(session, 1, 1)
    fold("p1", 0, 2, "[archive p1] half a turn. " * 200)
    prepared = session.compact(200_000)
    assert prepared.attempted.outcome.reason == "there is nothing older than the newest turn to fold"
