"""Whether the bytes of a picture can be decoded: PNG, JPEG, GIF, WebP, HEIC.

A picture that breaks off or is none makes the provider refuse the whole request, now and every later time. So the
structure is walked to its end. Of compressed pixels only those of PNG are looked into.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from refold.transcript.image_header import read_header

_HEIF = frozenset({b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"})
_PIXELS = frozenset({b"VP8 ", b"VP8L", b"ANMF"})


def media_type(data: bytes) -> str | None:
    """The type of a picture that is whole; None when it breaks off, or when the bytes are none of these formats.

    >>> media_type(b"GIF89a, or so it says")
    """
    try:
        if _is_heif(data):
            return "image/heic"
        header = read_header(data)
        if header is not None and _WALKS[header.media_type](data):
            return header.media_type
    except IndexError:  # it breaks off
        return None
    return None


def _png(data: bytes) -> bool:
    """Chunks (ISO 15948, 5.3) up to the last one, check sums right where a decoder must read, and whole pixels."""
    inflate = zlib.decompressobj()
    for kind, at, size in _png_chunks(data):
        if kind[0] & 0x20:  # a chunk that a decoder may pass over
            continue
        body = data[at : at + size]
        if int.from_bytes(data[at + size : at + size + 4], "big") != zlib.crc32(body, zlib.crc32(kind)):
            return False
        if kind == b"IEND":
            return inflate.eof
        if kind == b"IDAT" and not _inflates(inflate, body):
            return False
    return False


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    at = 8
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        if at + 12 + size > len(data):
            return
        yield data[at + 4 : at + 8], at + 8, size
        at += 12 + size


def _inflates(inflate: zlib._Decompress, body: bytes) -> bool:
    """Whether the pixels go on; what comes out is thrown away piece by piece, so a bomb fills no memory."""
    try:
        while body and not inflate.eof:
            inflate.decompress(body, 1 << 16)
            body = inflate.unconsumed_tail
    except zlib.error:
        return False
    return True


def _jpeg(data: bytes) -> bool:
    """Segments (ITU T.81, B.1) with a scan among them, up to the end marker; padding may follow it."""
    at, scanned = 2, False
    while True:
        if data[at] != 0xFF:
            if not scanned:
                return False
            at = data.find(b"\xff", at)
            if at < 0:
                return False
        while data[at] == 0xFF:
            at += 1
        marker = data[at]
        at += 1
        if marker == 0xD9:
            return scanned
        if marker == 0 or marker == 1 or 0xD0 <= marker <= 0xD8:
            continue
        scanned = scanned or marker == 0xDA
        at += max(2, _number(data, at, 2, "big"))


def _gif(data: bytes) -> bool:
    """Blocks (GIF89a, appendix A) up to the end of the first picture, which is the one that models see."""
    at = 13 + _colours(data[10])
    while True:
        kind = data[at]
        if kind == 0x21:
            at = _past_blocks(data, at + 2)
        elif kind == 0x2C:
            first = at + 11 + _colours(data[at + 9])
            return data[first] > 0 and _past_blocks(data, first) <= len(data)
        else:
            return False


def _colours(flags: int) -> int:
    """Bytes of a colour table."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _past_blocks(data: bytes, at: int) -> int:
    while size := data[at]:
        at += 1 + size
    return at + 1


def _webp(data: bytes) -> bool:
    """Chunks of the container, pixels among them, as long as it says of itself."""
    end, at, found = 8 + _number(data, 4, 4, "little"), 12, False
    if end > len(data):
        return False
    while at + 8 <= end:
        size = _number(data, at + 4, 4, "little")
        if at + 8 + size > end:
            return False
        found = found or data[at : at + 4] in _PIXELS
        at += 8 + size + size % 2
    return found


def _is_heif(data: bytes) -> bool:
    """Boxes (ISO 14496-12, 4.2) up to the end, pixels among them."""
    if data[4:8] != b"ftyp" or data[8:12] not in _HEIF:
        return False
    at, kinds = 0, set()
    while at < len(data):
        size, kind = _number(data, at, 4, "big"), data[at + 4 : at + 8]
        size = len(data) - at if size == 0 else _number(data, at + 8, 8, "big") if size == 1 else size
        if size < 8 or at + size > len(data):
            return False
        kinds.add(kind)
        at += size
    return {b"meta", b"mdat"} <= kinds


def _number(data: bytes, at: int, size: int, order: str) -> int:
    part = data[at : at + size]
    if len(part) < size:
        raise IndexError(at)
    return int.from_bytes(part, "big" if order == "big" else "little")


_WALKS = {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp}
