"""A key that a provider says back is taken out of every piece of its answer, however it is cut."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refold.providers.exchange import Answer, CallDelta, Delta, ReasoningDelta, TextDelta
from refold.providers.redaction import MARK, answer_without, pieces_without, without
from refold.values.rows import Call, Replay

KEY = "sk-sk-secret"
texts = st.lists(st.sampled_from([KEY, "sk-", "s", KEY[:-1], "é", " said ", '"']), max_size=8).map("".join)


def cut(text: str, at: list[int]) -> list[str]:
    edges = sorted({0, len(text), *(place for place in at if place < len(text))})
    return [text[start:end] for start, end in pairwise(edges)]


@given(texts, texts, texts, st.lists(st.integers(1, 80), max_size=12), st.randoms(use_true_random=False))
def test_what_is_heard_is_the_text_without_the_key_and_nothing_else_is_lost(said, thought, argument, at, dice):
    waiting: list[list[Delta]] = [
        [TextDelta(piece) for piece in cut(said, at)],
        [ReasoningDelta(piece) for piece in cut(thought, at)],
        [CallDelta(0, KEY, "read"), *(CallDelta(0, arguments=piece) for piece in cut(argument, at))],
    ]
    pieces: list[Delta | Answer] = []
    while any(waiting):
        pieces.append(dice.choice([each for each in waiting if each]).pop(0))
    heard: dict[object, str] = defaultdict(str)
    for piece in pieces_without(KEY, [*pieces, Answer(said)]):
        if isinstance(piece, CallDelta):
            heard[0] += piece.arguments
            assert piece.id in ("", MARK)
        elif isinstance(piece, Answer):
            assert piece.text == heard[TextDelta]
        else:
            heard[type(piece)] += piece.text
    assert (heard[TextDelta], heard[ReasoningDelta], heard[0]) == tuple(
        without(KEY, each) for each in (said, thought, argument)
    )


@pytest.mark.parametrize(("begun", "kept"), [("and s", "and s"), (f"and {KEY[:-1]}", f"and {MARK}")])
def test_an_answer_that_breaks_off_keeps_its_end_but_not_most_of_a_key(begun: str, kept: str) -> None:
    def broken():
        yield TextDelta(begun)
        raise ConnectionError

    heard: list[str] = []
    with pytest.raises(ConnectionError):
        heard.extend(piece.text for piece in pieces_without(KEY, broken()))
    assert "".join(heard) == kept


def test_every_field_of_an_answer_loses_the_key_and_an_opaque_item_that_holds_it_is_left_out() -> None:
    call = Call(KEY, f"tool-{KEY}", {KEY: [f"a {KEY}", {"deep": KEY}], "n": 3})
    replays = (Replay("o", f'{{"text":"{KEY}"}}'), Replay("o", '{"text":"fine"}'))
    clean = answer_without(KEY, Answer(f"it is {KEY}", (call,), replays, model=KEY, raw_stop=KEY))
    assert KEY not in repr(clean)
    assert (clean.text, clean.calls[0].arguments) == (
        f"it is {MARK}",
        {MARK: [f"a {MARK}", {"deep": MARK}], "n": 3},
    )
    assert clean.replays == replays[1:]


def test_a_short_word_is_no_key() -> None:
    pieces = [TextDelta("an"), Answer("an")]
    assert list(pieces_without("a", pieces)) == pieces
