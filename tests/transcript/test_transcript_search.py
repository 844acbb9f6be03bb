from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refold import Call, NotFound, Refused, Row, RowRange, SourceRef
from refold.transcript import sessions
from refold.transcript.append import append
from refold.transcript.database import Database
from refold.transcript.deletion import delete
from refold.transcript.encoding import encode
from refold.transcript.search import SNIPPET, search, snippet_around

# Characters that fold to several, fold from several, mean something to LIKE, or end a C string.
awkward = st.sampled_from(
    [*"aAbBkKsSiIfFzZ0%_\\'\" \n\0", *"ßẞſKİıﬁﬀŉǰΣςσïÏ", "e\u0301", "é", "數", "据", "🙂", "ʼ", "й", "Й"]
)
texts = st.lists(awkward, max_size=12).map("".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(texts, texts), max_size=12), st.data())
def test_a_search_finds_what_a_plain_walk_finds(shape, data):
    rows = [
        Row(SourceRef("", 0), "assistant", 0, 0, text=text, calls=(Call("id", "t", {"x": call}),) if call else ())
        for text, call in shape
    ]
    places = [text for pair in shape for text in pair if text]
    cuts = st.sampled_from(places or ["a"]).flatmap(
        lambda text: st.tuples(st.integers(0, len(text)), st.integers(1, 5)).map(lambda at: text[at[0] : sum(at)])
    )
    needles = data.draw(st.lists((cuts | texts.map(str.swapcase) | texts).filter(bool), min_size=1, max_size=12))
    with tempfile.TemporaryDirectory() as folder, Database(Path(folder) / "refold.db") as database:
        with database.write() as writer:
            sessions.create(writer, "s")
            append(writer, "s", rows)
        with database.read() as reader:
            for needle in needles:
                folded = needle.casefold()
                expected = [
                    seq
                    for seq, row in enumerate(rows, 1)
                    if folded in row.text.casefold() or folded in (encode(row).calls or "").casefold()
                ]
                assert [hit.seq for hit in search(reader, "s", needle, limit=99)] == expected, repr(needle)


@pytest.mark.parametrize(
    ("text", "needle"),
    [
        ("Straße", "STRASSE"),
        ("STRASSE", "straße"),
        ("300 K", "300 k"),
        ("ﬁle", "FILE"),
        ("Istanbul İ", "i̇"),
        ("ΟΔΟΣ", "οδος"),
        ("100%", "0%"),
        ("a_b", "A_B"),
        ("C:\\x", "c:\\X"),
        ('it\'s "so"', "'S \"SO"),
        ("x\0y", "\0Y"),
        ("x\0y", "y"),
        (" ", " "),
        ("數據", "據"),
        ("e\u0301", "\u0301"),
        ("long " * 20_000 + "end", "LONG " * 20_000),
    ],
)
def test_case_is_that_of_unicode_and_everything_else_is_literal(database, row, fill, text, needle):
    fill("s", row("user", "nothing"), row("user", text))
    with database.read() as reader:
        assert [hit.seq for hit in search(reader, "s", needle)] == [2]


@pytest.mark.parametrize(("text", "needle"), [("ab", "a_"), ("ab", "a%"), ("e\u0301", "é"), ("ıstanbul", "i")])
def test_what_only_looks_alike_is_not_found(database, row, fill, text, needle):
    fill("s", row("user", text))
    with database.read() as reader:
        assert search(reader, "s", needle) == []


def test_commands_in_calls_are_found_and_opaque_items_are_not(database, row, fill):
    fill("s", row("assistant", calls=(Call("call-id", "bash", {"command": 'git log --grep "fix"'}),)))
    fill("s", row("replay", "shown"), row("result", "ok", call_id="call-id"))
    with database.read() as reader:
        assert [hit.snippet for hit in search(reader, "s", '--grep "fix"')] == ['bash command: git log --grep "fix"']
        assert search(reader, "s", "call-id") == []


def test_pages_join_without_gap_or_double_while_rows_arrive(database, row, fill):
    fill("s", *[row("user", f"hit {n}" if n % 3 else "miss") for n in range(100)])
    found, after = [], 0
    while True:
        with database.read() as reader:
            page = search(reader, "s", "HIT", after=after, limit=7)
        if not page:
            break
        found += [hit.seq for hit in page]
        after = found[-1]
        if len(found) < 20:
            fill("s", row("user", "another hit"))
    assert found == sorted(set(found))
    assert len(found) == 66 + 2


def test_a_range_and_the_session_bound_the_search(database, row, fill):
    fill("s", *[row("user", "word") for _ in range(9)])
    fill("t", row("user", "word"))
    with database.read() as reader:
        assert [hit.seq for hit in search(reader, "s", "word", within=RowRange("s", 3, 6))] == [4, 5, 6]
        assert [hit.seq for hit in search(reader, "s", "word", after=4, within=RowRange("s", 3, 6))] == [5, 6]
        assert search(reader, "s", "word", limit=0) == []
        with pytest.raises(NotFound):
            search(reader, "s", "word", within=RowRange("t", 0, 1))
        with pytest.raises(Refused, match="empty text"):
            search(reader, "s", "")
        assert reader.decoded == 0
    delete(database, "s")
    with database.read() as reader, pytest.raises(NotFound):
        search(reader, "s", "word")


@settings(max_examples=150)
@given(texts, st.text(max_size=400), st.text(max_size=400))
def test_a_snippet_is_one_short_line(needle, before, after):
    folded = needle.casefold()
    snippet = snippet_around(before + needle + after, folded)
    assert snippet is not None
    assert len(snippet) <= SNIPPET
    assert all(char.isprintable() for char in snippet)


def test_a_snippet_shows_the_hit_itself():
    snippet = snippet_around("ß" * 500 + " here IT is " + "x" * 500, "it is")
    assert snippet is not None
    assert "IT is" in snippet
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert snippet_around("abc", "x") is None
