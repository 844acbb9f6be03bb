"""Folds compose without holes; reducers shorten results only; a changed head waits for a compaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import pytest
from attrs import evolve, frozen
from refold import (
    ContextBlock,
    Cut,
    Fold,
    History,
    Image,
    Note,
    Observation,
    Projection,
    Row,
    RowRange,
    Rows,
    Section,
    SourceRef,
    Window,
)
from refold.prepare.head import Head, Pinned, pin
from refold.prepare.prior import compose
from refold.prepare.reduce import reduced, with_elisions
from refold.prepare.window import resolve_window


@frozen
class Turns:
    """A history that knows where its turns end and nothing else."""

    range: RowRange
    turn_ends: tuple[int, ...]

    def ends(self, at: Literal["turn", "step"]) -> Sequence[int]:
        return [end for end in self.turn_ends if end > self.range.after]

    def since(self, seq: int) -> History:
        return Turns(RowRange("s", seq, self.range.upto), self.turn_ends)

    def rows(self, within: RowRange | None = None) -> Iterator[Row]:
        raise AssertionError("nothing is decoded")

    def users(self, upto: int, count: int) -> Sequence[Row]:
        raise AssertionError("nothing is decoded")

    def size(self, within: RowRange | None = None) -> int:
        raise AssertionError("nothing is measured")

    def images(self, within: RowRange | None = None) -> Sequence[Image]:
        raise AssertionError("nothing is decoded")

    def cut(self, seq: int) -> Cut:
        raise AssertionError("nothing is cut")

    def holds(self, cut: Cut) -> bool:
        raise AssertionError("nothing is cut")

    def tail(self, budget: int, protect: SourceRef | None = None) -> int | None:
        raise AssertionError("nothing is cut")

    def prompt(self) -> SourceRef | None:
        raise AssertionError("nothing is answered")

    def open_join(self) -> int | None:
        raise AssertionError("no child is open")


HISTORY = Turns(RowRange("s", 0, 12), (4, 8, 12))


def fold(after: int, upto: int) -> Fold:
    return Fold("lcm", f"{after}-{upto}", "fold", "text", RowRange("s", after, upto))


COMPOSED = {
    "no provider: everything is left": ([], [], 0),
    "a provider that starts at the first row": ([[fold(0, 4)]], ["0-4"], 4),
    "the rest starts with the whole unit of the first uncovered row": ([[fold(0, 6)]], ["0-6"], 4),
    "a provider with a hole is left out whole": ([[fold(0, 4), fold(5, 8)]], [], 0),
    "a provider that starts late is left out": ([[fold(4, 8)]], [], 0),
    "the second provider continues where the first ended": ([[fold(0, 4)], [fold(4, 8)]], ["0-4", "4-8"], 8),
    "the second provider may overlap inside the unit": ([[fold(0, 6)], [fold(4, 8)]], ["0-6", "4-8"], 8),
    "the second provider may not start behind the rest": ([[fold(0, 4)], [fold(8, 12)]], ["0-4"], 4),
    "everything covered leaves nothing": ([[fold(0, 12)]], ["0-12"], 12),
    "a fold beyond the history is left out": ([[fold(0, 13)]], [], 0),
    "a provider that starts before the first row is left out": ([[fold(-5, 4)]], [], 0),
    "two folds of one name are left out": ([[evolve(fold(0, 4), id="x"), evolve(fold(4, 8), id="x")]], [], 0),
    "the second provider may not name a fold like the first": (
        [[evolve(fold(0, 4), id="x")], [evolve(fold(4, 8), id="x")]],
        ["x"],
        4,
    ),
    "a fold that goes no further is left out": ([[fold(0, 4), fold(0, 4)]], [], 0),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_folds_compose_in_order_without_holes(name: str) -> None:
    providers, ids, after = COMPOSED[name]
    prior = compose(HISTORY, [lambda history, folds=folds: folds for folds in providers])
    assert [fold.id for fold in prior.folds] == ids
    assert prior.rest.range == RowRange("s", after, 12)


def test_each_provider_sees_only_what_the_ones_before_left() -> None:
    seen: list[RowRange] = []

    def first(history: History) -> Sequence[Fold]:
        seen.append(history.range)
        return [fold(0, 4)]

    def second(history: History) -> Sequence[Fold]:
        seen.append(history.range)
        return []

    compose(HISTORY, [first, second])
    assert seen == [RowRange("s", 0, 12), RowRange("s", 4, 12)]


def row(seq: int, kind: Literal["user", "result"] = "result") -> Row:
    return Row(SourceRef("s", seq), kind, 1, 1, text=f"text {seq}", call_id="c" if kind == "result" else None)


def test_a_reducer_shortens_results_to_one_line_and_nothing_else() -> None:
    shown = [row(1, "user"), row(2), row(3)]
    wishes = {SourceRef("s", 1): "no", SourceRef("s", 2): "gone\nread again", SourceRef("s", 9): "not on view"}
    assert reduced(shown, [lambda rows: wishes]) == {2: "gone read again"}


def test_a_later_reducer_does_not_see_what_an_earlier_one_shortened() -> None:
    seen: list[list[int]] = []

    def second(rows: Sequence[Row]) -> dict[SourceRef, str]:
        seen.append([each.ref.seq for each in rows])
        return {}

    reduced([row(2), row(3)], [lambda rows: {SourceRef("s", 2): "x"}, second])
    assert seen == [[3]]


def test_what_the_strategy_elided_stays_as_it_said() -> None:
    tail = Section("tail", "tail", "tail", (Note("n"), Rows(RowRange("s", 0, 3), {2: "strategy"})))
    view = Projection((tail,), None, Observation("whole", "x"))
    inputs = with_elisions(view, {2: "reducer", 3: "reducer", 9: "elsewhere"}).sections[0].inputs
    assert inputs == (Note("n"), Rows(RowRange("s", 0, 3), {2: "strategy", 3: "reducer"}))


WINDOWS = {
    "the first known one wins": ([Window(None, "a"), Window(5, "b"), Window(9, "c")], None, Window(5, "b")),
    "none known": ([Window(None, "a")], None, Window(None, "unknown")),
    "a refusal lowers it": ([Window(9000, "b")], 8000, Window(8000, "refused at 8,000")),
    "a refusal never raises it": ([Window(9000, "b")], 10_000, Window(9000, "b")),
    "a refusal says it when nobody else does": ([], 8000, Window(8000, "refused at 8,000")),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_the_window_has_one_source(name: str) -> None:
    candidates, refused, expected = WINDOWS[name]
    assert resolve_window(candidates, refused) == expected


A, B = Head("be brief"), Head("be brief", (ContextBlock("rules", "House rules", "English only"),))


def test_the_head_that_was_sent_stays_and_a_change_is_told_in_a_note() -> None:
    first = pin(None, A, compaction=0, upto=3)
    second = pin(first, B, compaction=0, upto=7)
    assert second.sent == A
    (note,) = second.notes
    assert note.after == 7
    assert "House rules:\nEnglish only" in note.text
    assert "be brief" not in note.text
    assert pin(second, B, compaction=0, upto=9) == second, "a change is told once"


def test_a_compaction_brings_the_changed_head() -> None:
    told = pin(pin(None, A, 0, 3), B, 0, 7)
    assert pin(told, B, compaction=1, upto=9) == Pinned(B, B, 1)


def test_a_removed_block_is_told() -> None:
    assert "House rules: removed" in pin(pin(None, B, 0, 3), A, 0, 7).notes[0].text


def test_a_head_reads_as_the_system_prompt_then_one_part_a_block() -> None:
    assert B.text() == "be brief\n\n# House rules\n\nEnglish only"
    assert Head().text() == ""
