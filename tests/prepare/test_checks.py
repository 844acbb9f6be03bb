"""No view that breaks a rule is sent."""

from __future__ import annotations

import pytest
from refold import Model, Note, Observation, Projection, ProjectionFailed, Replay, RowRange, Rows, Section
from refold.prepare.checks import Facts, check

MODEL = Model(id="m", protocol="openai-chat", owner="acme")
KINDS = ["user", "assistant", "result", "assistant", "user", "assistant", "result", "assistant", "user"]


def span(after: int, upto: int, session: str = "s") -> RowRange:
    return RowRange(session, after, upto)


def view(*sections: Section) -> Projection:
    return Projection(sections, None, Observation("whole", "test"))


def tail(after: int, upto: int, **elide: str) -> Section:
    seqs = {int(key[1:]): text for key, text in elide.items()}
    return Section(f"tail-{after}", "tail", "tail", (Rows(span(after, upto), seqs),))


def fold(after: int, upto: int, id: str = "fold") -> Section:
    return Section(id, "fold", "fold", (Note("earlier"),), span(after, upto))


def facts(prompt: int | None = 9, tokens: int = 10, limit: int | None = 100, folded: int = 0) -> Facts:
    return Facts(span(0, 9), lambda seq: KINDS[seq - 1], prompt, tokens, limit, folded)


LEGAL = {
    "the whole history": view(tail(0, 9)),
    "a fold and a tail": view(fold(0, 4), tail(4, 9)),
    "a fold that overlaps the tail": view(fold(0, 6), tail(4, 9)),
    "a notice for rows that left": view(Section("n", "gone", "notice", (Note("gone"),), span(0, 4)), tail(4, 9)),
    "a cut between steps": view(fold(0, 3), tail(3, 9)),
}


@pytest.mark.parametrize("name", LEGAL)
def test_a_legal_view_passes(name: str) -> None:
    check("x", LEGAL[name], facts(), MODEL)


ILLEGAL = {
    "a row is missing": (view(fold(0, 3), tail(4, 9)), facts(), "row 4 is neither shown nor covered nor announced"),
    "the newest row is missing": (view(tail(0, 8)), facts(), "row 9 is neither"),
    "rows are shown twice": (view(tail(0, 5), tail(4, 9)), facts(), "rows 5-5 are shown twice"),
    "rows are out of order": (view(tail(4, 9), tail(0, 4)), facts(), "out of order"),
    "a cut separates a call from its result": (view(fold(0, 2), tail(2, 9)), facts(), "the cut after row 2 separates"),
    "a foreign session's rows": (
        view(Section("t", "t", "tail", (Rows(span(0, 9, "other")),))),
        facts(),
        "not in this history",
    ),
    "rows beyond the history": (view(tail(0, 10)), facts(), "not in this history"),
    "the prompt is folded": (view(fold(0, 9)), facts(), "row 9, the prompt being answered, is not shown"),
    "a short prompt is elided": (view(tail(0, 9, s9="…")), facts(), "no longer than a tenth of the window"),
    "an elision of a row not shown": (view(fold(0, 4), tail(4, 9, s2="…")), facts(), "row 2 is elided but not shown"),
    "an opaque item of another model": (
        view(Section("r", "r", "replay", (Replay("other", "{}"),), span(0, 4)), tail(4, 9)),
        facts(),
        "would go to acme",
    ),
    "a blank note for rows": (
        view(Section("n", "n", "summary", (Note(" "),), span(0, 4)), tail(4, 9)),
        facts(),
        "section n covers rows, but sends nothing in their place",
    ),
    "nothing for rows": (
        view(Section("n", "n", "summary", (), span(0, 4)), tail(4, 9)),
        facts(),
        "section n covers rows, but sends nothing in their place",
    ),
    "two sections with one id": (view(fold(0, 3), fold(3, 4), tail(4, 9)), facts(), "two sections have one id (fold)"),
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_an_illegal_view_is_refused_in_one_line_that_says_what_to_do(name: str) -> None:
    projection, known, words = ILLEGAL[name]
    with pytest.raises(ProjectionFailed) as failure:
        check("keep-last", projection, known, MODEL)
    text = str(failure.value)
    assert words in text
    assert "\n" not in text
    assert text.startswith("strategy keep-last: ")
    assert "refold extensions enable" in text


def test_a_prompt_longer_than_a_tenth_of_the_window_may_be_elided() -> None:
    check("x", view(tail(0, 9, s9="start … end")), facts(tokens=101), MODEL)


def test_a_prompt_that_a_manual_compaction_folded_may_be_absent() -> None:
    check("x", view(fold(0, 9)), facts(folded=9), MODEL)


def test_no_prompt_is_wanted_when_no_turn_is_being_answered() -> None:
    check("x", view(fold(0, 9)), facts(prompt=None), MODEL)
