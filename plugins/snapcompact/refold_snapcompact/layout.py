"""From the parts of an archive to pages: where each begins, and its text.

Pages are counted out from the first part. Where a page begins follows from the stored counts, and only the text of
pages that are shown is read.
"""

from __future__ import annotations

from bisect import bisect_right
from hashlib import blake2b

from attrs import frozen
from refold import Context, Image, RowRange
from refold_snapcompact_memory.archive import Archive

from refold_snapcompact import stream
from refold_snapcompact.entries import shown
from refold_snapcompact.shapes import Shape, parse

RENDERER = 1
"""Changes whenever equal text would give other pixels."""


@frozen
class Span:
    """A stretch of an archive's stream: `length` cells from `start`, counted from the first stored part."""

    start: int
    length: int


@frozen
class Page:
    """One page: its number in the archive from 1, where it stands, which rows it tells of, and its text."""

    number: int
    span: Span
    rows: RowRange
    text: str
    shape: Shape

    @property
    def height(self) -> int:
        return self.shape.height(stream.row_count(self.text, self.shape))

    @property
    def digest(self) -> str:
        return digest(self.text, self.shape)

    @property
    def image(self) -> Image:
        """The page as a picture. Its key says where to find its text, so that it can be drawn at any time."""
        key = f"{self.shape.name}-{self.span.start}-{self.span.length}-{self.digest}"
        return Image(key, "image/png", self.shape.width, self.height, owner="snapcompact")


def part_cells(text: str) -> str:
    """What pages show of a part, the line break behind it included."""
    return stream.stream(shown(text)) + stream.BLOCK if text else ""


def spans(archive: Archive, shape: Shape) -> list[Span]:
    """The pages of an archive, by where they stand. The first of its parts need not be the first stored one."""
    if not archive.parts:
        return []
    start, end = archive.parts[0].before, archive.parts[-1].before + archive.parts[-1].cells
    return [Span(at, min(shape.capacity, end - at)) for at in range(start, end, shape.capacity)]


def page(context: Context, archive: Archive, shape: Shape, number: int, span: Span) -> Page:
    """The page that stands there."""
    parts = archive.parts
    first = bisect_right(parts, span.start, key=lambda part: part.before) - 1
    last = bisect_right(parts, span.start + span.length - 1, key=lambda part: part.before) - 1
    texts = archive.texts(context, parts[first].number, parts[last].number)
    at = span.start - parts[first].before
    text = stream.window("".join(map(part_cells, texts)), at, at + span.length)
    rows = RowRange(context.session, parts[first].covers.after, parts[last].covers.upto)
    return Page(number, span, rows, text, shape)


def find(context: Context, archive: Archive, key: str) -> Page | None:
    """The page with that picture key; None when the archive has none such."""
    try:
        cell, size, start, length, wanted = key.split("-")
        shape, span = parse(f"{cell}-{size}"), Span(int(start), int(length))
    except ValueError:
        return None
    end = archive.parts[-1].before + archive.parts[-1].cells if archive.parts else 0
    if span.length < 1 or span.start < 0 or span.start + span.length > end:
        return None
    found = page(context, archive, shape, 0, span)
    return found if found.digest == wanted else None


def digest(text: str, shape: Shape) -> str:
    """Names a page's pixels by its geometry and its text."""
    told = f"{RENDERER}/{shape.advance}/{shape.pitch}/{shape.width}/{shape.lowest}/{text}"
    return blake2b(told.encode(), digest_size=16).hexdigest()
