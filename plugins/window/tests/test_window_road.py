"""window end to end: a real host, a real database, and a curator that answers what a test wants."""

from __future__ import annotations

from typing import Any

import pytest
from refold import Applied, Blocked, Call, CompactionFailed, Host, Nothing, Row, Session
from refold.prepare.request import Prepared
from refold.registry import home_file
from refold.summarize.reply import Reply
from refold.testing.looking import refuse
from refold.values.errors import SummaryFailed
from refold.values.messages import ResultMessage, UserMessage

from .conftest import NEW, SETTINGS, WINDOW, Kit, act, chat, event, kinds, outcome, records, words


def texts(prepared: Prepared) -> str:
    return "\n".join(getattr(message, "text", "") for message in prepared.request.messages)


def results(prepared: Prepared) -> list[str]:
    return [message.text for message in prepared.request.messages if isinstance(message, ResultMessage)]


# The three rungs


def test_older_reads_are_cleared_first_and_no_model_is_called(kit: Kit, session: Session) -> None:
    for n in range(6):
        act(session, n, "Grep", {"pattern": f"p{n}"}, words(800))
    session.user("and now?")
    before = session.rows()
    prepared = session.prepare(WINDOW)
    assert outcome(prepared) == Applied(
        covers=outcome(prepared).covers,
        kind="microcompact",
    )
    assert kit.curator.calls == 0
    assert kinds(prepared) == ["tail"]
    assert results(prepared)[0].startswith("[cleared: Grep p0 · ok · ")
    assert not results(prepared)[-1].startswith("[")
    assert session.rows() == before
    assert prepared.size.tokens == records(session)[0]["after_tokens"]


@pytest.mark.parametrize(("keep", "kept"), [(True, True), ("true", True), (False, False), ("false", False)])
def test_a_result_whose_call_asked_to_keep_it_is_not_cleared(session: Session, keep: object, kept: bool) -> None:
    act(session, 0, "Grep", {"pattern": "p0", "keep": keep}, words(800))
    for n in range(1, 6):
        act(session, n, "Grep", {"pattern": f"p{n}"}, words(800))
    session.user("and now?")
    shown = results(session.prepare(WINDOW))
    assert shown[0].startswith("[cleared: ") is not kept
    assert shown[1].startswith("[cleared: ")


def test_actions_are_cleared_too_when_reads_do_not_suffice_and_leave_receipts(kit: Kit, session: Session) -> None:
    act(session, 0, "Grep", {"pattern": "p"}, words(800))
    for n in range(1, 6):
        act(session, n, "Bash", {"command": f"make part{n}"}, words(800))
    session.user("and now?")
    prepared = session.prepare(WINDOW)
    assert outcome(prepared).kind == "collapse"
    assert results(prepared)[0].startswith("[cleared: Grep p ·")
    assert results(prepared)[1].startswith("[receipt: Bash make part1 · ok · ")
    assert "running it again repeats its effect" in results(prepared)[1]
    assert kit.curator.calls == 0


def test_a_summary_replaces_an_older_prefix_when_clearing_does_not_suffice(kit: Kit, session: Session) -> None:
    for n in range(10):
        chat(session, n, 520)
    session.user("and now?")
    prepared = session.prepare(WINDOW)
    assert outcome(prepared).kind == "summary"
    assert kinds(prepared) == ["summary", "tail"]
    assert kit.curator.calls == 1
    assert "question 0" in kit.curator.read[0]
    (record,) = records(session)
    assert (record["first_seq"], record["active"], record["lossy"], record["summary"]) == (1, True, False, True)
    assert (record["retained_first_seq"], record["retained_last_seq"]) == (record["last_seq"] + 1, 21)
    assert prepared.size.tokens == record["after_tokens"]


def test_a_summary_is_made_shorter_when_the_window_shrinks_and_only_the_newest_turn_is_behind_it(
    kit: Kit, session: Session
) -> None:
    kit.curator.answers = [Reply(words(1_500), "end", "curator", copied=True)]
    for n in range(5):
        chat(session, n, 8_000)
    chat(session, 5, 1_000)
    session.compact(40_000)
    assert [record["last_seq"] for record in records(session)] == [10]
    kit.curator.answers = [Reply("what counts, in short", "end", "curator", copied=True)]
    prepared = session.prepare(4_000)
    assert outcome(prepared).kind == "summary"
    assert "what counts, in short" in texts(prepared)
    assert "1: question 0: what is known of it?" in texts(prepared)
    assert prepared.size.tokens < 2_400
    newest = records(session)[-1]
    assert (newest["first_seq"], newest["last_seq"], newest["lossy"]) == (1, 10, False)


def test_a_second_summary_carries_the_first_and_there_is_only_one_in_the_view(kit: Kit, session: Session) -> None:
    for n in range(40):
        chat(session, n, 520)
        prepared = session.prepare(WINDOW)
        assert kinds(prepared).count("summary") <= 1
    covered = [record["last_seq"] for record in records(session)]
    assert len(covered) >= 3
    assert covered == sorted(set(covered)), "cuts only advance"
    assert all(record["first_seq"] == 1 for record in records(session))
    assert "The work so far" in kit.curator.read[-1], "the summary before is carried"


def test_a_plan_is_one_record_and_between_records_requests_only_grow(session: Session) -> None:
    before: list[Any] = []
    known = 0
    for n in range(25):
        act(session, n, "Grep", {"pattern": f"p{n}"}, words(250))
        chat(session, 100 + n, 200)
        prepared = session.prepare(WINDOW)
        now = list(prepared.request.messages)
        made = len(records(session)) - known
        known += made
        assert made == int(isinstance(outcome(prepared), Applied))
        if not made:
            assert now[: len(before)] == before
        before = now
    assert known >= 2


# Guards


def test_a_result_that_the_model_has_not_seen_is_never_cleared(session: Session) -> None:
    session.user("read them all")
    session.assistant("", [Call(f"c{n}", "Grep", {"pattern": f"p{n}"}) for n in range(9)])
    session.results({f"c{n}": words(800) for n in range(9)})
    prepared = session.prepare(WINDOW)
    assert isinstance(outcome(prepared), Nothing)
    assert not any(text.startswith("[cleared") for text in results(prepared))
    session.assistant("I see")
    session.user("go on")
    assert outcome(session.prepare(WINDOW)).kind == "microcompact"


def test_errors_and_tiny_results_and_unknown_tools_stay(session: Session) -> None:
    act(session, 0, "Bash", {"command": "make"}, words(900), ok=False)
    act(session, 1, "Bash", {"command": "make"}, words(900) + "\nExit code: 2")
    act(session, 2, "TodoWrite", {}, words(900))
    act(session, 3, "Grep", {"pattern": "p"}, "nothing found")
    for n in range(4, 8):
        act(session, n, "Grep", {"pattern": f"p{n}"}, words(800))
    session.user("and now?")
    prepared = session.prepare(WINDOW)
    assert isinstance(outcome(prepared), Applied)
    assert not any(text.startswith("[") for text in results(prepared)[:4])


def test_no_cut_passes_a_child_that_has_not_joined(kit: Kit, session: Session) -> None:
    event(session, "spawned", "child-1")
    for n in range(10):
        chat(session, n, 520)
    session.user("and now?")
    prepared = session.prepare(WINDOW)
    assert outcome(prepared) == Blocked(
        "open_join", "blocked(open_join): a child that began after row 0 has not joined"
    )
    assert kit.curator.calls == 0
    event(session, "joined", "child-1")
    assert outcome(session.compact(WINDOW)).kind == "summary"


def test_a_cut_stops_at_the_oldest_open_child(session: Session) -> None:
    for n in range(5):
        chat(session, n, 520)
    event(session, "spawned", "child-1")
    spawn = len(session.rows())
    for n in range(5, 10):
        chat(session, n, 520)
    session.user("and now?")
    assert isinstance(outcome(session.prepare(WINDOW)), Applied)
    assert records(session)[0]["last_seq"] < spawn


def test_fixed_parts_that_fill_the_window_are_named_and_nobody_is_asked(kit: Kit, session: Session) -> None:
    session.system = words(5_500)
    for n in range(3):
        chat(session, n, 300)
    with pytest.raises(CompactionFailed, match=r"leaves nothing of a window of 8,000 with its output reserve of 2,000"):
        session.compact(WINDOW)
    prepared = session.prepare(WINDOW)
    assert prepared.projection.observation.status == "limited"
    assert kit.curator.calls == 0


def test_headroom_counts_the_fixed_parts(session: Session) -> None:
    chat(session, 0, 500)
    bare = session.check(WINDOW).trigger
    session.system = words(1_000)
    session = session.host.session(session.id)
    assert bare == 4_800
    other = session.host.session(session.id)
    other.system = words(1_000)
    raised = other.check(WINDOW).trigger
    fixed = other.check(WINDOW).size - session.check(WINDOW).size
    assert raised == fixed + -(-(6_000 - fixed) * 80 // 100)


# The curator's answers


BAD = {
    "empty": Reply("", "end", "curator"),
    "only reasoning": Reply("", "end", "curator", reasoned=True),
    "cut off": Reply("Next step is to fini", "length", "curator"),
    "an error text": Reply("Error: 500 internal server error", "end", "curator"),
    "a tool call": Reply("", "tool", "curator"),
    "a refusal": Reply("I cannot", "refusal", "curator"),
    "too long": Reply(words(1_500), "end", "curator"),
    "raised": SummaryFailed("the provider failed; nothing was changed"),
}


@pytest.mark.parametrize("answer", BAD.values(), ids=BAD.keys())
def test_an_unacceptable_answer_changes_nothing(answer: Any, kit: Kit, session: Session) -> None:
    for n in range(10):
        chat(session, n, 430)
    session.user("and now?")
    before = session.prepare(200_000).request
    kit.curator.answers = [answer]
    with pytest.raises(CompactionFailed):
        session.compact(WINDOW)
    prepared = session.prepare(WINDOW)
    assert kit.curator.calls <= 4
    assert not isinstance(outcome(prepared), Applied)
    assert prepared.request.messages == before.messages
    assert records(session) == []


def test_a_summary_that_is_not_smaller_is_refused(kit: Kit, session: Session) -> None:
    chat(session, 0, 160)
    chat(session, 1, 30)
    kit.curator.answers = [Reply(words(400), "end", "curator", copied=True)]
    refused = outcome(session.compact(200_000))
    assert isinstance(refused, Nothing)
    assert "not smaller" in refused.reason
    assert records(session) == []


def test_when_the_curator_fails_the_cheaper_rung_that_saves_something_is_taken(kit: Kit, session: Session) -> None:
    for n in range(3):
        act(session, n, "Grep", {"pattern": f"p{n}"}, words(400))
    for n in range(8):
        chat(session, n, 430)
    session.user("and now?")
    kit.curator.answers = [SummaryFailed("the provider failed; nothing was changed")]
    prepared = session.prepare(WINDOW)
    assert outcome(prepared).kind == "microcompact"
    assert "no rung reaches" in records(session)[0]["reason"]


def test_nothing_to_compact_asks_nobody(kit: Kit, session: Session) -> None:
    chat(session, 0, 20)
    assert isinstance(outcome(session.compact(WINDOW)), Nothing)
    assert kit.curator.calls == 0


# The hard limit


def fill_past_the_hard_limit(session: Session) -> None:
    for n in range(14):
        chat(session, n, 500)
    session.user("do Z")


def test_at_the_hard_limit_without_a_summary_messages_drop_and_one_notice_tells_the_model(
    kit: Kit, session: Session
) -> None:
    fill_past_the_hard_limit(session)
    kit.curator.answers = [SummaryFailed("the provider failed; nothing was changed")]
    prepared = session.prepare(WINDOW)
    done = outcome(prepared)
    assert isinstance(done, Applied)
    assert (done.kind, done.lossy) == ("drop", True)
    assert kinds(prepared) == ["notice", "tail"]
    (record,) = records(session)
    assert record["lossy"]
    last = record["last_seq"]
    notices = [m.text for m in prepared.request.messages if isinstance(m, UserMessage) and "[notice:" in m.text]
    assert len(notices) == 1
    assert f"rows 1-{last}" in notices[0]
    assert "No summary of them exists" in notices[0]
    assert f"refold show one --after 0 --limit {last} --full" in notices[0]
    assert prepared.request.messages[-1] == UserMessage("do Z")
    assert prepared.size.tokens <= 3_000
    assert prepared.projection.observation.status == "fallback"


def test_a_later_summary_covers_the_rows_that_had_dropped(kit: Kit, session: Session) -> None:
    fill_past_the_hard_limit(session)
    kit.curator.answers = [SummaryFailed("the provider failed; nothing was changed")]
    session.prepare(WINDOW)
    kit.curator.answers = []
    kit.curator.read.clear()
    prepared = session.compact(WINDOW)
    assert kinds(prepared) == ["summary", "tail"]
    assert "question 0" in kit.curator.read[0], "from the transcript"
    assert [record["lossy"] for record in records(session)] == [True, False]


def test_a_manual_compaction_fails_rather_than_drop(kit: Kit, session: Session) -> None:
    fill_past_the_hard_limit(session)
    kit.curator.answers = [SummaryFailed("the provider failed; nothing was changed")]
    with pytest.raises(CompactionFailed, match="the provider failed"):
        session.compact(WINDOW)
    assert records(session) == []


# Thrash


def turns_that_refill(session: Session, count: int, first: int = 0, tokens: int = 2_600) -> list[Prepared]:
    """Each turn brings so many tokens that the window is full again when the next one begins."""
    asked = []
    for n in range(first, first + count):
        session.user(f"turn {n}: " + words(tokens, f"turn {n}"))
        asked.append(session.prepare(WINDOW))
        session.assistant(f"answer {n}: " + words(700, f"answer {n}"))
    return asked


def test_eight_turns_that_refill_the_window_end_in_one_suspended_notice_and_no_third_curator_call(
    kit: Kit, session: Session
) -> None:
    chat(session, 100, 2_000)
    asked = turns_that_refill(session, 8)
    assert kit.curator.calls == 2
    notices = [notice for prepared in asked for notice in prepared.notices if "suspended: " in notice]
    assert len(notices) == 1
    assert "until a request stays below 4,800 tokens" in notices[0]
    blocked = [outcome(prepared) for prepared in asked if isinstance(outcome(prepared), Blocked)]
    assert [each.code for each in blocked] == ["suspended"]
    assert asked[-1].projection.observation.status == "suspended"
    assert [record["kind"] for record in records(session)].count("summary") == 2
    assert asked[-1].size.tokens <= WINDOW


def test_turns_that_fill_more_than_the_window_drop_and_say_suspended_once(kit: Kit, session: Session) -> None:
    chat(session, 100, 2_000)
    asked = turns_that_refill(session, 8, tokens=4_600)
    assert kit.curator.calls == 2
    applied = [done for prepared in asked if isinstance(done := outcome(prepared), Applied)]
    notices = [notice for prepared in asked for notice in prepared.notices]
    told = [text for text in (*(done.note for done in applied), *notices) if text.startswith("suspended")]
    assert len(told) == 1
    assert [done.kind for done in applied[2:]].count("drop") == len(applied[2:]) > 0
    assert all(prepared.size.tokens <= WINDOW for prepared in asked)


def test_a_refusal_while_suspended_drops_and_asks_no_curator(kit: Kit, session: Session) -> None:
    chat(session, 100, 2_000)
    turns_that_refill(session, 3)
    session.user("go on")
    prepared = refuse(session, WINDOW, 5_000)
    assert outcome(prepared).kind == "drop"
    assert kit.curator.calls == 2


def test_the_guard_is_rearmed_by_a_request_that_really_fits(kit: Kit, session: Session) -> None:
    chat(session, 100, 2_000)
    turns_that_refill(session, 8)
    assert kit.curator.calls == 2
    session.user("small")
    session.prepare(WINDOW)
    session.assistant("short")
    session.user("small again")
    fitting = session.prepare(WINDOW)
    assert fitting.size.tokens < 4_800
    session.assistant("short again")
    again = turns_that_refill(session, 8, first=20)
    assert kit.curator.calls == 4
    assert sum("suspended: " in notice for prepared in again for notice in prepared.notices) == 1


def test_the_guard_survives_a_restart_suspended_and_armed(kit: Kit, session: Session) -> None:
    chat(session, 100, 2_000)
    turns_that_refill(session, 3)
    kit.reopen()
    session = kit.host.session("one")
    later = turns_that_refill(session, 5, first=3)
    assert kit.curator.calls == 2
    assert not any("suspended: " in notice for prepared in later for notice in prepared.notices)
    for n in range(3):
        session.user(f"small {n}")
        session.prepare(WINDOW)
        session.assistant("short")
    kit.reopen()
    turns_that_refill(kit.host.session("one"), 1, first=30)
    assert kit.curator.calls == 3


def test_a_manual_compaction_ignores_the_suspension(kit: Kit, session: Session) -> None:
    chat(session, 100, 2_000)
    turns_that_refill(session, 3)
    calls = kit.curator.calls
    assert outcome(session.compact(WINDOW)).kind == "summary"
    assert kit.curator.calls == calls + 1


def test_turns_in_between_that_fit_are_no_thrash(kit: Kit, session: Session) -> None:
    for n in range(60):
        chat(session, n, 520)
        prepared = session.prepare(WINDOW)
        assert not any("suspended: " in notice for notice in prepared.notices)
    assert 3 <= kit.curator.calls <= 30


# Folds of others, children


FOLDS = """
class Older:
    owner = "older"
    def folds(self, context, history):
        ends = history.ends("turn")
        if len(ends) < 3: return []
        covers = RowRange(context.session, 0, ends[1])
        return [Fold("older", "1", "older rows", "what happened in the first two turns", covers)]
@hookimpl
def fold_plugin(): return Older()
"""


def test_folds_of_others_stand_first_and_are_never_rewritten(
    kit: Kit, session: Session, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "older"
    facts = folder / "older-1.0.dist-info"
    facts.mkdir(parents=True)
    head = "from refold import *\n@hookimpl\ndef manifest(): return Manifest('older', 'older', 'older', default=True)\n"
    (folder / "older_folds.py").write_text(head + FOLDS)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: older\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[refold.extensions]\nolder = older_folds\n")
    (facts / "RECORD").write_text("older_folds.py,,\n")
    monkeypatch.syspath_prepend(folder)
    kit.host.reload()
    for n in range(30):
        chat(session, n, 520)
        prepared = session.prepare(WINDOW)
        if n > 1:
            assert kinds(prepared)[0] == "fold"
            first = prepared.request.messages[0]
            assert isinstance(first, UserMessage)
            assert first.text.startswith("what happened in the first two turns\n\n[users' own words")
    assert kinds(prepared) == ["fold", "summary", "tail"]
    assert all(record["first_seq"] == 5 for record in records(session))
    read = [read.partition("<newly-evicted-history>")[2] for read in kit.curator.read]
    assert not any("question 0" in each for each in read)


def test_a_child_session_has_its_own_window_and_changes_nothing_of_its_parent(kit: Kit, session: Session) -> None:
    for n in range(4):
        chat(session, n, 300)
    event(session, "spawned", "child")
    before, rows = session.prepare(WINDOW), session.rows()
    child = kit.session("child")
    for n in range(10):
        chat(child, n, 520)
    child.user("and now?")
    assert isinstance(outcome(child.prepare(WINDOW)), Applied)
    assert session.prepare(WINDOW).request == before.request
    assert session.rows() == rows
    assert records(session) == []
    assert session.run("window records", {}) == {"records": []}
    event(session, "joined", "child")
    assert len(records(child)) == 1


def test_its_summary_is_a_fold_for_other_strategies_and_undone_ones_are_not(kit: Kit, session: Session) -> None:
    for n in range(10):
        chat(session, n, 520)
    session.user("and now?")
    session.prepare(WINDOW)
    summarized = records(session)[0]["last_seq"]
    kit.host.choose("rolling", True, session.id)
    prepared = session.prepare(200_000)
    assert kinds(prepared) == ["fold", "tail"]
    assert prepared.projection.sections[0].covers.upto == summarized
    assert [fold.owner for fold in session.stored_folds()] == ["window"]
    session.run("window undo", {})
    assert kinds(session.prepare(200_000)) == ["tail"]


def test_window_memory_is_on_by_default_and_window_needs_it(tmp_path: Any) -> None:
    with Host(tmp_path / "fresh") as host:
        listed = {each.id: each for each in host.extensions().extensions}
        assert (listed["window"].enabled, listed["window-memory"].enabled) == (False, True)
        assert listed["window"].requires == ("window-memory",)


def test_the_settings_are_read_and_a_wrong_one_is_named(kit: Kit, session: Session) -> None:
    wrong = {"window": {**SETTINGS, "softPercent": 40}}
    home_file.update(kit.home / "extensions.json", lambda sections: sections.update(wrong))
    kit.reopen()
    listed = {each.id: each for each in kit.host.extensions(session.id).extensions}
    assert "targetPercent (50) must be below softPercent (40)" in (listed["window"].problem or "")


def test_a_late_result_and_a_missing_one_do_no_harm(session: Session) -> None:
    session.user("go")
    session.assistant("", [Call("lost", "Grep", {"pattern": "p"})])
    for n in range(10):
        chat(session, n, 520)
    session.user("and now?")
    assert isinstance(outcome(session.prepare(WINDOW)), Applied)
    session.append([Row(NEW, "result", 0, 0, text=words(100), call_id="lost")])
    assert session.prepare(WINDOW).attempted is None
