"""Folds inside one long turn: its steps go, its prompt stays, once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from refold import Applied, Call, Host, Image, Nothing, Session
from refold.prepare import road
from refold.prepare.request import Prepared
from refold.testing import ScriptedSummarizer
from refold.testing.looking import refuse
from refold.testing.steps import pictures

from .conftest import blocks, encoded, step, texts, turns

WINDOW = 6_000
Open = Callable[..., Host]
PROMPT = "find out what is slow"


def work(session: Session, steps: int, *, first: int = 0, words: int = 60) -> list[Prepared]:
    """A turn of so many steps, a request prepared before each."""
    made = []
    for number in range(first, first + steps):
        made.append(session.prepare(WINDOW))
        step(session, number, words=words)
    return [*made, session.prepare(WINDOW)]


def test_earlier_steps_fold_and_the_prompt_stands_once_whatever_the_number_of_folds(host: Host) -> None:
    session = host.new()
    session.user(PROMPT)
    requests = work(session, 40)
    assert session.record.compactions >= 3
    for prepared in requests:
        assert not prepared.rests
        assert sum(PROMPT in text for text in texts(prepared)) == 1
        assert prepared.size.tokens < WINDOW
    covered = blocks(requests[-1])
    assert covered[0][0] == 1, "the block names the rows behind the prompt"
    assert all(later[0] == earlier[1] for earlier, later in pairwise(covered))
    assert texts(requests[-1])[0] == PROMPT


def test_no_request_of_a_long_turn_changes_what_stood_before_but_by_a_fold(host: Host) -> None:
    session = host.new()
    turns(session, 2)
    session.user(PROMPT)
    requests = work(session, 24)
    for before, after in pairwise(requests):
        if after.attempted is None:
            assert encoded(after)[: len(encoded(before))] == encoded(before)
        front = list(encoded(before)[: len(blocks(before))])
        if len(blocks(after)) > len(blocks(before)) > 0:
            assert encoded(after)[: len(front)] == front


def test_a_fold_never_parts_a_call_from_its_results_and_leaves_at_most_four_steps(host: Host) -> None:
    session = host.new()
    session.user(PROMPT)
    for number in range(30):
        step(session, number, calls=3, words=20)
        prepared = session.prepare(WINDOW)
        if prepared.attempted is not None:
            rows = session.rows(blocks(prepared)[-1][1])
            assert rows[0].kind == "assistant"
            assert sum(row.kind == "assistant" for row in rows) <= 4
    assert session.record.compactions > 1


def test_a_fold_aims_at_half_of_the_threshold(host: Host) -> None:
    session = host.new()
    session.user(PROMPT)
    folded = [prepared for prepared in work(session, 30, words=80) if prepared.attempted is not None]
    assert folded
    assert all(prepared.size.tokens <= WINDOW * 40 // 100 + 400 for prepared in folded)  # and the new block


def test_earlier_turns_and_earlier_steps_fold_at_once_when_the_turn_is_too_large_alone(host: Host) -> None:
    session = host.new()
    turns(session, 2)
    session.user(PROMPT)
    for number in range(8):
        step(session, number, words=100)
    prepared = session.prepare(WINDOW)
    assert blocks(prepared)[0] == (0, 8)
    assert blocks(prepared)[1][0] == 9
    assert prepared.size.tokens < WINDOW * 80 // 100
    assert session.record.compactions == 1


def test_when_the_steps_cannot_be_summarized_the_earlier_turns_stay_folded_and_a_note_says_so(
    host: Host, summarizer: ScriptedSummarizer
) -> None:
    session = host.new()
    turns(session, 2)
    session.user(PROMPT)
    for number in range(8):
        step(session, number, words=100)
    summarizer.script("good", "fails")
    attempted = session.prepare(WINDOW).attempted
    assert attempted is not None
    assert isinstance(attempted.outcome, Applied)
    assert (attempted.outcome.covers.after, attempted.outcome.covers.upto) == (0, 8)
    assert "were not folded" in attempted.outcome.note


def test_a_long_prompt_is_cut_in_the_middle_to_a_tenth_of_the_window_with_a_marker(host: Host) -> None:
    session = host.new()
    prompt = "the beginning of it. " + "something in the middle. " * 300 + "and the very end."
    session.user(prompt)
    prepared = work(session, 30)[-1]
    shown = texts(prepared)[0]
    assert shown.startswith("the beginning of it.")
    assert shown.endswith("and the very end.")
    assert "characters left out of the middle of this message" in shown
    held = host.new()
    held.user(shown)
    assert WINDOW // 20 < held.sized_rows(0, 1)[0][1] <= WINDOW // 10


def test_what_an_elided_prompt_set_for_the_session_is_in_its_summary(host: Host) -> None:
    session = host.new()
    session.user("Begin. " + "Look here and there. " * 200 + "Never touch billing.py. " + "Look again. " * 200)
    prepared = work(session, 30)[-1]
    assert "Never touch billing.py." not in texts(prepared)[0]
    assert "Never touch billing.py." in texts(prepared)[1]


def test_the_bytes_of_an_elided_prompt_do_not_depend_on_what_is_learnt(host: Host) -> None:
    session = host.new()
    session.user("word " * 4_000)
    first = texts(work(session, 20)[-1])[0]
    assert texts(work(session, 6, first=20)[-1])[0] == first


def test_pictures_of_the_prompt_stay_with_its_row(host: Host) -> None:
    session = host.new()
    image: Image = pictures(1)[0]
    session.user(PROMPT, [image])
    prepared = work(session, 30)[-1]
    assert len(blocks(prepared)) > 1
    assert next(len(getattr(message, "images", ())) for message in prepared.request.messages) == 1
    assert sum(len(getattr(message, "images", ())) for message in prepared.request.messages) == 1


def test_a_follow_up_is_marked_for_the_summarizer_and_never_taken_for_the_prompt(
    host: Host, summarizer: ScriptedSummarizer
) -> None:
    session = host.new()
    session.user(PROMPT)
    work(session, 4)
    session.user(PROMPT, opens=False)
    session.user("and mind the tests", opens=False)
    prepared = work(session, 30, first=4)[-1]
    assert texts(prepared)[0] == PROMPT
    assert texts(prepared).count(PROMPT) == 1
    assert blocks(prepared)[0][0] == 1
    labels = [block.label for prompt in summarizer.prompts for block in prompt.blocks if block.text == PROMPT]
    assert "user, follow-up" in labels


def test_the_summarizer_of_steps_sees_the_request_and_is_told_that_it_stays(
    host: Host, summarizer: ScriptedSummarizer
) -> None:
    session = host.new()
    session.user(PROMPT)
    work(session, 20)
    assert len(summarizer.prompts) > 1
    for prompt in summarizer.prompts:
        assert PROMPT in prompt.context
        assert "do not repeat it" in prompt.task
        assert all(PROMPT not in block.text for block in prompt.blocks)


def test_the_next_prompt_is_kept_and_the_finished_turn_keeps_its_block(host: Host) -> None:
    session = host.new()
    session.user(PROMPT)
    before = work(session, 20)[-1]
    session.assistant("done")
    session.user("the next question")
    prepared = session.prepare(WINDOW)
    assert encoded(prepared)[: len(encoded(before))] == encoded(before)
    turns(session, 8)
    prepared = session.prepare(WINDOW)
    assert texts(prepared)[0] == PROMPT
    assert blocks(prepared)[: len(blocks(before))] == blocks(before)


def test_blocks_of_the_turn_in_progress_are_merged_last_and_begin_with_the_prompt_once(
    host: Host, summarizer: ScriptedSummarizer
) -> None:
    session = host.new()
    summarizer.reply = lambda prompt: "what these rows add. " * 60
    turns(session, 2, words=200)
    session.compact(WINDOW)
    session.user(PROMPT)
    counts = []
    for prepared in work(session, 80):
        counts.append(len(blocks(prepared)))
        assert texts(prepared).count(PROMPT) == 1
    assert any(later < earlier for earlier, later in pairwise(counts))
    assert blocks(prepared)[0] == (0, 8), "the block before the turn is one, and stays"
    assert blocks(prepared)[1][0] == 9


def test_what_the_prompt_of_a_finished_turn_set_survives_the_merge_of_its_blocks(
    host: Host, summarizer: ScriptedSummarizer
) -> None:
    session = host.new()
    summarizer.reply = lambda prompt: "what these rows add. " * (prompt.words // 4)
    session.user("Find out what is slow. Never touch billing.py.")
    work(session, 20)
    session.assistant("done")
    for number in range(12):
        turns(session, 2, first=number * 2, words=200)
        prepared = session.compact(WINDOW)
    assert blocks(prepared)[0][0] == 0, "its blocks are merged"
    assert "Never touch billing.py." in texts(prepared)[0]


def test_with_one_step_there_is_nothing_to_fold_by_itself(host: Host) -> None:
    session = host.new()
    session.user(PROMPT)
    step(session, 0, words=2_000)
    prepared = session.prepare(WINDOW)
    assert prepared.attempted is not None
    assert isinstance(prepared.attempted.outcome, Nothing)
    assert prepared.rests


def test_after_a_fold_that_left_the_request_due_the_rest_of_the_turn_is_let_alone(
    host: Host, summarizer: ScriptedSummarizer
) -> None:
    session = host.new()
    session.user(PROMPT)
    step(session, 0, words=100)
    step(session, 1, words=2_000)
    assert session.prepare(WINDOW).rests
    asked = len(summarizer.prompts)
    step(session, 2, words=10)
    assert session.prepare(WINDOW).attempted is None
    assert len(summarizer.prompts) == asked
    session.assistant("well")
    session.user("next")
    assert session.prepare(WINDOW).attempted is not None


@pytest.mark.parametrize("limit", [4_000, 2_500])
def test_after_a_refusal_the_fold_aims_under_the_limit_that_it_revealed(host: Host, limit: int) -> None:
    session = host.new()
    session.user(PROMPT)
    for number in range(6):
        step(session, number)
    prepared = refuse(session, 100_000, limit)
    assert blocks(prepared)
    assert prepared.size.tokens < limit


def test_after_a_refusal_no_step_needs_to_stay(host: Host) -> None:
    session = host.new()
    session.user(PROMPT)
    step(session, 0, words=2_000)
    prepared = refuse(session, 100_000, 3_000)
    assert blocks(prepared) == [(1, 3)]
    assert texts(prepared)[0] == PROMPT


def test_an_answer_that_is_being_continued_stays_and_alone_folds_nothing(host: Host) -> None:
    session = host.new()
    session.user(PROMPT)
    session.assistant("the first part of a long answer " * 300)
    session.assistant("the second part " * 300)
    prepared = refuse(session, 100_000, 1_500)
    assert blocks(prepared) == []
    other = host.new()
    other.user(PROMPT)
    for number in range(4):
        step(other, number)
    other.assistant("the first part of a long answer " * 100)
    other.assistant("")
    prepared = refuse(other, 100_000, 1_500)
    assert blocks(prepared) == [(1, 9)]
    assert any(text.startswith("the first part") for text in texts(prepared))


def test_who_asks_may_have_the_prompt_being_answered_folded(host: Host) -> None:
    session = host.new()
    session.user(PROMPT)
    step(session, 0)
    step(session, 1)
    prepared = session.compact(WINDOW)
    assert prepared.attempted is not None
    assert isinstance(prepared.attempted.outcome, Applied)
    assert blocks(prepared) == [(0, 5)]
    assert PROMPT not in texts(prepared)
    step(session, 2)
    assert len(session.prepare(WINDOW).request.messages) == 3


def test_a_model_that_asks_keeps_the_row_of_its_call(host: Host) -> None:
    session = host.new()
    session.user(PROMPT)
    step(session, 0)
    step(session, 1)
    asking = session.assistant("", [Call("c", "compact_context", {})])
    desk, ask = session._standing(WINDOW)
    prepared = road.compact(desk, ask, "model", asking)
    assert blocks(prepared) == [(0, 5)]
    session.results({"c": "compacted"})
    assert "compacted" in texts(session.prepare(WINDOW))


def test_a_switch_in_the_middle_of_a_long_turn_shows_the_prompt_and_the_turn(host: Host) -> None:
    session = host.new()
    turns(session, 2)
    session.compact(WINDOW)
    session.user(PROMPT)
    step(session, 0, words=2_000)
    assert blocks(refuse(session, 100_000, 3_000)) == [(0, 4), (4, 8), (9, 11)], "not one step is left"
    host.choose("rolling", True, session=session.id)
    prepared = session.prepare(100_000)
    assert texts(prepared).count(PROMPT) == 1
    assert [section.kind for section in prepared.projection.sections] == ["fold", "fold", "tail"]
    host.choose("chain", True, session=session.id)
    assert blocks(session.prepare(100_000)) == [(0, 4), (4, 8), (9, 11)]


def test_a_fold_quotes_the_prompt_for_other_strategies(host: Host) -> None:
    session = host.new()
    session.user(PROMPT)
    work(session, 20)
    folds = session.stored_folds()
    assert folds[0].covers.after == 0
    assert folds[0].text.startswith(PROMPT)
    session.assistant("done")
    host.choose("rolling", True, session=session.id)
    session.user("what did I ask?")
    prepared = session.prepare(100_000)
    assert PROMPT in texts(prepared)[0]
