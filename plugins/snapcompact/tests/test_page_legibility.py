"""Pages are read back: glyph by glyph, by an OCR program where there is one, and compared with Pillow's own drawing."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pictures
from PIL import ImageOps
from refold_snapcompact import glyphs, shapes
from refold_snapcompact.png import png
from refold_snapcompact.raster import raster
from refold_snapcompact.shapes import Shape
from refold_snapcompact.stream import BLOCK, SECOND, pages, row_count, rows, stream

from .page_texts import CODE, ENGLISH, TEXTS

if TYPE_CHECKING:
    from .conftest import PageReader, PillowText

SHAPES = [shapes.CLAUDE_STANDARD, shapes.UNKNOWN, shapes.GLM, shapes.OPENAI_TILES, Shape(9, 15, 300, 20)]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
@pytest.mark.parametrize("kind", TEXTS)
def test_every_character_of_a_page_is_read_back(kind: str, shape: Shape, reader: PageReader) -> None:
    cells = stream(TEXTS[kind])
    read = [reader.read(png(raster(page, shape)), shape) for page in pages(cells, shape)]
    expected = "".join(row.rstrip(" ") for page in pages(cells, shape) for row in rows(page, shape.columns))
    assert "".join(read) == reader.folded(expected.replace(SECOND, ""))


@settings(max_examples=60, deadline=None)
@given(
    text=st.text(st.sampled_from("ab z0O8.\n日本한é→🔥\u200b\x07█▓"), max_size=300),
    shape=st.builds(
        Shape, st.integers(8, 16), st.integers(13, 24), st.integers(64, 200), st.integers(4, 9)
    ),
)  # fmt: skip
def test_any_text_in_any_shape_is_read_back(text: str, shape: Shape, reader: PageReader) -> None:
    cells = stream(text)
    for page in pages(cells, shape):
        read = reader.read(png(raster(page, shape)), shape)
        assert read == reader.folded("".join(row.rstrip(" ") for row in rows(page, shape.columns)).replace(SECOND, ""))


@pytest.mark.parametrize("shape", [shapes.UNKNOWN, shapes.CLAUDE_STANDARD], ids=lambda shape: shape.name)
def test_pixels_are_those_of_pillows_text_drawing(shape: Shape, pillow: PillowText) -> None:
    page = pages(stream(ENGLISH + CODE), shape)[0]
    with Pictures.open(io.BytesIO(png(raster(page, shape)))) as ours:
        theirs = pillow.draw(list(rows(page, shape.columns)), shape)
        assert ours.size == theirs.size
        assert ours.tobytes() == theirs.tobytes()


def test_every_glyph_of_the_font_is_shipped_and_drawn(reader: PageReader) -> None:
    assert len(glyphs.narrow()) == 3_703
    shape = shapes.UNKNOWN
    text = "".join(sorted(char for char in glyphs.visible() if char not in " █"))
    assert len(text) > 3_600
    read = "".join(reader.read(png(raster(page, shape)), shape) for page in pages(text, shape))
    assert read == reader.folded(text)


def test_the_wide_glyphs_hold_kana_kanji_and_hangul() -> None:
    wide = glyphs.wide()
    assert all(char in wide for char in "日本語東京かなカナ한국어、。")
    assert len(wide) == 18_212
    assert not wide.keys() & glyphs.narrow().keys()


def test_the_notice_of_the_font_is_shipped_with_it() -> None:
    notice = (Path(glyphs.__file__).parent / "font" / "NOTICE").read_text()
    assert "Public domain font.  Share and enjoy." in notice


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("go \U0001f525", "go [U+1F525]"),
        ("\U0001f469\u200d\U0001f680", "[U+1F469 200D 1F680]"),
        ("a\u200bb\ufeff", "a[U+200B]b[U+FEFF]"),
        ("bell\x07nul\x00", "bell[U+0007]nul[U+0000]"),
        ("\u2061x\u2800", "[U+2061]x[U+2800]"),
        ("\u0627\u0644", "[U+0627 0644]"),
        ("\ue000", "[U+E000]"),
        ("\u4f60\u597d", "[U+4F60]\u597d\0"),
        ("\u2705 \u274c \u2713", "[OK] [FAIL] √"),
        ("a\nb", "a█b"),
        ("\u2588\u2588", "▓▓"),
    ],
)
def test_what_the_font_lacks_is_written_so_that_a_reader_can_decode_it(text: str, shown: str) -> None:
    assert stream(text) == shown


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_no_character_is_silent_nothing(text: str) -> None:
    drawable = glyphs.visible() | glyphs.wide().keys()
    cells = stream(text)
    assert set(cells) <= drawable | {SECOND}
    assert len(cells) >= len(text.replace("\u200d", "")) or "[U+" in cells


def test_no_two_letters_or_digits_look_alike() -> None:
    letters = [chr(code) for code in range(0x21, 0x7F) if chr(code).isalnum()]
    book = glyphs.narrow()

    def distance(a: str, b: str) -> int:
        return sum((x ^ y).bit_count() for x, y in zip(book[a], book[b], strict=True))

    near = {a + b for a, b in combinations(letters, 2) if distance(a, b) < 3}
    assert near <= {"co"}
    assert distance("0", "O") >= 6


def test_a_line_break_fills_its_cell_and_rows_below_the_glyphs_are_blank() -> None:
    shape = shapes.CLAUDE_STANDARD
    drawn = raster("gj█x", shape)
    lines = [drawn.data[y * 196 : (y + 1) * 196] for y in range(drawn.height)]
    bits = [bin(int.from_bytes(line, "big"))[2:].zfill(1568) for line in lines]
    assert all(line[22:33] == "1" * 11 for line in bits[:16])
    assert all(set(line[:22] + line[33:]) == {"0"} for line in bits[13:])


def test_a_page_is_as_high_as_its_text_but_no_lower_than_64_pixels() -> None:
    shape = shapes.UNKNOWN
    heights = [raster("x" * (196 * n), shape).height for n in (1, 2, 3, 10, 35)]
    assert heights == [64, 64, 66, 220, 770]


def test_a_wide_character_never_crosses_the_edge() -> None:
    assert list(rows(stream("abc日d"), 4)) == ["abc", "日\0d"]
    assert row_count(stream("日" * 10), Shape(8, 13, 24, 5)) == 10


def test_equal_text_gives_equal_bytes() -> None:
    for text in TEXTS.values():
        page = pages(stream(text), shapes.UNKNOWN)[0]
        assert png(raster(page, shapes.UNKNOWN)) == png(raster(page, shapes.UNKNOWN))


@settings(max_examples=50, deadline=None)
@given(st.text("ab日\n", max_size=200), st.text("ab日\n", max_size=200))
def test_a_longer_text_begins_with_the_full_pages_of_a_shorter_one(text: str, more: str) -> None:
    shape = Shape(8, 13, 40, 3)
    before, after = pages(stream(text), shape), pages(stream(text + more), shape)
    assert after[: max(0, len(before) - 1)] == before[:-1]
    assert "".join(after) == stream(text + more)
    assert all(row_count(page, shape) <= shape.rows for page in after)


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
@pytest.mark.parametrize("shape", [Shape(11, 16, 880, 14), Shape(8, 22, 640, 14)], ids=lambda shape: shape.name)
def test_a_program_that_knows_nothing_of_the_font_reads_prose(shape: Shape, tmp_path: Path) -> None:
    prose = (Path(__file__).parents[1] / "LICENSE").read_text()
    page = pages(stream(" ".join(prose.split())), shape)[0]
    picture = ImageOps.expand(Pictures.open(io.BytesIO(png(raster(page, shape)))).convert("L"), 20, 255)
    picture.save(tmp_path / "page.png")
    found = subprocess.run(
        ["tesseract", str(tmp_path / "page.png"), "-", "--psm", "6"],
        env={**os.environ, "OMP_THREAD_LIMIT": "1"}, capture_output=True, check=True, timeout=60,
    ).stdout.decode()  # fmt: skip
    assert accuracy(page, found) >= 0.95


def accuracy(wanted: str, found: str) -> float:
    """One less the share of characters to change, spaces aside (Levenshtein's distance)."""
    a, b = "".join(wanted.replace(BLOCK, "").split()), "".join(found.split())
    line = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, line = line, [i]
        for j, y in enumerate(b, 1):
            line.append(min(before[j] + 1, line[j - 1] + 1, before[j - 1] + (x != y)))
    return 1 - line[-1] / len(a)
