"""Type and size of a picture, read from its first bytes: PNG, JPEG, GIF, WebP."""

from __future__ import annotations

from attrs import frozen


@frozen
class Header:
    """What a picture says of itself. Sizes are pixels."""

    media_type: str
    width: int
    height: int


def read_header(data: bytes) -> Header | None:
    """The header, or None when the bytes are none of the four formats or break off too early.

    >>> read_header(b"GIF89a" + bytes([2, 0, 1, 0]))
    Header(media_type='image/gif', width=2, height=1)
    """
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
            return _sized("image/png", _big(data, 16, 4), _big(data, 20, 4))
        if data.startswith((b"GIF87a", b"GIF89a")):
            return _sized("image/gif", _little(data, 6, 2), _little(data, 8, 2))
        if data.startswith(b"\xff\xd8"):
            return _jpeg(data)
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return _webp(data)
    except IndexError:
        return None
    return None


def _sized(media_type: str, width: int, height: int) -> Header | None:
    return Header(media_type, width, height) if width and height else None


def _jpeg(data: bytes) -> Header | None:
    """Walks the segments to the frame header (ITU T.81, B.2.2), whatever comes before it."""
    at = 2
    while True:
        while data[at] != 0xFF:
            at += 1
        while data[at] == 0xFF:
            at += 1
        marker = data[at]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _sized("image/jpeg", _big(data, at + 6, 2), _big(data, at + 4, 2))
        if marker in (0x01, 0xD8) or 0xD0 <= marker <= 0xD7:
            at += 1
        elif marker in (0xD9, 0xDA):
            return None
        else:
            at += 1 + _big(data, at + 1, 2)


def _webp(data: bytes) -> Header | None:
    """The three kinds of the WebP container: lossy, lossless, extended."""
    chunk = data[12:16]
    if chunk == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        return _sized("image/webp", _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF)
    if chunk == b"VP8L" and data[20] == 0x2F:
        bits = _little(data, 21, 4)
        return _sized("image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if chunk == b"VP8X":
        return _sized("image/webp", _little(data, 24, 3) + 1, _little(data, 27, 3) + 1)
    return None


def _big(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(_exact(data, at, size), "big")


def _little(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(_exact(data, at, size), "little")


def _exact(data: bytes, at: int, size: int) -> bytes:
    part = data[at : at + size]
    if len(part) < size:
        raise IndexError(at)
    return part
