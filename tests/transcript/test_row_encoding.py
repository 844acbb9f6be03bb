from __future__ import annotations

import json
import sys

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refold import Call, Image, Replay, Row, SourceRef
from refold.transcript import search
from refold.transcript.encoding import DEPTH, FOLDING_FULL, STEP, decode, encode, folding, legible, legible_row

REF = SourceRef("s", 5)
anything = st.text(st.characters(exclude_categories=()), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
rows = st.builds(
    Row,
    st.just(REF),
    st.sampled_from(["user", "assistant", "result", "replay", "event"]),
    st.integers(0, 99),
    st.integers(0, 99),
    st.booleans(),
    st.sampled_from(["", "spawned"]),
    st.text(max_size=30),
    st.lists(
        st.builds(Call, st.text(max_size=5), st.text(max_size=5), st.dictionaries(st.text(max_size=5), values)),
        max_size=3,
    ).map(tuple),
    st.none() | st.text(max_size=5),
    st.booleans(),
    st.lists(
        st.builds(Image, st.text(), st.text(), st.integers(0, 9), st.integers(0, 9), st.none() | st.text()), max_size=2
    ).map(tuple),
    st.none() | st.builds(Replay, st.text(max_size=5), st.text(max_size=9), st.text(max_size=5)),
)


def placed(row: Row) -> Row:
    return legible_row(row, row.ref, row.turn, row.step, row.opens, row.images)


def read_back(row: Row) -> Row:
    stored = encode(placed(row))
    return decode(row.ref, row.kind, row.opens, row.turn, stored.text, stored.rest)


def call_with(arguments: object) -> Row:
    return Row(REF, "assistant", 1, 2, calls=(Call("c", "tool", {"a": arguments}),))


@given(rows)
def test_every_row_comes_back_as_it_went_in(row):
    assert read_back(row) == row
    json.loads(encode(row).rest)


@given(rows)
def test_sql_reads_the_step_of_a_stored_row(row):
    statement = f"SELECT {STEP} FROM (SELECT ? AS rest) b"
    assert apsw.Connection(":memory:").execute(statement, (encode(row).rest,)).fetchone() == (row.step,)


@given(anything, anything, st.dictionaries(anything, anything, max_size=3))
def test_what_cannot_be_written_is_replaced_once_and_for_all(text, id, arguments):
    row = Row(REF, "assistant", 1, 1, text=text, calls=(Call(id, id, arguments),), replay=Replay(id, text))
    back = read_back(row)
    encode(back).rest.encode()
    assert read_back(back) == back == placed(row)


def test_a_lone_surrogate_is_replaced_by_its_escape():
    assert legible("a\ud83d\u00e9") == "a\\ud83d\u00e9"


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**63) - 1, 2**70, 10**400, -(10**18)], ids=hex)
def test_integers_of_any_size_stay_exact(number):
    (call,) = read_back(call_with([number, {"b": number}])).calls
    assert call.arguments["a"] == [number, {"b": number}]
    assert type(call.arguments["a"][0]) is int


def test_a_big_integer_and_awkward_text_share_a_row():
    row = Row(REF, "assistant", 1, 1, text="\u2028 \0", calls=(Call("c", "t", {"n": 2**80, "s": "\u00e9\n"}),))
    assert read_back(row) == row


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (2**20_000, hex(2**20_000)),
        (b"x", "b'x'"),
        ((1, 2), [1, 2]),
        ({3: 4}, {"3": 4}),
    ],
    ids=["nan", "infinity", "too many digits", "bytes", "tuple", "integer key"],
)
def test_what_json_has_no_word_for_is_replaced_visibly(value, stored):
    assert read_back(call_with(value)).calls[0].arguments["a"] == stored


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ({1: "a", "1": "b"}, {"1 (2)": "a", "1": "b"}),
        ({"1": "b", 1: "a"}, {"1": "b", "1 (2)": "a"}),
        ({"\ud800": 1, "\\ud800": 2}, {"\\ud800 (2)": 1, "\\ud800": 2}),
        ({None: 1, "None": 2, "None (2)": 3}, {"None (3)": 1, "None": 2, "None (2)": 3}),
        ({1.5: "b", "1.5": "c", True: 1, "True": 2}, {"1.5 (2)": "b", "1.5": "c", "True (2)": 1, "True": 2}),
        ({b"x": 1, "b'x'": 2, ("y",): 3}, {"b'x' (2)": 1, "b'x'": 2, "('y',)": 3}),
    ],
)
def test_members_whose_names_become_equal_are_all_kept(value, stored):
    row = call_with(value)
    found = read_back(row).calls[0].arguments["a"]
    assert found == stored
    assert list(found) == list(stored)
    assert read_back(read_back(row)) == read_back(row)


def test_nesting_beyond_every_limit_becomes_a_remark():
    deep: object = "end"
    for _ in range(100_000):
        deep = [deep]
    found, depth = read_back(call_with(deep)).calls[0].arguments["a"], 1
    while isinstance(found, list):
        (found,), depth = found, depth + 1
    assert (found, depth) == (f"[nested deeper than {DEPTH} levels]", DEPTH)
    while isinstance(deep, list):  # taken apart by hand: its own destructor recurses
        deep = deep.pop()


def test_calls_are_stored_in_words_that_a_person_would_search_for():
    row = Row(
        REF, "assistant", 1, 1, calls=(Call("id-1", "bash", {"command": 'grep "a\\b"', "n": 3, "l": ["x", True]}),)
    )
    assert encode(row).calls == 'bash\ncommand: grep "a\\b"\nn: 3\nl: x\nl: true'


def test_the_characters_that_fold_to_ascii_are_all_known():
    for code in range(0x80, sys.maxunicode + 1):
        char = chr(code)
        if any(part.isascii() for part in char.casefold()):
            assert folding(char) == FOLDING_FULL, hex(code)


def test_a_character_that_like_may_look_for_comes_from_no_other():
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        folded = char.casefold()
        if folded != char and not (char.isascii() and folded == char.lower()):
            assert not any(search._only_itself(part) for part in folded), hex(code)
