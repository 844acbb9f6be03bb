"""An answer is what the contract's classes say, all the way down, or its owner is told what it is instead."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from refold import (
    Applied,
    Blocked,
    ContextBlock,
    Fact,
    Image,
    Note,
    Nothing,
    Observation,
    Projection,
    Row,
    RowRange,
    Rows,
    Section,
    SourceRef,
)
from refold.registry.answers import EXACT, checked, checked_all, checked_map

SEEN = Observation("whole", "test")


def shown(*inputs: object, **fields: object) -> Projection:
    return Projection((Section("s", "s", "tail", inputs, **fields),), 1, SEEN)


WRONG = {
    "nothing": (None, "the answer is NoneType, not Projection"),
    "a text": ("x", "the answer is str, not Projection"),
    "no sections": (Projection(None, 1, SEEN), "Projection.sections is NoneType, not a list"),
    "a text for a section": (Projection(("a",), 1, SEEN), "is str, not Section"),
    "a trigger that is text": (Projection((), "1", SEEN), "Projection.trigger is str, not int or None"),
    "a trigger that is a truth": (Projection((), True, SEEN), "Projection.trigger is bool, not int"),
    "a trigger beyond JSON": (Projection((), EXACT + 1, SEEN), "Projection.trigger is beyond 2**53"),
    "no observation": (Projection((), 1, None), "Projection.observation is NoneType"),
    "an unknown status": (Projection((), 1, Observation("odd", "x")), "is 'odd', not one of whole"),
    "a note without text": (shown(Note(None)), "Note.text is NoneType, not str"),
    "a text for a picture": (shown(Note("x", ("a",))), "an item of Note.images is str, not Image"),
    "a range of texts": (shown(Rows(RowRange("s", 0, "5"))), "RowRange.upto is str, not int"),
    "no elisions": (shown(Rows(RowRange("s", 0, 5), None)), "Rows.elide is NoneType, not a mapping"),
    "an elision without text": (shown(Rows(RowRange("s", 0, 5), {1: None})), "a value of Rows.elide is NoneType"),
    "a text for a range": (shown(Note("x"), covers="abc"), "Section.covers is str, not RowRange or None"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_in_one_line(name: str) -> None:
    answer, words = WRONG[name]
    with pytest.raises(TypeError) as failure:
        checked(answer, Projection)
    assert words in str(failure.value)
    assert "\n" not in str(failure.value)


def test_a_right_answer_is_given_back_as_it_is() -> None:
    right = shown(Note("x", (Image("k", "image/png", 1, 1),)), Rows(RowRange("s", 0, 5), {1: "…"}))
    assert checked(right, Projection) is right
    assert checked_all(None, Fact) == ()
    assert checked_map(None, SourceRef, str) == {}


def test_a_lone_surrogate_becomes_its_escape_wherever_it_stands() -> None:
    answer = checked(shown(Note("a\ud800"), Rows(RowRange("s", 0, 5), {1: "b\udfff"})), Projection)
    note, rows = answer.sections[0].inputs
    assert note == Note("a\\ud800")
    assert rows == Rows(RowRange("s", 0, 5), {1: "b\\udfff"})
    assert checked_all([ContextBlock("a", "b", "\ud83d")], ContextBlock) == (ContextBlock("a", "b", "\\ud83d"),)
    assert checked_map({SourceRef("s", 1): "\ud800"}, SourceRef, str) == {SourceRef("s", 1): "\\ud800"}


def test_items_may_come_from_a_list_or_a_generator_and_each_is_checked() -> None:
    def answer() -> Iterator[Fact]:
        yield Fact("a", "b")
        raise ValueError("no more")

    assert checked_all([Fact("a", "b")], Fact) == (Fact("a", "b"),)
    with pytest.raises(ValueError, match="no more"):
        checked_all(answer(), Fact)
    for wrong in (["x"], 7, "ab", {"a": 1}, [Fact(1, "b")]):
        with pytest.raises(TypeError):
            checked_all(wrong, Fact)


def test_one_of_several_classes_is_enough() -> None:
    assert checked(Nothing("x"), Applied, Nothing, Blocked) == Nothing("x")
    with pytest.raises(TypeError, match=r"Applied\.covers is NoneType, not RowRange"):
        checked(Applied(None), Applied, Nothing, Blocked)
    with pytest.raises(TypeError, match="is str, not Applied or Nothing or Blocked"):
        checked("x", Applied, Nothing, Blocked)


def test_arguments_of_calls_are_left_to_the_transcript() -> None:
    from refold import Call

    row = Row(SourceRef("", 0), "assistant", 0, 0, calls=(Call("a", "read", {"n": 2**70, "path": ["x"]}),))
    assert checked(row, Row) is row
