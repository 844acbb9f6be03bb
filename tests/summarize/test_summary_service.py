"""Passes, carry, halving, the chain, the deadline, cancelling, progress and the cache of the service."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refold import Row, SourceRef, SummaryFailed, SummaryRejected
from refold.sizing.estimate import tokens
from refold.summarize.accept import Unacceptable
from refold.summarize.offline import Offline
from refold.summarize.passes import HALVINGS, Course, PassCache, budget
from refold.summarize.prompt import Prompt
from refold.summarize.reply import Deadline, Reply, Stopped, TooLarge
from refold.summarize.service import summarize
from refold.summarize.user_lines import Choice, Line

from .scripted import Scripted
from .sessions import Session


def history(turns: int = 12, words: int = 120) -> list[Row]:
    rows = []
    for turn in range(1, turns + 1):
        ref = SourceRef("s", 2 * turn - 1)
        rows.append(Row(ref, "user", turn, 0, opens=True, text=f"What about part {turn}?"))
        text = " ".join(f"word{turn}x{n}" for n in range(words))
        rows.append(Row(SourceRef("s", 2 * turn), "assistant", turn, 1, text=text))
    return rows


def shown(prompt: Prompt) -> str:
    return "\n".join(block.render() for block in prompt.blocks)


def test_a_short_history_is_one_pass_and_says_who_wrote_it() -> None:
    model = Scripted("The parser was split.", name="m1")
    summary = summarize(history(2), summarizers=[model])
    assert (summary.text, summary.model, summary.passes) == ("The parser was split.", "m1", 1)


def test_a_long_history_is_read_in_passes_that_carry_the_summary_and_read_every_row_once() -> None:
    model = Scripted("One.", "Two.", "Three.", "Four.")
    seen: list[tuple[int, int]] = []
    summary = summarize(
        history(), summarizers=[model], chunk=2_500, progress=lambda done, total: seen.append((done, total))
    )
    prompts = [prompt for prompt, _ in model.asked]
    assert summary.passes == len(prompts) > 1
    assert [prompt.previous for prompt in prompts] == ["", "One.", "Two.", "Three.", "Four."][: len(prompts)]
    assert all(sum(shown(prompt).count(f"part {n}?") for prompt in prompts) == 1 for n in range(1, 13))
    assert seen[0][0] == 0
    assert seen[-1] == (summary.passes, summary.passes)


def test_context_takes_at_most_a_quarter_of_the_summarizers_window_and_its_newest_lines_stay() -> None:
    model = Scripted("Done.", window=4_000)
    context = "\n".join(f"earlier block {number}: what was done then" for number in range(600))
    summarize(history(2), summarizers=[model], context=context)
    [(prompt, _)] = model.asked
    assert tokens(prompt.context) <= 1_000
    assert prompt.context.endswith("earlier block 599: what was done then")
    assert context.endswith(prompt.context)


def test_a_pass_is_at_most_half_of_the_summarizers_window_and_at_most_the_strategys_chunk() -> None:
    assert budget(10_000, 8_000, 0, 500) == 4_000
    assert budget(3_000, 8_000, 0, 500) == 3_000
    assert budget(None, 8_000, 6_000, 500) == 1_500
    model = Scripted("Fine.", window=4_000)
    summarize(history(), summarizers=[model], limit=300)
    assert all(tokens(shown(prompt)) <= 2_200 for prompt, _ in model.asked)


def test_an_entry_larger_than_a_pass_is_clipped_in_its_middle() -> None:
    model = Scripted("Fine.")
    row = Row(SourceRef("s", 1), "assistant", 1, 1, text="HEAD " + "word " * 3_000 + "TAIL")
    summarize([row], summarizers=[model], chunk=500)
    text = shown(model.asked[0][0])
    assert "HEAD" in text
    assert text.endswith("TAIL")
    assert "characters left out" in text
    assert tokens(text) <= 520


def test_a_pass_refused_as_too_large_is_halved_and_later_passes_stay_small() -> None:
    def answer(prompt: Prompt) -> Reply | Exception:
        size = tokens(prompt.user())
        return TooLarge("too large") if size > 1_500 else Reply("Fine.", "end", "m", copied=True)

    model = Scripted(answer)
    summary = summarize(history(), summarizers=[model])
    sizes = [tokens(prompt.user()) > 1_500 for prompt, _ in model.asked]
    assert summary.passes == sizes.count(False)
    assert sizes == sorted(sizes, reverse=True)


def test_halving_ends() -> None:
    model = Scripted(TooLarge("too large"))
    with pytest.raises(SummaryFailed, match="too large"):
        summarize(history(40), summarizers=[model])
    assert len(model.asked) <= HALVINGS + 1


def test_the_chain_goes_on_with_the_next_where_one_failed_and_names_all_writers() -> None:
    first = Scripted("One.", SummaryFailed("no connection"), name="m1")
    second = Scripted("Two.", name="m2")
    summary = summarize(history(), summarizers=[first, second], chunk=2_500)
    assert summary.model == "m1 + m2"
    assert second.asked[0][0].previous == "One."


def test_summaries_of_one_compaction_stay_with_the_summarizer_and_the_pass_that_worked() -> None:
    down = Scripted(SummaryFailed("down: no connection"), name="down")
    small = Scripted(TooLarge("too large"), "They talked.", name="small")
    course = Course()
    for _ in range(3):
        summarize(history(), summarizers=[down, small], course=course)
    assert len(down.asked) == 1
    refused, *read = small.asked
    assert max(len(shown(prompt)) for prompt, _ in read) < len(shown(refused[0]))


def test_a_chain_that_failed_as_a_whole_begins_again_with_the_first() -> None:
    course = Course()
    flaky = Scripted(SummaryFailed("down"), "They talked.")
    with pytest.raises(SummaryFailed):
        summarize(history(), summarizers=[flaky], course=course)
    assert summarize(history(), summarizers=[flaky], course=course).text


def test_a_pass_at_another_level_of_reasoning_is_asked_for_anew() -> None:
    cache, writer = PassCache(), Scripted("They talked.")
    for level in ("low", "low", "high"):
        summarize(history(1), summarizers=[writer], cache=cache, reasoning=level)
    assert len(writer.asked) == 2


def test_a_configured_model_that_failed_is_never_replaced_silently() -> None:
    with pytest.raises(SummaryFailed, match="no connection"):
        summarize(history(), summarizers=[Scripted(SummaryFailed("no connection"))])


def test_all_failures_stand_in_one_line_and_only_rejections_make_a_rejection() -> None:
    with pytest.raises(SummaryRejected, match=r"m1: the reply is empty.*m2: the reply calls a tool"):
        summarize(history(), summarizers=[Scripted("", name="m1"), Scripted(Reply("x", "tool", "m"), name="m2")])
    with pytest.raises(SummaryFailed) as caught:
        summarize(history(), summarizers=[Scripted("", name="m1"), Scripted(SummaryFailed("down"))])
    assert not isinstance(caught.value, SummaryRejected)
    assert "\n" not in str(caught.value)


def test_a_text_that_is_too_long_gets_one_more_try_with_fewer_words() -> None:
    model = Scripted("word " * 400, "Short.")
    assert summarize(history(), summarizers=[model], limit=100).text == "Short."
    words = [prompt.words or 0 for prompt, _ in model.asked]
    assert words[1] < words[0]
    with pytest.raises(Unacceptable) as caught:
        summarize(history(), summarizers=[Scripted("word " * 400)], limit=100)
    assert caught.value.reason == "too_long"


def test_a_summary_that_is_not_smaller_says_both_sizes() -> None:
    rows = [Row(SourceRef("s", 1), "assistant", 1, 1, text="Hello there, all is done.")]
    with pytest.raises(Unacceptable) as caught:
        summarize(rows, summarizers=[Scripted("word " * 40)])
    assert caught.value.reason == "not_smaller"
    assert (caught.value.size or 0) >= (caught.value.source or 0) > 0


def test_nothing_to_summarize_is_a_rejection_and_asks_nobody() -> None:
    model = Scripted("x")
    with pytest.raises(Unacceptable) as caught:
        summarize([Row(SourceRef("s", 1), "event", 1, 0, event="notice", text="x")], summarizers=[model])
    assert caught.value.reason == "nothing"
    assert model.asked == []


def test_one_deadline_serves_all_passes_and_no_other_summarizer_is_asked_after_it() -> None:
    second = Scripted("x")
    with pytest.raises(Stopped, match="deadline"):
        summarize(history(), summarizers=[Scripted("x"), second], deadline=Deadline(time.monotonic() - 1))
    assert second.asked == []


def test_cancelling_between_passes_stops_and_finished_passes_are_not_paid_twice() -> None:
    cache = PassCache()
    model = Scripted("One.", "Two.", "Three.", "Four.")
    with pytest.raises(Stopped, match="cancelled"):
        summarize(
            history(),
            summarizers=[model],
            chunk=2_500,
            cache=cache,
            deadline=Deadline(cancelled=lambda: len(model.asked) > 1),
        )
    again = Scripted("Later.")
    summary = summarize(history(), summarizers=[again], chunk=2_500, cache=cache)
    assert again.asked[0][0].previous == "One."
    assert summary.passes == len(again.asked) + 1


def test_the_cache_forgets_what_was_used_longest_ago() -> None:
    cache = PassCache(2)
    for key in ("a", "b"):
        cache.put(key, Reply(key, "end", "m"))
    cache.get("a")
    cache.put("c", Reply("c", "end", "m"))
    assert [cache.get(key) is not None for key in ("a", "b", "c")] == [True, False, True]


def test_context_and_what_users_said_are_shown_and_are_no_part_of_the_summary() -> None:
    model = Scripted("Body.")
    summary = summarize(history(3), context="block one", said="4: Never deploy on Friday.", summarizers=[model])
    prompt, _ = model.asked[0]
    assert "<context>\nblock one\n</context>" in prompt.user()
    assert "<what-users-said>\n4: Never deploy on Friday.\n</what-users-said>" in prompt.user()
    assert summary.text == "Body."


LINES = [Line(1, "Use tabs."), Line(5, "Never deploy on Friday."), Line(9, "Use spaces.")]


def test_a_model_names_the_lines_to_keep_in_front_of_its_first_text_alone() -> None:
    model = Scripted("keep 2-3\nsuperseded 1 by 3\n\nOne.", "Two.", "Three.", "Four.")
    heard: list[Choice] = []
    summary = summarize(history(), summarizers=[model], chunk=2_500, lines=LINES, chosen=heard.append)
    assert heard == [Choice(frozenset(LINES[1:]), frozenset(LINES[:1]))]
    assert "keep" not in summary.text
    first, *later = [prompt for prompt, _ in model.asked]
    assert "2. Never deploy on Friday." in first.user()
    assert all(prompt.lines == () for prompt in later)


def test_without_a_model_nobody_is_asked_for_lines_to_keep() -> None:
    heard: list[Choice] = []
    summarize(history(), summarizers=[Offline()], lines=LINES, chosen=heard.append)
    assert heard == []


def test_a_strategys_instructions_and_the_users_focus_reach_the_prompt() -> None:
    model = Scripted("Body.")
    summarize(history(2), instructions="Write like a captain.", focus="the parser", summarizers=[model])
    system = model.asked[0][0].system()
    assert system.startswith("Write like a captain.")
    assert "the parser" in system
    assert "data" in system


def test_no_summarizer_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(SummaryFailed, match=r"models\.json"):
        summarize(history(2), summarizers=[])


@given(seed=st.integers(0, 50), limit=st.integers(60, 900), chunk=st.sampled_from([800, 3_000, None]))
@settings(max_examples=25, deadline=None)
def test_the_offline_summary_is_within_its_limit_smaller_than_its_source_and_repeats(
    seed: int, limit: int, chunk: int | None
) -> None:
    rows = Session(seed).round(
        ["Never deploy on Friday.", "Our budget is 300 EUR.", "The key id is QX-4471-B."], turns=3
    )
    summary = summarize(rows, summarizers=[Offline()], limit=limit, chunk=chunk)
    assert summary.model == "offline"
    assert tokens(summary.text) <= limit
    assert summarize(rows, summarizers=[Offline()], limit=limit, chunk=chunk) == summary


@given(st.lists(st.text(max_size=40), min_size=1, max_size=6))
@settings(max_examples=100, deadline=None)
def test_offline_any_text_gives_a_smaller_summary_or_a_rejection(texts: list[str]) -> None:
    rows = [
        Row(SourceRef("s", n + 1), "user" if n % 2 == 0 else "assistant", n // 2 + 1, n % 2, text=text)
        for n, text in enumerate(texts)
    ]
    source = 200
    try:
        summary = summarize(rows, summarizers=[Offline()], source_tokens=source)
    except SummaryRejected:
        return
    assert 0 < tokens(summary.text) < source
