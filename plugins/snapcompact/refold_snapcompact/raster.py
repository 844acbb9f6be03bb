"""A page's text to pixels. Rows of text become bytes by table look-up, a scan line of the whole page at a time.

With an advance of 8 pixels a glyph is one byte of its scan line. With another, glyphs take turns in their place inside
a byte (11 pixels: eight glyphs fill eleven bytes), so each place has tables of its own, and what two glyphs put into
one byte is joined. Characters outside the tables are added one by one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from math import gcd

from attrs import frozen

from refold_snapcompact.glyphs import SCANS, narrow, ranges, wide
from refold_snapcompact.shapes import Shape
from refold_snapcompact.stream import BLOCK, SECOND, rows

_CODES = {char: chr(code) for char, code in zip(BLOCK + "…—–‘’“”•→←↑↓⇒│─┌┐└┘├┤┼█▓≤≥≠√", range(1, 0x20), strict=False)}
"""Where the C1 of the tables would be: signs that transcripts are full of. All else up to 255 is Latin-1."""

_TABLED = {code: char for char, code in _CODES.items()} | {chr(code): chr(code) for code in range(0x20, 0x100)}
_EXTRA = re.compile(f"[^{ranges(_TABLED.values())}]")
_ENCODED = {ord(char): code for char, code in _CODES.items()}

_Places = Sequence[Sequence[tuple[int, bytes]]]
"""For each place in a group of glyphs: (byte offset from the group's start, table of that byte)."""


@frozen(eq=False)
class Raster:
    """Pixels of one page, a bit each, rows padded to whole bytes. A set bit is ink."""

    width: int
    height: int
    data: bytes


def raster(page: str, shape: Shape) -> Raster:
    """Draws a page of stream text, in its own height. It is as pure as a table."""
    group = 8 // gcd(shape.advance, 8)
    padded = -(-shape.columns // group) * group
    lines = list(rows(page, shape.columns))
    codes = b"".join(_code(line, padded) for line in lines)
    row_bytes = -(-shape.width // 8)
    length = padded // group * (shape.advance * group // 8)
    block = codes.count(_CODES[BLOCK].encode()) > 0
    scans = [_scan(codes, tables) for tables in _tables(shape.advance)[: SCANS + 1 if block else SCANS]]
    blank = bytes(row_bytes)
    added = [_extras(line, shape, length) for line in lines]
    out: list[bytes] = []
    for n, extras in enumerate(added):
        of_row = [scan[n * length : (n + 1) * length] for scan in scans]
        for y, value in extras.items():
            of_row[y] = (int.from_bytes(of_row[y], "big") | value).to_bytes(length, "big")
        fitted = [line[:row_bytes].ljust(row_bytes, b"\0") for line in of_row]
        out += fitted[:SCANS]
        out += [fitted[SCANS] if block else blank] * (shape.pitch - SCANS)
    height = shape.height(len(lines))
    return Raster(shape.width, height, b"".join(out).ljust(row_bytes * height, b"\0"))


def _code(line: str, padded: int) -> bytes:
    """One byte a cell: the place in the tables, a space for what is added later."""
    if not line.isascii() or SECOND in line:
        line = _EXTRA.sub(" ", line).translate(_ENCODED)
    return line.ljust(padded).encode("latin-1")


def _scan(codes: bytes, places: _Places) -> bytes:
    """One scan line of every row, one row behind the other."""
    if len(places) == 1 and len(places[0]) == 1:
        return codes.translate(places[0][0][1])
    group = len(places)
    stride = max(offset for place in places for offset, _ in place) + 1
    layers = [bytearray(len(codes) // group * stride) for _ in range(3)]
    for place, tables in enumerate(places):
        lane = codes[place::group]
        for layer, (offset, table) in zip(layers, tables, strict=False):
            layer[offset::stride] = lane.translate(table)
    joined = 0
    for layer in layers:
        joined |= int.from_bytes(layer, "big")
    return joined.to_bytes(len(layers[0]), "big")


@cache
def _tables(advance: int) -> Sequence[_Places]:
    """The tables of each scan line of a glyph, and of the leading below, where only line breaks leave ink."""
    glyphs = narrow()
    solid = (1 << advance) - 1
    lines = []
    for y in range(SCANS + 1):
        values = [0] * 256
        for code, char in _TABLED.items():
            ink = glyphs[char][y] << (advance - 8) if y < SCANS and char in glyphs else 0
            values[ord(code)] = solid if char == BLOCK else ink
        lines.append(_places(values, advance))
    return lines


def _places(values: Sequence[int], advance: int) -> _Places:
    places = []
    for place in range(8 // gcd(advance, 8)):
        offset, bit = divmod(place * advance, 8)
        touched = -(-(bit + advance) // 8)
        shifted = [value << (touched * 8 - advance - bit) for value in values]
        places.append(
            [(offset + n, bytes(value >> ((touched - 1 - n) * 8) & 0xFF for value in shifted)) for n in range(touched)]
        )
    return places


def _extras(line: str, shape: Shape, length: int) -> dict[int, int]:
    """What characters outside the tables add to a row: by scan line, the whole line as one number."""
    added: dict[int, int] = {}
    if line.isascii():
        return added
    twice, once = wide(), narrow()
    for found in _EXTRA.finditer(line):
        char = found[0]
        if char == SECOND:
            continue
        scans, cells = (twice[char], 2) if char in twice else (once[char], 1)
        right = length * 8 - (found.start() + cells) * shape.advance + shape.advance - 8
        for y, ink in enumerate(scans):
            if ink:
                added[y] = added.get(y, 0) | ink << right
    return added
