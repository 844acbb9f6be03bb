"""Servers cut characters in two; nobody who listens gets half of one."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st
from refold.providers.decoding import characters, joined
from refold.providers.exchange import Answer, CallDelta, Delta, ReasoningDelta, TextDelta

words = st.text(st.sampled_from("aé \U0001f600\U0001f44d漢"), max_size=12)


def units(text: str) -> list[str]:
    """UTF-16 units, as JSON escapes carry them."""
    data = text.encode("utf-16-le")
    return [data[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(data), 2)]


def stream(piece: Delta) -> object:
    return piece.index if isinstance(piece, CallDelta) else type(piece)


def text(piece: Delta) -> str:
    return piece.arguments if isinstance(piece, CallDelta) else piece.text


@given(words, words, words, words, st.randoms(use_true_random=False))
def test_pieces_of_any_kind_come_in_whole_characters_and_in_order(said, thought, first, second, dice):
    waiting: list[list[Delta]] = [
        [TextDelta(unit) for unit in units(said)],
        [ReasoningDelta(unit) for unit in units(thought)],
        [CallDelta(0, "a", "read"), *(CallDelta(0, arguments=unit) for unit in units(first))],
        [CallDelta(1, "b", "grep", unit) for unit in units(second)[:1]]
        + [CallDelta(1, arguments=unit) for unit in units(second)[1:]],
    ]
    pieces: list[Delta | Answer] = []
    while any(waiting):
        pieces.append(dice.choice([each for each in waiting if each]).pop(0))
    heard: dict[object, str] = defaultdict(str)
    names = []
    for piece in characters([*pieces, Answer("")]):
        if isinstance(piece, Answer):
            continue
        text(piece).encode()  # raises for half a character
        heard[stream(piece)] += text(piece)
        names += [(piece.id, piece.name)] if isinstance(piece, CallDelta) and piece.id else []
    assert (heard[TextDelta], heard[ReasoningDelta], heard[0], heard[1]) == (said, thought, first, second)
    assert sorted(names) == [("a", "read"), ("b", "grep")][: 1 + bool(second)]


def test_half_a_character_that_stays_alone_is_replaced_before_the_answer():
    answer = Answer("")
    pieces = list(characters([CallDelta(0, "a", "read", "x\ud83d"), answer]))
    assert pieces == [CallDelta(0, "a", "read", "x"), CallDelta(0, arguments="\ufffd"), answer]


def test_a_call_without_arguments_is_heard():
    call = CallDelta(0, "a", "read")
    assert list(characters([call])) == [call]


def test_pieces_are_joined_across_halves():
    assert joined(["a\ud83d", "\ude00"]) == "a\U0001f600"
