"""What a page costs, beside the same page drawn with Pillow's text drawing. Run with `--benchmark-only`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from refold_snapcompact import shapes
from refold_snapcompact.clean import clean
from refold_snapcompact.png import png
from refold_snapcompact.raster import raster
from refold_snapcompact.shapes import Shape
from refold_snapcompact.stream import pages, rows, stream

from .page_texts import CJK, CODE, ENGLISH

if TYPE_CHECKING:
    from .conftest import PillowText

SHAPES = [shapes.CLAUDE_STANDARD, shapes.CLAUDE_HIGH, shapes.UNKNOWN, shapes.OPENAI, shapes.GEMINI]
by_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)


def full_page(shape: Shape) -> str:
    """Prose and code, a page of them."""
    text = "".join(f"{n}: {part}\n" for n in range(40) for part in (ENGLISH[n : n + 400], CODE[: 300 + n]))
    return pages(stream(text), shape)[0]


@by_shape
def test_a_page_by_table(benchmark: Any, shape: Shape) -> None:
    page = full_page(shape)
    data = benchmark(lambda: png(raster(page, shape)))
    benchmark.extra_info.update(bytes=len(data), characters=len(page))


@by_shape
def test_a_page_without_its_file(benchmark: Any, shape: Shape) -> None:
    page = full_page(shape)
    benchmark(raster, page, shape)


@by_shape
def test_a_page_by_pillows_text_drawing(benchmark: Any, shape: Shape, pillow: PillowText) -> None:
    lines = list(rows(full_page(shape), shape.columns))
    data = benchmark(pillow.png, lines, shape)
    benchmark.extra_info.update(bytes=len(data))


@by_shape
def test_a_page_by_pillows_text_drawing_without_its_file(benchmark: Any, shape: Shape, pillow: PillowText) -> None:
    lines = list(rows(full_page(shape), shape.columns))
    benchmark(pillow.draw, lines, shape)


def test_a_page_of_wide_characters(benchmark: Any) -> None:
    shape = shapes.CLAUDE_STANDARD
    page = pages(stream(CJK * 10), shape)[0]
    benchmark(lambda: png(raster(page, shape)))


def test_a_megabyte_of_output_is_cleaned(benchmark: Any) -> None:
    text = (CODE + "\x1b[32mok\x1b[0m\n\n") * (1_000_000 // len(CODE))
    benchmark(clean, text)
