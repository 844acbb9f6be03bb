"""Blocks are appended and keep their bytes; the host's road, a real database, a scripted summarizer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from refold import Applied, Call, CompactionFailed, Host, Nothing
from refold.testing import ScriptedSummarizer

from .conftest import blocks, encoded, texts, turns

WINDOW = 6_000
Open = Callable[..., Host]


def test_each_compaction_appends_one_block_and_earlier_blocks_keep_their_bytes(host: Host) -> None:
    session = host.new()
    fronts: list[list[object]] = []
    for number in range(30):
        turns(session, 2, first=number * 2)
        prepared = session.prepare(WINDOW)
        count = len(blocks(prepared))
        front = encoded(prepared)[: count or 0]
        if fronts and len(fronts[-1]) < count <= len(fronts[-1]) + 1:
            assert front[: len(fronts[-1])] == fronts[-1]
        fronts.append(front)
    assert max(map(len, fronts)) >= 3


def test_requests_between_two_compactions_extend_each_other(host: Host) -> None:
    session = host.new()
    turns(session, 20)
    before = encoded(session.prepare(WINDOW))
    for number in range(3):
        turns(session, 1, first=20 + number, words=5)
        prepared = session.prepare(WINDOW)
        assert prepared.attempted is None
        assert encoded(prepared)[: len(before)] == before
        before = encoded(prepared)


def test_a_compaction_folds_only_what_came_after_the_last_block(host: Host, summarizer: ScriptedSummarizer) -> None:
    session = host.new()
    turns(session, 8)
    session.compact(WINDOW)
    asked = len(summarizer.prompts)
    turns(session, 4, first=8)
    outcome = session.compact(WINDOW).attempted
    assert outcome is not None
    assert isinstance(outcome.outcome, Applied)
    assert outcome.outcome.covers.after == 24
    read = "\n".join(block.text for prompt in summarizer.prompts[asked:] for block in prompt.blocks)
    assert "question 6" in read
    assert "question 5" not in read


def test_the_summarizer_sees_earlier_blocks_as_context_and_no_more_of_them_than_new_rows(
    host: Host, summarizer: ScriptedSummarizer
) -> None:
    session = host.new()
    summarizer.reply = lambda prompt: f"block {len(summarizer.prompts)} " + "tells what was done. " * 20
    for number in range(5):
        turns(session, 3, first=number * 3)
        session.compact(100_000)
    known = summarizer.prompts[-1].context
    assert "block 4 " in known
    assert "block 4 " not in summarizer.prompts[-1].user().partition("</context>")[2]
    turns(session, 1, first=15, words=40)
    session.compact(100_000)
    shorter = summarizer.prompts[-1].context
    assert "block 5 " in shorter, "the newest is kept"
    assert "block 1 " not in shorter, "and the oldest are left out of this one request"


def test_two_turns_stay_verbatim_and_fewer_when_the_window_does_not_hold_them(host: Host) -> None:
    session = host.new()
    turns(session, 12)
    assert blocks(session.prepare(WINDOW)) == [(0, 40)]
    other = host.new()
    turns(other, 6, words=20)
    turns(other, 2, first=6, words=500)
    assert blocks(other.prepare(WINDOW)) == [(0, 28)], "two turns of 500 words do not fit beside each other"


def test_the_prompt_being_answered_is_never_folded_by_itself(open_home: Open) -> None:
    session = open_home(keepRecentTurns=0).new()
    turns(session, 12)
    session.user("the question of the day")
    prepared = session.prepare(WINDOW)
    assert blocks(prepared) == [(0, 48)]
    assert texts(prepared)[-1] == "the question of the day"


def test_a_manual_compaction_falls_back_to_fewer_turns_down_to_none(host: Host) -> None:
    session = host.new()
    turns(session, 1)
    prepared = session.compact(WINDOW)
    assert blocks(prepared) == [(0, 4)]
    assert len(prepared.request.messages) == 1


def test_with_nothing_new_compact_does_nothing_and_calls_no_model(host: Host, summarizer: ScriptedSummarizer) -> None:
    session = host.new()
    turns(session, 1)
    session.compact(WINDOW)
    asked = len(summarizer.prompts)
    prepared = session.compact(WINDOW)
    assert prepared.attempted is not None
    assert prepared.attempted.outcome == Nothing("there is nothing new to fold since the last block")
    assert len(summarizer.prompts) == asked
    assert session.record.compactions == 1


def test_an_open_call_is_never_folded_whoever_asks(host: Host) -> None:
    session = host.new()
    turns(session, 2)
    session.user("go on")
    session.assistant("", [Call("open", "read", {"path": "a"})])
    prepared = session.compact(WINDOW)
    assert blocks(prepared)[0][1] <= 9
    session.results({"open": "here it is"})
    assert "here it is" in texts(session.prepare(WINDOW))


def test_a_late_result_behind_a_block_is_shown_with_the_step_before_it(host: Host) -> None:
    session = host.new()
    turns(session, 2)
    session.compact(WINDOW)
    before = encoded(session.compact(WINDOW))
    assert len(before) == 2, "every row is folded"
    session.results({"call-1": "once more, late"})
    after = encoded(session.prepare(WINDOW))
    assert after[: len(before)] == before
    assert "answer 1" in str(after[2])
    assert "once more, late" in str(after[3])
    session.compact(WINDOW)
    session.assistant("", [Call("call-1", "read", {"path": "b"})])
    session.compact(WINDOW)
    assert "call-1" in str(encoded(session.prepare(WINDOW))[-2:]), "the new call of that id is open, and stays"


def test_a_compaction_that_would_not_help_says_so_with_both_sizes(host: Host, summarizer: ScriptedSummarizer) -> None:
    session = host.new()
    session.user("hi")
    session.assistant("hello")
    attempted = session.compact(WINDOW).attempted
    assert attempted is not None
    assert isinstance(attempted.outcome, Nothing)
    assert "would not make the request smaller" in attempted.outcome.reason
    assert session.record.compactions == 0


def test_when_blocks_outgrow_a_third_of_the_window_the_earliest_become_one(
    host: Host, summarizer: ScriptedSummarizer
) -> None:
    session = host.new()
    summarizer.reply = lambda prompt: "what these rows add. " * 50
    seen: list[list[tuple[int, int]]] = []
    for number in range(14):
        turns(session, 2, first=number * 2, words=200)
        seen.append(blocks(session.compact(WINDOW)))
    counts = [len(each) for each in seen]
    merged = next(at for at in range(1, 14) if counts[at] < counts[at - 1])
    assert seen[merged][0][0] == 0
    assert seen[merged][0][1] > seen[merged - 1][0][1], "the earliest are one"
    assert seen[merged][-1] == (seen[merged - 1][-1][1], seen[merged][-1][1]), "the newest stays a block of its own"
    assert counts[merged + 1] == counts[merged] + 1, "and the next compaction only appends"


def test_a_merge_keeps_what_the_user_set_word_for_word(host: Host) -> None:
    session = host.new()
    session.user("Never deploy on a Friday. Now look around.")
    for number in range(24):
        turns(session, 2, first=number * 2, words=100)
        prepared = session.compact(2_500)
    assert blocks(prepared)[0][0] == 0
    assert "Never deploy on a Friday." in texts(prepared)[0]


def test_a_failed_merge_leaves_the_chain_and_the_outcome_says_so(host: Host, summarizer: ScriptedSummarizer) -> None:
    session = host.new()
    summarizer.reply = lambda prompt: "what these rows add. " * 50
    for number in range(14):
        before = blocks(session.prepare(WINDOW))
        turns(session, 2, first=number * 2, words=200)
        summarizer.script("good", "fails")
        prepared = session.compact(WINDOW)
        assert prepared.attempted is not None
        outcome = prepared.attempted.outcome
        assert isinstance(outcome, Applied)
        assert blocks(prepared)[: len(before)] == before
        if outcome.note:
            assert "were not merged" in outcome.note
            return
    pytest.fail("no merge was due")


def test_a_smaller_window_merges_blocks_even_where_nothing_new_can_be_folded(
    open_home: Open, summarizer: ScriptedSummarizer
) -> None:
    session = open_home(keepRecentTurns=0).new()
    summarizer.reply = lambda prompt: "what these rows add. " * 100
    for number in range(6):
        turns(session, 2, first=number * 2, words=400)
        session.compact(60_000)
    before = blocks(session.prepare(60_000))
    assert len(before) == 6
    summarizer.reply = lambda prompt: "all of it, in short. " * 10
    prepared = session.compact(WINDOW)
    assert prepared.attempted is not None
    outcome = prepared.attempted.outcome
    assert isinstance(outcome, Applied)
    assert (outcome.kind, outcome.note) == ("merge", "5 earlier summary blocks were merged into 1")
    assert blocks(prepared) == [(0, before[-2][1]), before[-1]]
    assert session.compact(WINDOW).attempted.outcome == Nothing("there is nothing new to fold since the last block")


def test_where_that_merge_fails_nothing_is_changed(open_home: Open, summarizer: ScriptedSummarizer) -> None:
    session = open_home(keepRecentTurns=0).new()
    summarizer.reply = lambda prompt: "what these rows add. " * 100
    for number in range(6):
        turns(session, 2, first=number * 2, words=400)
        session.compact(60_000)
    before = blocks(session.prepare(60_000))
    summarizer.script("fails")
    with pytest.raises(CompactionFailed):
        session.compact(WINDOW)
    assert blocks(session.prepare(60_000)) == before


def test_a_failed_summary_changes_nothing(host: Host, summarizer: ScriptedSummarizer) -> None:
    session = host.new()
    turns(session, 20)
    summarizer.script("fails")
    prepared = session.prepare(WINDOW)
    assert blocks(prepared) == []
    assert any("automatic compaction" in notice for notice in prepared.notices)


def test_an_unknown_window_is_assumed_and_shown_as_assumed(host: Host) -> None:
    session = host.new()
    turns(session, 2)
    prepared = session.prepare()
    assert (prepared.window.tokens, prepared.window.source) == (128_000, "assumed by chain")
    context = session.context()
    assert "assumed by chain" in str(context)
    assert prepared.projection.trigger == 102_400
    assert session.prepare(WINDOW).window.source == "--window"


def test_a_fork_gets_the_blocks_before_its_checkpoint(host: Host) -> None:
    session = host.new()
    for number in range(3):
        turns(session, 4, first=number * 4)
        session.compact(WINDOW)
    stored = blocks(session.prepare(WINDOW))
    assert len(stored) == 3
    for keep in range(4):
        at = stored[keep][1] - 1 if keep < 3 else session.newest_seq()
        branch = host.session(session.fork(at).session)
        assert blocks(branch.prepare(WINDOW)) == stored[:keep]


def test_a_fork_at_the_end_of_a_block_shows_the_prompt_that_waits_there(host: Host) -> None:
    session = host.new()
    turns(session, 12)
    session.user("a question that was never answered")
    session.assistant("", [Call("last", "read", {"path": "x"})])
    session.results({"last": "x"})
    turns(session, 1, first=12)
    session.user("on we go")
    prepared = session.prepare(WINDOW)
    assert blocks(prepared) == [(0, 51)]
    unfinished = host.session(session.fork(51).session)
    assert "a question that was never answered" in texts(unfinished.prepare(100_000))
    turns(session, 12, first=13)
    ends = blocks(session.prepare(WINDOW))[-1][1]
    assert ends > 51
    finished = host.session(session.fork(ends).session)
    assert blocks(finished.prepare(100_000))[-1][1] == ends, "where the turn was answered, the block comes along"


def test_a_fork_inside_a_merged_block_gets_the_blocks_that_were_merged(
    host: Host, summarizer: ScriptedSummarizer
) -> None:
    session = host.new()
    summarizer.reply = lambda prompt: "what these rows add. " * 50
    before: list[tuple[int, int]] = []
    for number in range(14):
        turns(session, 2, first=number * 2, words=200)
        now = blocks(session.compact(WINDOW))
        if len(now) < len(before):
            break
        before = now
    branch = host.session(session.fork(before[1][1]).session)
    assert blocks(branch.prepare(WINDOW)) == before[:2]
    assert blocks(host.session(session.fork(session.newest_seq()).session).prepare(WINDOW)) == now


def test_nothing_is_summarized_again_after_a_switch_away_and_back(host: Host, summarizer: ScriptedSummarizer) -> None:
    session = host.new()
    turns(session, 8)
    before = encoded(session.compact(WINDOW))
    asked = len(summarizer.prompts)
    host.choose("rolling", True, session=session.id)
    away = session.prepare(WINDOW)
    assert next(section.kind for section in away.projection.sections) == "fold"
    host.choose("chain", True, session=session.id)
    assert encoded(session.prepare(WINDOW)) == before
    assert len(summarizer.prompts) == asked


def test_show_tree_and_export_draw_blocks_at_their_boundary(host: Host) -> None:
    session = host.new()
    turns(session, 8)
    session.compact(WINDOW)
    turns(session, 2, first=8)
    session.compact(WINDOW)
    folds = session.stored_folds()
    assert [(fold.owner, fold.covers.after, fold.covers.upto) for fold in folds] == [
        ("chain", 0, 24),
        ("chain", 24, 32),
    ]


def test_folds_of_others_stand_first_and_are_never_rewritten(
    open_home: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "older"
    facts = folder / "older_memory-1.0.dist-info"
    facts.mkdir(parents=True)
    (folder / "older_memory.py").write_text(
        "from refold import *\n"
        "@hookimpl\n"
        "def manifest(): return Manifest(id='a-memory', title='a', summary='a', default=True)\n"
        "class Folds:\n"
        "    owner = 'older'\n"
        "    def folds(self, context, history):\n"
        "        if history.range.after >= 8 or history.range.upto < 8: return ()\n"
        "        rows = RowRange(context.session, 0, 8)\n"
        "        return [Fold('older', 'first', 'rows 1-8', 'an older summary', rows)]\n"
        "@hookimpl\n"
        "def fold_plugin(): return Folds()\n"
    )
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: older_memory\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[refold.extensions]\na-memory = older_memory\n")
    (facts / "RECORD").write_text("older_memory.py,,\n")
    monkeypatch.syspath_prepend(folder)
    host = open_home()
    session = host.new()
    turns(session, 8)
    for number in range(4):
        prepared = session.compact(WINDOW)
        kinds = [section.kind for section in prepared.projection.sections]
        assert kinds[0] == "fold"
        assert texts(prepared)[0].startswith("an older summary\n\n[users' own words")
        assert blocks(prepared)[0][0] == 8
        turns(session, 2, first=8 + number * 2)
    host.choose("a-memory", False)
    prepared = session.prepare(100_000)
    assert blocks(prepared) == [], "blocks behind folds that left do not serve"
    host.choose("a-memory", True)
    assert blocks(session.prepare(100_000))[0][0] == 8, "and serve again when they are back"


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"thresholdPercent": 0}, "thresholdPercent"),
        ({"thresholdPercent": 101}, "thresholdPercent"),
        ({"keepRecentTurns": -1}, "keepRecentTurns"),
        ({"contextWindowTokens": 0}, "contextWindowTokens"),
    ],
)
def test_a_setting_out_of_range_is_named_and_the_defaults_serve(
    open_home: Open, settings: dict[str, int], fault: str
) -> None:
    host = open_home(**settings)
    problem = next(each.problem for each in host.extensions().extensions if each.id == "chain")
    assert problem
    assert fault in problem
    session = host.new()
    turns(session, 1)
    assert session.prepare(10_000).projection.trigger == 8_000


def test_the_settings_say_threshold_turns_and_window(open_home: Open) -> None:
    session = open_home(thresholdPercent=100, keepRecentTurns=1, contextWindowTokens=WINDOW).new()
    turns(session, 12)
    prepared = session.prepare()
    assert prepared.window.source == "configured contextWindowTokens"
    assert prepared.projection.trigger == WINDOW
    assert blocks(session.compact()) == [(0, 44)]
