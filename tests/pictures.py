"""Real pictures for tests."""

from __future__ import annotations

import zlib


def png(width: int = 1, height: int = 1, pixels: bytes | None = None) -> bytes:
    """A grey PNG. `pixels` stand in place of its compressed pixels."""
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    grey = zlib.compress((b"\0" + b"\x80" * width) * height)
    chunks = ((b"IHDR", size + bytes([8, 0, 0, 0, 0])), (b"IDAT", grey if pixels is None else pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*each) for each in chunks)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")
