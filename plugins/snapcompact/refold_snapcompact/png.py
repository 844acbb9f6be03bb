"""Pixels to a PNG file. The one module that needs Pillow, which loads when the first page is drawn."""

from __future__ import annotations

from io import BytesIO

from refold_snapcompact.raster import Raster

LEVEL = 6
"""Of deflate. Level 9 takes some ten times as long for a percent."""


def png(page: Raster) -> bytes:
    """A page as a PNG of one bit a pixel, black on white, without any metadata."""
    from PIL import Image

    out = BytesIO()
    image = Image.frombytes("1", (page.width, page.height), page.data, "raw", "1;I")
    image.save(out, "PNG", compress_level=LEVEL)
    return out.getvalue()
