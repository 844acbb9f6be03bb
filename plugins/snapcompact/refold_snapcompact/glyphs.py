"""Glyphs by character. A glyph is 13 scan lines from the top: 8 pixels in one cell, or 16 in two."""

from __future__ import annotations

import re
import struct
import unicodedata
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

SCANS = 13
"""Scan lines of a glyph; the baseline stands under the eleventh."""

ZERO = (0x00, 0x00, 0x18, 0x24, 0x42, 0x46, 0x4A, 0x52, 0x62, 0x24, 0x18, 0x00, 0x00)
"""The font's zero differs from its capital O at the corners alone. This one has a stroke."""


@cache
def narrow() -> Mapping[str, tuple[int, ...]]:
    """One-cell glyphs, 8 bits a scan line: all of 8x13, with a zero that is not an O."""
    return {**_load("misc-fixed-8x13.bin", 8), "0": ZERO}


@cache
def wide() -> Mapping[str, tuple[int, ...]]:
    """Two-cell glyphs, 16 bits a scan line: kanji, kana, Hangul and what else 8x13 lacks. Loaded when first needed."""
    return _load("misc-fixed-12x13ja.bin", 16)


@cache
def visible() -> frozenset[str]:
    """The one-cell characters that a reader can see, and the space.

    Some glyphs are blank, and some of controls and invisible marks are no sign of them: those would say nothing.
    """
    inked = (char for char, scans in narrow().items() if any(scans))
    return frozenset(char for char in inked if not unicodedata.category(char).startswith("C")) | {" "}


@cache
def wide_pattern() -> re.Pattern[str]:
    """Finds a two-cell character."""
    return re.compile(f"[{ranges(wide())}]")


@cache
def unseen_pattern() -> re.Pattern[str]:
    """Finds a run of characters that have no glyph to be seen by."""
    return re.compile(f"[^{ranges([*visible(), *wide()])}]+")


def ranges(characters: Iterable[str]) -> str:
    """The inside of a character class that matches these characters.

    >>> ranges("cab")
    '\\\\U00000061-\\\\U00000063'
    """
    codes = sorted(map(ord, characters))
    starts = [code for n, code in enumerate(codes) if n == 0 or codes[n - 1] != code - 1]
    ends = [code for n, code in enumerate(codes) if n == len(codes) - 1 or codes[n + 1] != code + 1]
    return "".join(f"\\U{start:08x}-\\U{end:08x}" for start, end in zip(starts, ends, strict=True))


def _load(name: str, bits: int) -> dict[str, tuple[int, ...]]:
    data = zlib.decompress((files("refold_snapcompact") / "font" / name).read_bytes())
    (count,) = struct.unpack_from("<I", data)
    codes = struct.unpack_from(f"<{count}I", data, 4)
    scans = struct.unpack_from(f">{count * SCANS}{'B' if bits == 8 else 'H'}", data, 4 + 4 * count)
    lines = [scans[y * count : (y + 1) * count] for y in range(SCANS)]
    return dict(zip(map(chr, codes), zip(*lines, strict=True), strict=True))
