"""The ladder on paper: the cheapest rung that reaches the target, and what no rung may touch."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from refold import Demand, Window
from refold_window.budget import Budget, budget, headroom
from refold_window.planner import Plan, Refusal, clearable, plan
from refold_window.settings import WindowSettings
from refold_window.shape import End, Result, Shape

P = Budget(
    size=700, target=400, soft=640, hard=800, window=1_000, over=False, asked=False, min_gain=80, keep_recent=150,
    keep_results=2, clear_at_least=20, summary=100,
)  # fmt: skip
"""Window 1,000, output reserve 200, fixed parts 100: the profile of the tables."""

KEEP = tuple(Result(seq, "action", 30, f"r{seq}", 15) for seq in (90, 91))
"""The newest results, which `keep_results` protects."""


def dump(seq: int, tokens: int, **more: Any) -> Result:
    return Result(seq, "dump", tokens, f"[cleared {seq}]", 15, **more)


def action(seq: int, tokens: int, **more: Any) -> Result:
    return Result(seq, "action", tokens, f"[receipt {seq}]", 15, **more)


def view(*results: Result, ends: tuple[End, ...] = (), tokens: int = 600, **more: Any) -> Shape:
    return Shape(0, tokens, (*results, *KEEP), ends, **more)


TURNS = (End(20, 200, 200), End(40, 400, 400), End(60, 480, 480))


@pytest.mark.parametrize(
    ("shape", "kind", "gain"),
    [
        (view(dump(5, 400)), "microcompact", 385),
        (view(dump(5, 400), action(6, 300)), "microcompact", 385),
        (view(dump(5, 200), action(6, 200)), "collapse", 370),
        (view(action(6, 400)), "collapse", 385),
        (view(dump(5, 400), ends=TURNS), "microcompact", 385),
        (view(dump(5, 200), action(6, 200), ends=TURNS), "collapse", 370),
        (view(dump(5, 100), ends=TURNS), "summary", 380),
        (view(ends=TURNS), "summary", 380),
    ],
    ids=[
        "reads suffice", "reads suffice beside actions", "both are needed", "only actions are there",
        "reads before a summary", "receipts before a summary", "a read is not enough", "nothing to clear",
    ],
)  # fmt: skip
def test_the_cheapest_rung_that_reaches_the_target_wins(shape: Shape, kind: str, gain: int) -> None:
    chosen = plan(shape, P)
    assert isinstance(chosen, Plan)
    assert (chosen.kind, chosen.gain) == (kind, gain)
    assert P.size - chosen.gain <= P.target
    assert "cheapest rung" in chosen.reason


def test_collapse_clears_what_microcompact_clears_and_actions_too() -> None:
    chosen = plan(view(dump(5, 200), action(6, 200)), P)
    assert isinstance(chosen, Plan)
    assert chosen.clear == {5: "[cleared 5]", 6: "[receipt 6]"}


def test_a_summary_that_is_not_enough_clears_older_results_of_what_stays_in_the_same_plan() -> None:
    shape = view(dump(50, 150), ends=TURNS[:2], tokens=600)
    chosen = plan(shape, evolve(P, size=800, keep_recent=210, target=420))
    assert isinstance(chosen, Plan)
    assert (chosen.kind, chosen.upto, chosen.clear) == ("summary", 40, {50: "[cleared 50]"})


def test_where_no_rung_reaches_the_target_the_one_that_saves_most_is_taken_and_says_why() -> None:
    chosen = plan(view(dump(5, 150), action(6, 100)), P)
    assert isinstance(chosen, Plan)
    assert (chosen.kind, chosen.gain) == ("collapse", 220)
    assert chosen.reason == "no rung reaches 400 tokens; this one saves most: 480 are left"


@pytest.mark.parametrize("gain", [79, 80])
def test_a_rung_that_gains_too_little_is_not_taken(gain: int) -> None:
    chosen = plan(view(dump(5, gain + 15)), P)
    assert isinstance(chosen, Plan) is (gain == 80)


@pytest.mark.parametrize(
    "spared",
    [
        dump(5, 400, seen=False),
        dump(5, 400, failed=True),
        dump(5, 400, pinned=True),
        Result(5, "dump", 19, "[cleared]", 15),
        Result(5, "dump", 400, "[cleared]", 400),
    ],
    ids=["unseen", "an error", "pinned", "tiny", "a receipt that is not smaller"],
)
def test_such_a_result_is_never_cleared(spared: Result) -> None:
    assert clearable(view(spared), P, {"dump", "action"}) == ()
    assert plan(view(spared), P) == Refusal("nothing", "there is nothing older that is worth clearing or folding")


def test_newest_reads_go_last_only_where_no_turn_can_be_folded_or_the_request_does_not_fit() -> None:
    one_turn = view(dump(5, 400, key="/src/a.py"))
    assert clearable(one_turn, P, {"dump", "action"}) == ()
    cleared = plan(one_turn, P)
    assert isinstance(cleared, Plan)
    assert (cleared.kind, tuple(cleared.clear)) == ("microcompact", (5,))
    turns = view(dump(5, 400, key="/src/a.py"), ends=TURNS)
    chosen = plan(turns, P)
    assert isinstance(chosen, Plan)
    assert chosen.kind == "summary"
    assert plan(turns, evolve(P, curator="failed")) == Refusal(
        "nothing", "there is nothing older that is worth clearing or folding"
    )
    over = plan(turns, evolve(P, size=900, target=550, over=True, curator="failed"))
    assert isinstance(over, Plan)
    assert (over.kind, tuple(over.clear)) == ("microcompact", (5,))


def test_one_long_turn_of_distinct_reads_keeps_its_newest_results() -> None:
    reads = tuple(dump(seq, 200, key=f"/src/{seq}.py") for seq in range(1, 8))
    chosen = plan(Shape(0, 1_400, reads), evolve(P, size=1_500, target=700, over=True))
    assert isinstance(chosen, Plan)
    assert tuple(chosen.clear) == (1, 2, 3, 4, 5)


@pytest.mark.parametrize(("tokens", "again"), [(100, False), (150, False), (400, True)])
def test_a_summary_that_clearly_outgrew_its_share_is_made_shorter_where_no_turn_is_left_to_fold(
    tokens: int, again: bool
) -> None:
    chosen = plan(Shape(40, 200, summary_tokens=tokens), evolve(P, size=700))
    assert isinstance(chosen, Plan) is again
    if isinstance(chosen, Plan):
        assert (chosen.kind, chosen.upto, chosen.limit, chosen.gain) == ("summary", 40, 100, 300)


def test_an_older_read_of_a_target_goes_and_the_newest_stays() -> None:
    shape = view(dump(5, 200, key="a"), dump(7, 200, key="b"), dump(9, 200, key="a"))
    assert [each.seq for each in clearable(shape, P, {"dump"})] == [5]


def test_a_failed_read_does_not_make_the_one_before_it_old() -> None:
    shape = view(dump(5, 200, key="a"), dump(9, 200, key="a", failed=True))
    assert clearable(shape, P, {"dump"}) == ()


def test_the_newest_results_stay_and_unclearable_ones_take_no_place_among_them() -> None:
    results = [action(seq, 100) for seq in (1, 2, 3)] + [action(4, 100, failed=True), action(5, 10)]
    shape = Shape(0, 600, tuple(results))
    assert [each.seq for each in clearable(shape, P, {"action"})] == [1]
    assert len(clearable(shape, evolve(P, keep_results=0), {"action"})) == 3


@pytest.mark.parametrize("open_after", [0, 10, 20, 39, 40])
def test_no_cut_passes_an_open_child_join(open_after: int) -> None:
    shape = view(dump(5, 30), dump(30, 300), ends=TURNS, barrier=open_after, join=True)
    chosen = plan(shape, P)
    if isinstance(chosen, Plan):
        assert max([chosen.upto or 0, *chosen.clear]) <= open_after
    else:
        assert (chosen.code, open_after < 20) == ("open_join", True)
        assert chosen.reason.startswith("blocked(open_join)")


def test_rows_before_an_open_join_may_still_be_cleared() -> None:
    chosen = plan(view(dump(5, 400), ends=TURNS, barrier=10, join=True), P)
    assert isinstance(chosen, Plan)
    assert chosen.kind == "microcompact"


def test_over_the_hard_limit_behind_an_open_join_only_rows_before_it_drop() -> None:
    over = evolve(P, size=900, over=True)
    chosen = plan(view(ends=TURNS, barrier=20, join=True, notice_tokens=20), over)
    assert isinstance(chosen, Plan)
    assert (chosen.kind, chosen.upto) == ("summary", 20)  # that one may be summarized
    chosen = plan(view(ends=TURNS, barrier=20, join=True, notice_tokens=20), evolve(over, curator="failed"))
    assert isinstance(chosen, Plan)
    assert (chosen.kind, chosen.upto) == ("drop", 20)
    blocked = plan(view(ends=TURNS, barrier=5, join=True), over)
    assert isinstance(blocked, Refusal)
    assert blocked.code == "open_join"


@pytest.mark.parametrize(
    ("size", "over", "curator", "expected"),
    [
        (700, False, "failed", "nothing"),
        (801, True, "failed", "drop"),
        (700, False, "suspended", "suspended"),
        (801, True, "suspended", "suspended"),  # once it is told, while the request still fits into the window
        (1_001, True, "suspended", "drop"),
    ],
)
def test_messages_drop_only_at_the_hard_limit_and_only_without_a_summary(
    size: int, over: bool, curator: Any, expected: str
) -> None:
    chosen = plan(view(ends=TURNS, notice_tokens=20), evolve(P, size=size, over=over, curator=curator))
    assert (chosen.kind if isinstance(chosen, Plan) else chosen.code) == expected


def test_who_was_told_of_the_suspension_gets_the_drop_and_no_further_notice() -> None:
    told = evolve(P, curator="suspended", told=True)
    dropped = plan(view(ends=TURNS, notice_tokens=20), evolve(told, size=801, over=True))
    assert isinstance(dropped, Plan)
    assert (dropped.kind, dropped.upto) == ("drop", 60)
    refused = plan(view(ends=TURNS), told)
    assert isinstance(refused, Refusal)
    assert refused.code == "nothing"


def test_a_drop_takes_no_more_than_the_target_asks() -> None:
    over = evolve(P, size=850, over=True, curator="failed", target=500)
    dropped = plan(view(ends=TURNS, notice_tokens=20), over)
    assert isinstance(dropped, Plan)
    assert dropped.upto == 40


def test_a_manual_compaction_never_drops() -> None:
    asked = evolve(P, size=900, over=True, asked=True, curator="failed")
    assert isinstance(plan(view(ends=TURNS), asked), Refusal)


def test_a_later_summary_covers_rows_that_had_left_without_one() -> None:
    shape = Shape(40, 100, summary_tokens=0, dropped_tokens=400, notice_tokens=80, ends=(End(60, 50, 50),))
    chosen = plan(shape, evolve(P, summary=64, target=700, min_gain=1, keep_recent=60))
    assert isinstance(chosen, Plan)
    assert (chosen.kind, chosen.upto) == ("summary", 60)


def test_too_little_to_summarize_is_not_summarized() -> None:
    small = Shape(0, 40, ends=(End(2, 20, 20),))
    assert isinstance(plan(small, evolve(P, size=140, asked=True, min_gain=1, target=50)), Refusal)


RESULTS = st.lists(
    st.builds(
        Result,
        st.integers(1, 80),
        st.sampled_from(["dump", "action"]),
        st.integers(1, 400),
        st.just("receipt"),
        st.integers(1, 30),
        st.sampled_from([None, "a", "b"]),
        st.booleans(),
        st.booleans(),
        st.booleans(),
    ),
    max_size=12,
    unique_by=lambda each: each.seq,
).map(lambda found: tuple(sorted(found, key=lambda each: each.seq)))


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    seqs = sorted(draw(st.sets(st.integers(1, 80), max_size=6)))
    sizes, total = [], 0
    for _ in seqs:
        total += draw(st.integers(0, 300))
        sizes.append(total)
    barrier = draw(st.none() | st.integers(0, 80))
    return Shape(
        after=0,
        tokens=total + draw(st.integers(0, 300)),
        results=draw(RESULTS),
        ends=tuple(End(seq, size, size) for seq, size in zip(seqs, sizes, strict=True)),
        summary_tokens=draw(st.sampled_from([0, 60])),
        dropped_tokens=draw(st.sampled_from([0, 90])),
        notice_tokens=40,
        barrier=barrier,
        join=barrier is not None and draw(st.booleans()),
    )


BUDGETS = st.builds(
    lambda size, curator, told, asked: evolve(
        P, size=size, over=size > P.hard, curator=curator, told=told, asked=asked, min_gain=1 if asked else 80
    ),
    st.integers(100, 1_400),
    st.sampled_from(["ready", "suspended", "failed"]),
    st.booleans(),
    st.booleans(),
)


@settings(max_examples=200, deadline=None)
@given(shapes(), BUDGETS)
def test_every_plan_keeps_every_rule(shape: Shape, limits: Budget) -> None:
    chosen = plan(shape, limits)
    assert chosen == plan(shape, limits), "equal values, equal plans"
    if isinstance(chosen, Refusal):
        return
    by_seq = {each.seq: each for each in shape.results}
    limit = 10**9 if shape.barrier is None else shape.barrier
    assert chosen.gain > 0
    assert chosen.kind == "drop" or chosen.gain >= limits.min_gain
    assert max([chosen.upto or 0, *chosen.clear]) <= limit
    assert chosen.upto in (None, 0, *(end.seq for end in shape.ends))
    for seq in chosen.clear:
        result = by_seq[seq]
        assert result.seen
        assert not result.failed
        assert not result.pinned
        assert result.receipt_tokens < result.tokens
        assert seq > (chosen.upto or 0)
        assert chosen.kind != "microcompact" or result.tool == "dump"
    if chosen.kind == "summary":
        assert limits.curator == "ready"
        assert 0 < chosen.limit <= limits.summary
    if chosen.kind == "drop":
        assert limits.over
        assert not limits.asked
        assert limits.curator != "ready" or shape.join
    if limits.size - chosen.gain > limits.target:
        assert "no rung reaches" in chosen.reason or "no summary" in chosen.reason


@pytest.mark.parametrize(
    ("window", "fixed", "reserve", "usable", "soft", "hard"),
    [
        (1_000, 100, 200, 700, 660, 800),
        (1_000, 100, None, 650, 620, 750),
        (1_000, 100, 900, 650, 620, 750),  # never more than a quarter
        (200_000, 0, None, 150_000, 120_000, 150_000),
        (1_000, 760, None, -10, 760, 750),
    ],
)
def test_headroom_is_what_output_reserve_and_fixed_parts_leave(
    window: int, fixed: int, reserve: int | None, usable: int, soft: int, hard: int
) -> None:
    room = headroom(window, fixed, WindowSettings(output_reserve_tokens=reserve))
    assert (room.usable, room.soft, room.hard) == (usable, soft, hard)


def test_the_defaults_are_shares_of_the_usable_part() -> None:
    limits = budget(Demand("automatic", 130_000), Window(200_000, "test"), 10_000, WindowSettings())
    assert (limits.target, limits.hard, limits.min_gain) == (10_000 + 70_000, 150_000, 2_800)
    assert (limits.keep_recent, limits.keep_results, limits.summary, limits.clear_at_least) == (20_000, 5, 8_192, 200)


def test_a_manual_compaction_aims_at_half_of_what_is_there_and_counts_any_gain() -> None:
    limits = budget(Demand("manual", 20_000), Window(200_000, "test"), 10_000, WindowSettings())
    assert (limits.target, limits.min_gain, limits.keep_recent) == (15_000, 1, 2_500)


def test_a_refusal_is_over_and_its_limit_is_the_room() -> None:
    limits = budget(Demand("overflow", 90_000, 60_000), Window(200_000, "test"), 0, WindowSettings())
    assert (limits.over, limits.hard, limits.target) == (True, 60_000, 30_000)
    unnamed = budget(Demand("overflow", 90_000), Window(None, "unknown"), 0, WindowSettings())
    assert (unnamed.over, unnamed.target) == (True, 45_000)
