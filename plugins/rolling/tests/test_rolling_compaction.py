"""How rolling folds: in chunks, carrying its summary, all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from refold import CompactionFailed, Demand, Host, Session, Window
from refold.testing import ScriptedSummarizer
from refold.testing.looking import refuse
from refold.testing.summarizer import Mood
from refold.values.outcome import Applied, Nothing
from refold_rolling import plan
from refold_rolling.settings import RollingSettings

Turns = Callable[..., None]


def states(host: Host) -> list[tuple[Any, ...]]:
    with host.database.read() as reader:
        return reader.all("SELECT slot, summary, cut_seq, cut_tokens, folds, folds_upto FROM rolling_state")


def ids(session: Session, window: int | None = None) -> list[str]:
    return [section.id for section in session.prepare(window).projection.sections]


def test_a_second_compaction_carries_the_summary_and_reads_only_what_is_new(
    session: Session, turns: Turns, summarizer: ScriptedSummarizer
) -> None:
    turns(session, 1, 6)
    session.user("newest")
    first = session.compact(4_000).attempted.outcome
    asked = len(summarizer.prompts)
    turns(session, 7, 12)
    second = session.compact(4_000).attempted.outcome
    assert second.covers.after == first.covers.upto
    prompt = summarizer.prompts[asked]
    assert prompt.previous == first.summary.text
    read = [block.text for block in prompt.blocks if block.kind == "user"]
    assert read[0] == f"prompt {first.covers.upto // 4 + 1}"


def test_a_long_eviction_is_read_in_chunks_of_at_most_half_the_window(
    session: Session, turns: Turns, summarizer: ScriptedSummarizer
) -> None:
    turns(session, 1, 30)
    session.user("newest")
    outcome = session.compact(4_000).attempted.outcome
    assert outcome.summary.passes == len(summarizer.prompts) > 3
    carried = [prompt.previous for prompt in summarizer.prompts]
    assert carried[0] == ""
    assert all("The work so far" in previous for previous in carried[1:])
    turn = session.host.session("one").prepare(1_000_000).size.tokens  # far above one turn
    for rows in plan.chunks(Sized(120, 4, 500), Sized.whole(120), plan.chunk_budget(4_000)):
        assert (rows.upto - rows.after) // 4 * 500 <= 2_000 < turn * 4


class Sized:
    """A history of equal turns, for the plan alone."""

    def __init__(self, rows: int, turn: int, tokens: int) -> None:
        self.count, self.turn, self.tokens = rows, turn, tokens

    @staticmethod
    def whole(rows: int):
        from refold import RowRange

        return RowRange("s", 0, rows)

    def ends(self, at: str) -> list[int]:
        return list(range(self.turn, self.count + 1, self.turn))

    def size(self, rows) -> int:
        return (rows.upto - rows.after) * self.tokens // self.turn


@pytest.mark.parametrize(
    ("tokens", "budget", "first"),
    [
        (500, 2_000, 16),
        (500, 2_400, 16),
        (3_000, 2_000, 4),  # a turn that is larger than a chunk is a chunk
        (1, 2_000, 40),
    ],
)
def test_chunks_are_whole_turns_without_a_gap(tokens: int, budget: int, first: int) -> None:
    chunks = list(plan.chunks(Sized(40, 4, tokens), Sized.whole(40), budget))
    assert chunks[0].upto == first
    assert [chunk.after for chunk in chunks] == [0, *(chunk.upto for chunk in chunks[:-1])]
    assert chunks[-1].upto == 40
    assert all(chunk.upto % 4 == 0 for chunk in chunks)


@pytest.mark.parametrize(("window", "limit"), [(None, 2_048), (200_000, 2_048), (8_000, 800), (900, 128), (1, 128)])
def test_a_summary_is_a_tenth_of_the_window_within_bounds(window: int | None, limit: int) -> None:
    assert plan.summary_limit(window) == limit


BUDGETS = {
    "a quarter of the window": (Demand("automatic", 0), 10_000, 9_000, 0, 2_500),
    "a manual one takes a quarter of what is held when that is less": (Demand("manual", 0), 1_000_000, 8_000, 0, 2_000),
    "an automatic one does not": (Demand("automatic", 0), 1_000_000, 8_000, 0, 250_000),
    "an unknown window: of what is held": (Demand("manual", 0), None, 8_000, 0, 2_000),
    "what a refusal revealed bounds it": (Demand("overflow", 0, 4_000), 100_000, 9_000, 0, 1_000),
    "fixed parts leave less": (Demand("automatic", 0), 10_000, 9_000, 6_000, 9_000 - 6_000 - 1_000 - 450),
    "no room at all": (Demand("automatic", 0), 10_000, 9_000, 8_900, 0),
}


@pytest.mark.parametrize("name", BUDGETS)
def test_the_tail_may_hold(name: str) -> None:
    demand, window, history, fixed, expected = BUDGETS[name]
    assert plan.tail_budget(demand, Window(window, "test"), RollingSettings(), history, fixed) == expected


@pytest.mark.parametrize("moods", [("fails",), ("rejects",), ("empty",), ("too_large",), ("good", "fails")])
def test_a_failure_in_any_chunk_leaves_everything_as_it_was(
    session: Session, turns: Turns, host: Host, summarizer: ScriptedSummarizer, moods: tuple[Mood, ...]
) -> None:
    turns(session, 1, 20)
    session.user("newest")
    before = session.prepare(1_000_000).request
    summarizer.script(*moods)
    with pytest.raises(CompactionFailed, match=r"^compaction rolling: "):
        session.compact(4_000)
    assert states(host) == []
    assert session.prepare(1_000_000).request == before


def test_after_a_failure_the_old_summary_stays_in_force(
    session: Session, turns: Turns, host: Host, summarizer: ScriptedSummarizer
) -> None:
    turns(session, 1, 6)
    session.user("newest")
    session.compact(4_000)
    turns(session, 7, 12)
    kept, before = states(host), session.prepare(1_000_000).request
    summarizer.script("fails")
    with pytest.raises(CompactionFailed):
        session.compact(4_000)
    assert states(host) == kept
    assert session.prepare(1_000_000).request == before


def test_an_automatic_failure_is_told_and_the_request_goes_out_as_it_was(
    session: Session, turns: Turns, summarizer: ScriptedSummarizer
) -> None:
    turns(session, 1, 20)
    session.user("newest")
    before = session.prepare(1_000_000).request
    summarizer.script("fails")
    prepared = session.prepare(4_000)
    assert prepared.request.messages == before.messages
    assert "the provider of the test failed" in prepared.notices[0]


def test_one_predecessor_of_the_state_is_kept(session: Session, turns: Turns, host: Host) -> None:
    summaries = []
    for first in (1, 7, 13):
        turns(session, first, first + 5)
        session.user("newest")
        summaries.append(session.compact(4_000).attempted.outcome.summary.text)
    assert {slot: summary for slot, summary, *_ in states(host)} == {0: summaries[2], 1: summaries[1]}


def test_a_state_whose_cut_does_not_hold_is_ignored_kept_and_replaced(
    session: Session, turns: Turns, host: Host
) -> None:
    turns(session, 1, 6)
    session.user("newest")
    session.compact(4_000)
    with host.database.write() as writer:
        writer.execute("UPDATE rolling_state SET cut_tokens=cut_tokens+1")
    assert ids(session) == ["tail"]
    assert len(states(host)) == 1
    again = session.compact(4_000).attempted.outcome
    assert again.covers.after == 0
    assert ids(session) == ["summary", "recap", "tail"]


def test_a_state_of_another_format_is_ignored(session: Session, turns: Turns, host: Host) -> None:
    turns(session, 1, 6)
    session.user("newest")
    session.compact(4_000)
    with host.database.write() as writer:
        writer.execute("UPDATE rolling_state SET format=99")
    assert ids(session) == ["tail"]


def test_a_compaction_that_would_not_make_the_request_smaller_is_none(
    session: Session, summarizer: ScriptedSummarizer, host: Host
) -> None:
    for n in range(3):
        session.user(f"q{n}")
        session.assistant("a")
    session.user("newest")
    summarizer.reply = lambda prompt: "short, but the markers are not"
    prepared = session.compact(1_000)
    assert isinstance(prepared.attempted.outcome, Nothing), prepared.attempted.outcome
    assert states(host) == []


def test_a_refusal_folds_to_what_it_revealed(session: Session, turns: Turns) -> None:
    turns(session, 1, 20)
    session.user("newest")
    prepared = refuse(session, 1_000_000, 3_000)
    assert isinstance(prepared.attempted.outcome, Applied)
    assert prepared.size.tokens <= 3_000


SETTINGS = {
    "tail above trigger": ({"triggerPercent": 30, "tailPercent": 30}, "tailPercent (30) must be below"),
    "no window": ({"contextWindowTokens": 0}, "contextWindowTokens"),
    "a percentage over the top": ({"triggerPercent": 100}, "triggerPercent"),
    "no percentage": ({"tailPercent": 0}, "tailPercent"),
    "a text for a number": ({"tailPercent": "many"}, "tailPercent"),
    "an unknown key": ({"tailPercents": 20}, "tailPercent"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_faulty_settings_are_named_and_the_defaults_serve(
    session: Session, turns: Turns, host: Host, configure: Callable[..., None], name: str
) -> None:
    section, words = SETTINGS[name]
    configure(**section)
    turns(session, 1, 3)
    prepared = session.prepare(10_000)
    assert prepared.projection.trigger == 9_000
    told = [each.problem or "" for each in host.extensions().extensions] + [
        each.text for each in host.extensions().problems
    ]
    assert any(words in each for each in told), told


def test_the_configured_window_goes_before_every_other_source_but_the_one_of_the_command(
    session: Session, turns: Turns, configure: Callable[..., None]
) -> None:
    configure(contextWindowTokens=50_000)
    turns(session, 1, 3)
    assert session.prepare().window == Window(50_000, "configured contextWindowTokens")
    assert session.prepare(8_000).window == Window(8_000, "--window")
