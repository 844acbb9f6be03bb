"""How many pages, and which."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refold import Demand, Model, Window
from refold_snapcompact.plan import (
    Budget,
    budget,
    crowded,
    image_limit,
    reads_images,
    reserve,
    selections,
    tail_budget,
)
from refold_snapcompact.settings import SnapcompactSettings

CLAUDE = Model("claude-opus-5", "anthropic", "")


@pytest.mark.parametrize(
    ("inputs", "most", "reads"),
    [
        (None, None, True),
        (frozenset(), None, True),
        (frozenset({"text", "image"}), None, True),
        (frozenset({"text"}), None, False),
        (frozenset({"image"}), 0, False),
    ],
)
def test_unknown_inputs_count_as_vision(inputs: frozenset[str] | None, most: int | None, reads: bool) -> None:
    assert reads_images(Model("m", "openai-chat", "", inputs=inputs, max_images=most)) is reads


@pytest.mark.parametrize(
    ("model", "window", "settings", "page", "pages", "source"),
    [
        (CLAUDE, 200_000, {}, 4_761, 8, "archivePercent"),
        (CLAUDE, 200_000, {}, 1_568, 25, "archivePercent"),
        (CLAUDE, 1_000_000, {}, 1_568, 60, "maxFrames"),
        (CLAUDE, None, {}, 1_568, 60, "maxFrames"),
        (CLAUDE, 1_000_000, {"max_frames": 80}, 1_568, 80, "maxFrames"),
        (CLAUDE, 1_000_000, {"max_frames": 5}, 1_568, 5, "maxFrames"),
        (CLAUDE, 1_000, {}, 1_568, 1, "archivePercent"),
        (Model("local/x", "openai-chat", ""), None, {}, 1_568, 4, "the provider's pictures"),
        (Model("x", "anthropic", "", max_images=20), None, {}, 1_568, 18, "the provider's pictures"),
        (Model("x", "anthropic", "", max_images=1), None, {}, 1_568, 1, "the provider's pictures"),
        (Model("openrouter/claude-opus-5", "openai-chat", ""), None, {"max_frames": 80}, 1, 80, "maxFrames"),
    ],
)
def test_the_smallest_budget_counts(
    model: Model, window: int | None, settings: dict[str, int], page: int, pages: int, source: str
) -> None:
    found = budget(model, Window(window, "test"), SnapcompactSettings(**settings), page)
    assert (found.pages, found.source) == (pages, source)
    assert found.pages + found.reserved <= max(found.images, 1)


def test_more_than_80_pages_cannot_be_set() -> None:
    with pytest.raises(ValueError, match="80"):
        SnapcompactSettings(max_frames=81)
    with pytest.raises(ValueError, match="below triggerPercent"):
        SnapcompactSettings(tail_percent=90)


@given(st.integers(0, 400), st.integers(1, 80))
def test_the_first_and_the_newest_pages_stay_and_whole_pages_between_leave(count: int, most: int) -> None:
    pages = next(selections(count, most)).pages
    assert len(pages) <= most
    assert len(pages) >= min(count, most - most // 4)
    if count:
        assert pages[-1] == count - 1
    if count and most > 1:
        assert pages[0] == 0
    assert all(b == a + 1 for a, b in pairwise(pages[1:]))


def test_pages_leave_in_batches_so_that_most_compactions_move_nothing() -> None:
    starts = [next(selections(count, 20)).after for count in range(20, 60)]
    assert sum(a != b for a, b in pairwise(starts)) <= 9


@given(st.integers(1, 200), st.integers(1, 80), st.integers(0, 20), st.integers(1, 3_000))
def test_a_page_that_left_for_its_bytes_never_comes_back(count: int, most: int, more: int, room: int) -> None:
    """Pages of a growing archive have any sizes; the first choice that fits is taken."""

    def chosen(count: int) -> tuple[int, ...]:
        fits = (each.pages for each in selections(count, most) if sum(7 + at * 13 % 90 for at in each.pages) <= room)
        return next(fits, ())

    before, after = chosen(count), chosen(count + more)
    gone = set(range(1, count)) - set(before)
    assert not gone & set(after) or len(after) < 2 or not before


@given(st.integers(0, 80), st.integers(0, 120), st.integers(1, 200))
def test_pages_and_the_tails_pictures_stay_within_the_limit(shown: int, pictures: int, images: int) -> None:
    limits = Budget(80, "test", images, reserve(images))
    shown = min(shown, max(1, images - limits.reserved))
    left = shown - crowded(shown, pictures, limits)
    assert left >= 0
    assert left + pictures <= max(images, pictures)


def test_a_new_picture_within_the_reserved_places_moves_no_page() -> None:
    limits = Budget(90, "test", 100, reserve(100))
    assert [crowded(80, pictures, limits) for pictures in range(11)] == [0] * 11
    steps = [crowded(80, pictures, limits) for pictures in range(60)]
    assert sum(a != b for a, b in pairwise(steps)) <= 5


def test_a_declared_number_of_pictures_goes_before_the_providers() -> None:
    assert image_limit(Model("claude", "anthropic", "", max_images=7)) == 7
    assert image_limit(CLAUDE) == 100
    assert image_limit(Model("gemini-3", "openai-chat", "")) == 200
    assert image_limit(Model("x", "openai-chat", "")) == 5


@given(
    st.sampled_from(["automatic", "manual", "overflow", "model"]),
    st.none() | st.integers(1_000, 10**6),
    st.integers(0, 10**6),
    st.integers(0, 10**5),
    st.none() | st.integers(1_000, 10**6),
)
def test_the_tail_leaves_room_for_pages_below_the_trigger(
    kind: str, window: int | None, history: int, fixed: int, limit: int | None
) -> None:
    settings = SnapcompactSettings()
    demand = Demand(kind, fixed + history, limit)
    tail = tail_budget(demand, Window(window, "test"), settings, history, fixed)
    bound = fixed + history if window is None else window
    assert 0 <= tail <= bound * settings.tail_percent // 100
    if tail:
        assert tail + fixed + bound * settings.archive_percent // 100 <= bound * settings.trigger_percent // 100
