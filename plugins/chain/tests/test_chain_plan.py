"""What is folded and what is merged, as tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refold import Demand
from refold_chain import plan
from refold_chain.layout import Layout
from refold_chain.plan import Part, Room

EARLIER = Layout(after=0, upto=40, turns=(10, 20, 30, 40), steps=(), prompt=31, prompt_upto=31, held=0, foldable=40)
LONG = Layout(
    after=0, upto=44, turns=(10, 44), steps=(20, 26, 32, 38, 41, 44), prompt=11, prompt_upto=11, held=0, foldable=44
)
ROOMY = Room(held=100, summary=50, prompt=20, ceiling=800, aim=400)


def tail_of(layout: Layout, tokens: int) -> object:
    return lambda seq: (layout.upto - seq) * tokens


def choose(layout: Layout, kind: str, keep: int = 2, tokens: int = 1, room: Room = ROOMY) -> tuple[Part, ...]:
    demand = Demand(kind, 900)
    return plan.choose(layout, demand, keep, room, tail_of(layout, tokens))


@pytest.mark.parametrize(
    ("keep", "tokens", "cut"),
    [
        (2, 1, 20),  # the window holds both
        (2, 40, 30),  # 2 turns are 800 tokens, one is 400
        (3, 25, 20),  # three do not fit, two do
        (0, 1, 30),  # the prompt being answered never folds by itself
        (9, 1, None),  # nothing is older than nine turns, so fewer are kept
    ],
)
def test_automatic_compaction_keeps_the_newest_turns_that_the_window_holds(
    keep: int, tokens: int, cut: int | None
) -> None:
    assert choose(EARLIER, "automatic", keep, tokens) == (Part(0, 10 if cut is None else cut),)


def test_a_turn_that_is_too_large_alone_folds_with_its_earlier_steps() -> None:
    # tails behind the ends of steps: 240, 180, 120, 60, 30, 0 at ten tokens a row; the turn alone 340 + 150 held
    parts = choose(LONG, "automatic", tokens=10, room=Room(held=100, summary=50, prompt=20, ceiling=450, aim=225))
    assert parts == (Part(0, 10), Part(10, 41, in_turn=True))


@pytest.mark.parametrize(
    ("budget", "floor", "cut"),
    [
        (1_000, 1, 26),  # at most four stay
        (180, 1, 26),
        (179, 1, 32),
        (60, 1, 38),
        (30, 1, 41),
        (29, 1, 41),  # one stays whatever the budget
        (-500, 1, 41),
        (29, 0, 44),  # after a refusal none needs to
        (-500, 0, 44),
    ],
)
def test_as_many_steps_stay_as_fit_up_to_four(budget: int, floor: int, cut: int) -> None:
    assert plan.step_cut(LONG, floor, budget, tail_of(LONG, 10)) == cut


@pytest.mark.parametrize(("steps", "held", "floor"), [((), 0, 0), ((20,), 0, 1), ((20,), 1, 0), ((20, 26), 2, 0)])
def test_no_step_folds_when_all_of_them_must_stay(steps: tuple[int, ...], held: int, floor: int) -> None:
    layout = Layout(0, 30, (30,), steps, 1, 1, held, 30)
    assert plan.step_cut(layout, floor, 0, tail_of(layout, 1)) is None


def test_after_a_refusal_the_turn_alone_is_kept_only_below_the_aim() -> None:
    assert choose(EARLIER, "overflow", tokens=13) == (Part(0, 30),)  # two turns are 260 + 150, one is 130 + 150
    assert choose(LONG, "overflow", tokens=10) == (Part(0, 10), Part(10, 26, in_turn=True))


@pytest.mark.parametrize(
    ("keep", "tokens", "cut"),
    [(2, 1, 20), (3, 1, 10), (4, 1, 10), (0, 1, 40), (1, 30, 30), (1, 90, 40)],
)
def test_who_asks_gets_a_fold_with_fewer_turns_down_to_none(keep: int, tokens: int, cut: int) -> None:
    assert choose(EARLIER, "manual", keep, tokens) == (Part(0, cut),)
    assert choose(EARLIER, "model", keep, tokens) == (Part(0, cut),)


def test_a_single_turn_folds_when_somebody_asks_and_not_by_itself() -> None:
    single = Layout(0, 8, (8,), (5,), 1, 1, 0, 8)
    assert choose(single, "manual") == (Part(0, 8),)
    assert choose(single, "automatic") == ()


def test_rows_that_may_not_fold_stay_whoever_asks() -> None:
    waiting = Layout(0, 8, (8,), (5, 8), 1, 1, 1, 5)
    assert choose(waiting, "manual") == (Part(0, 5),)
    assert choose(Layout(5, 8, (8,), (8,), None, 0, 1, 5), "manual") == ()


@pytest.mark.parametrize(
    ("size", "estimate", "percent"),
    [(1_000, 1_000, 100), (1_400, 1_000, 140), (700, 1_000, 70), (9_000, 1_000, 250), (1, 1_000, 40), (0, 5, 100)],
)
def test_the_providers_count_scales_the_estimate(size: int, estimate: int, percent: int) -> None:
    assert plan.scale_percent(Demand("automatic", size), estimate) == percent


@pytest.mark.parametrize(
    ("limit", "scale", "ceiling", "aim"),
    [
        (None, 100, 80_000, 40_000),
        (None, 200, 40_000, 20_000),
        (50_000, 100, 40_000, 20_000),
        (900_000, 100, 80_000, 40_000),
    ],
)
def test_the_aim_is_half_of_the_threshold_under_the_limit_that_holds(
    limit: int | None, scale: int, ceiling: int, aim: int
) -> None:
    room = plan.room(Demand("overflow", 1, limit), 100_000, 80, scale, held=0, prompt=0)
    assert (room.ceiling, room.aim) == (ceiling, aim)


def test_a_prompt_takes_at_most_a_tenth_of_the_window() -> None:
    assert plan.room(Demand("automatic", 1), 100_000, 80, 100, held=0, prompt=70_000).prompt == 10_000
    assert plan.room(Demand("automatic", 1), 100_000, 80, 100, held=0, prompt=70).prompt == 70


@pytest.mark.parametrize(
    ("sizes", "groups", "runs"),
    [
        ([100, 100, 100], [(0, 2), (2, 2)], ()),  # exactly a third
        ([100, 100, 101], [(0, 2), (2, 2)], ((0, 2),)),
        ([60, 60, 60, 60, 60, 60], [(0, 5), (5, 5)], ((0, 5),)),  # 60 + 60 is 120
        ([10] * 40, [(0, 39), (39, 39)], ((0, 26),)),  # down to 150, and no further
        ([150, 100, 100], [(0, 1), (1, 2)], ()),  # nothing of two blocks may be merged
        ([100, 10, 10, 100, 100], [(0, 2), (2, 4)], ((0, 2), (2, 4))),  # the turn in progress last
    ],
)
def test_blocks_that_outgrow_a_third_of_the_window_are_merged_down_to_a_sixth(
    sizes: list[int], groups: list[tuple[int, int]], runs: tuple[tuple[int, int], ...]
) -> None:
    assert plan.merges(sizes, groups, 900) == runs


def test_a_merged_block_is_no_longer_than_what_a_merge_comes_down_to() -> None:
    assert plan.merged_limit([100, 120], 900) == 120
    assert plan.merged_limit([2_000, 2_000], 6_000) == 1_000
    assert plan.merges([2_000, 100, 100], [(0, 2), (2, 2)], 6_000) == ((0, 2),)


@given(
    ends=st.lists(st.integers(1, 9), min_size=1, max_size=8),
    keep=st.integers(0, 5),
    kind=st.sampled_from(["manual", "model", "automatic", "overflow"]),
    held=st.integers(0, 5),
    tokens=st.integers(1, 500),
)
def test_every_plan_is_connected_and_leaves_what_must_stay(
    ends: list[int], keep: int, kind: str, held: int, tokens: int
) -> None:
    steps = [sum(ends[: n + 1]) + 21 for n in range(len(ends))]
    held = min(held, len(steps))
    foldable = steps[-1] if not held else [21, *steps][len(steps) - held]
    layout = Layout(0, steps[-1], (10, 20, steps[-1]), tuple(steps), 21, 21, held, foldable)
    parts = choose(layout, kind, keep, tokens)
    after = 0
    for part in parts:
        assert part.after == after < part.upto <= foldable
        after = part.upto
    if kind in ("automatic", "overflow"):
        assert all(part.in_turn for part in parts if part.upto > 20)
        assert all(part.upto in steps for part in parts if part.in_turn)
