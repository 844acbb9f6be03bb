"""Pixels to a PNG file. The one module that needs Pillow, which loads when the first page is drawn."""

from __future__ import annotations

from io import BytesIO

from refold_snapcompact.raster import Raster

LEVEL = 5
"""Of deflate. Level 6 takes half as long again for two percent of the bytes, level 9 ten times as long for five."""


def png(page: Raster) -> bytes:
    """A page as a PNG of one bit a pixel, black on white, without any metadata."""
    from PIL import Image

    out = BytesIO()
    image = Image.frombytes("1", (page.width, page.height), page.data, "raw", "1;I")
    image.save(out, "PNG", compress_level=LEVEL)
    return out.getvalue()
