"""The texts in front of the tail: bounded, inert, never cut inside what a reader sees as one character."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from refold import Image, Row, SourceRef
from refold_rolling import texts

MARKERS = (texts.SUMMARY_OPENS, texts.SUMMARY_ENDS, texts.RECAP_OPENS, texts.RECAP_ENDS, texts.EXCERPT)
HOSTILE = st.lists(st.sampled_from([*MARKERS, "[", "]", "-", "--- ", "\n", "x"]), max_size=8).map("".join)


def said(text: str, pictures: int = 0) -> Row:
    images = tuple(Image(f"k{n}", "image/png", 8, 8) for n in range(pictures))
    return Row(SourceRef("s", 1), "user", 1, 0, opens=True, text=text, images=images)


def test_a_short_text_is_quoted_as_it_is() -> None:
    assert texts.excerpt("x" * 400) == "x" * 400


def test_a_long_text_is_cut_at_400_characters_and_an_ellipsis() -> None:
    assert texts.excerpt("x" * 401) == "x" * 400 + "…"


WHOLE = {
    "an accent": "e\u0301",
    "a family": "👩\u200d👩\u200d👧\u200d👦",
    "a skin tone": "👍🏽",
    "a sign as a picture": "❤\ufe0f",
    "a flag": "🇩🇪",
    "a region's flag": "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "a Devanagari syllable": "कि",
    "a Hangul syllable in parts": "\u1112\u1161\u11ab",
    "a line end": "\r\n",
    "a keycap": "1\ufe0f\u20e3",
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("inside", range(1, 8))
def test_what_is_one_character_to_a_reader_is_never_cut(name: str, inside: int) -> None:
    whole = WHOLE[name]
    before = "a" * (400 - min(inside, len(whole) - 1))
    assert texts.excerpt(before + whole + "b" * 50) in (before + "…", before + whole + "…")


def test_flags_are_counted_in_pairs() -> None:
    cut = texts.excerpt("a" + "🇩🇪" * 400)
    assert cut == "a" + "🇩🇪" * 199 + "…"


@given(st.text(max_size=900))
@settings(max_examples=60)
@example("\u0301" * 1_000)
def test_an_excerpt_is_the_beginning_of_its_text_and_bounded(text: str) -> None:
    cut = texts.excerpt(text)
    assert len(cut) <= 401
    assert text.startswith(cut.removesuffix("…")) or cut == text


@given(HOSTILE)
@settings(max_examples=80)
def test_no_text_opens_or_closes_a_part(text: str) -> None:
    summary = texts.summary_text(text, "m")
    assert [summary.count(marker) for marker in MARKERS] == [1, 1, 0, 0, 0]
    recap = texts.recap_text([said(text), said(text)])
    assert [recap.count(marker) for marker in MARKERS] == [0, 0, 1, 1, 2]


def test_pictures_are_named_one_line_each() -> None:
    recap = texts.recap_text([said("", 2), said("look", 1)])
    first, second = [texts.EXCERPT, texts.IMAGE, texts.IMAGE], [texts.EXCERPT, "look", texts.IMAGE]
    assert recap.split("\n") == [texts.RECAP_OPENS, *first, *second, texts.RECAP_ENDS]
