"""Readers of pages that know nothing of the renderer, and sessions to make pages of."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import evolve
from PIL import Image as Pictures
from PIL import ImageDraw, ImageFont
from refold import Call, Host, Image, Model, Note, Row, Section, Session, SourceRef
from refold.prepare import road
from refold.prepare.request import Ask, Desk, Prepared
from refold_snapcompact import glyphs
from refold_snapcompact.shapes import Shape
from refold_snapcompact.stream import BLOCK

WINDOW = 30_000


class PageReader:
    """Reads a PNG by exact match of glyphs. Characters with equal glyphs come out as the first of them."""

    def __init__(self) -> None:
        self.alike: dict[str, str] = {}
        self.narrow: dict[tuple[int, ...], str] = {}
        self.wide: dict[tuple[int, ...], str] = {}
        for known, book in ((self.narrow, glyphs.narrow()), (self.wide, glyphs.wide())):
            for char in sorted(book):
                self.alike[char] = known.setdefault(tuple(book[char]), char)

    def folded(self, text: str) -> str:
        """The text as it comes out: characters that look the same are one."""
        return "".join(self.alike.get(char, char) for char in text)

    def read(self, png: bytes, shape: Shape) -> str:
        """The text of a page, blank cells at the ends of rows left out."""
        with Pictures.open(io.BytesIO(png)) as picture:
            width, height = picture.size
            assert (picture.mode, picture.format) == ("1", "PNG")
            data = picture.tobytes("raw", "1;I")
        stride = -(-width // 8)
        lines = [int.from_bytes(data[y * stride : (y + 1) * stride], "big") for y in range(height)]
        total = stride * 8
        out: list[str] = []
        for top in range(0, height - shape.pitch + 1, shape.pitch):
            row: list[str] = []
            column = 0
            while column < shape.columns:
                cell = self._cell(lines, total, top, column * shape.advance, shape.advance, shape.pitch)
                if cell == (((1 << shape.advance) - 1),) * shape.pitch:
                    row.append(BLOCK)
                    column += 1
                    continue
                spare = shape.advance - 8
                glyph = tuple(value >> spare for value in cell[:13])
                one = not any(cell[13:]) and all(value & ((1 << spare) - 1) == 0 for value in cell)
                if one and glyph in self.narrow:
                    row.append(self.narrow[glyph])
                    column += 1
                    continue
                two = self._cell(lines, total, top, column * shape.advance, shape.advance * 2, shape.pitch)
                row.append(self.wide.get(tuple(value >> spare for value in two[:13]), "\ufffd"))
                column += 2
            out.append("".join(row).rstrip(" "))
        return "".join(out)

    @staticmethod
    def _cell(lines: list[int], total: int, top: int, left: int, width: int, height: int) -> tuple[int, ...]:
        shift, mask = total - left - width, (1 << width) - 1
        if shift < 0:
            return tuple((lines[y] << -shift) & mask for y in range(top, top + height))
        return tuple(lines[y] >> shift & mask for y in range(top, top + height))


class PillowText:
    """Draws a page with Pillow's own text drawing, from the same glyphs as a font file."""

    def __init__(self, folder: Path) -> None:
        path = folder / "8x13.bdf"
        book = {char: scans for char, scans in glyphs.narrow().items() if ord(char) > 0}
        lines = [
            "STARTFONT 2.1", "FONT -misc-fixed-medium-r-normal--13-120-75-75-c-80-iso10646-1", "SIZE 13 72 72",
            "FONTBOUNDINGBOX 8 13 0 -2", "STARTPROPERTIES 8", "PIXEL_SIZE 13",
            "POINT_SIZE 130", "RESOLUTION_X 72", "RESOLUTION_Y 72", "FONT_ASCENT 11", "FONT_DESCENT 2",
            'CHARSET_REGISTRY "ISO10646"', 'CHARSET_ENCODING "1"', "ENDPROPERTIES", f"CHARS {len(book)}",
        ]  # fmt: skip
        for char, scans in book.items():
            lines += [f"STARTCHAR U{ord(char):04X}", f"ENCODING {ord(char)}", "SWIDTH 576 0", "DWIDTH 8 0"]
            lines += ["BBX 8 13 0 -2", "BITMAP", *(f"{scan:02X}" for scan in scans), "ENDCHAR"]
        path.write_text("\n".join([*lines, "ENDFONT", ""]))
        self.font = ImageFont.truetype(str(path), 13, layout_engine=ImageFont.Layout.BASIC)

    def draw(self, rows: list[str], shape: Shape) -> Pictures.Image:
        """The page of these rows. Cells of 8 pixels are drawn a row at a time, others a character at a time."""
        picture = Pictures.new("1", (shape.width, shape.height(len(rows))), 1)
        pen = ImageDraw.Draw(picture)
        pen.fontmode = "1"
        for n, row in enumerate(rows):
            if shape.advance == 8:
                pen.text((0, n * shape.pitch), row.replace(BLOCK, " "), 0, self.font)
            for column, char in enumerate(row):
                x, y = column * shape.advance, n * shape.pitch
                if char == BLOCK:
                    pen.rectangle((x, y, x + shape.advance - 1, y + shape.pitch - 1), 0)
                elif shape.advance != 8 and char != " ":
                    pen.text((x, y), char, 0, self.font)
        return picture

    def png(self, rows: list[str], shape: Shape) -> bytes:
        """The page as a file."""
        out = io.BytesIO()
        self.draw(rows, shape).save(out, "PNG")
        return out.getvalue()


@pytest.fixture(scope="session")
def reader() -> PageReader:
    return PageReader()


@pytest.fixture(scope="session")
def pillow(tmp_path_factory: pytest.TempPathFactory) -> PillowText:
    return PillowText(tmp_path_factory.mktemp("font"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def host(home: Path) -> Iterator[Host]:
    with Host(home) as opened:
        yield opened


Talk = Callable[..., None]


def _turn(turn: int, words: int) -> list[Row]:
    new = SourceRef("", 0)
    call = Call(f"call-{turn}", "read", {"path": f"/src/module_{turn}.py"})
    code = f"def f{turn}(value):\n    return {turn}\n" * (words // 4)
    return [
        Row(new, "user", 0, 0, opens=True, text=f"question {turn}: what does module {turn} do?"),
        Row(new, "assistant", 0, 0, text="reading it", calls=(call,)),
        Row(new, "result", 0, 0, text=code, call_id=call.id),
        Row(new, "assistant", 0, 0, text=f"answer {turn}: " + "it returns a number. " * (words // 5)),
    ]


@pytest.fixture
def talk() -> Talk:
    """Appends whole turns with one tool call each."""

    def say(session: Session, turns: int, words: int = 200, first: int = 0) -> None:
        session.append(row for turn in range(first, first + turns) for row in _turn(turn, words))

    return say


@pytest.fixture
def paged(host: Host) -> Session:
    """A session whose strategy is snapcompact."""
    session = host.new("paged", model="claude-sonnet-4-5")
    host.choose("snapcompact", True, session=session.id)
    return session


class Road:
    """Requests of a session for models that no catalog knows."""

    def prepare(self, session: Session, model: Model, window: int | None = WINDOW) -> Prepared:
        return road.prepare(*self._asked(session, model, window))

    def compact(self, session: Session, model: Model, window: int | None = WINDOW) -> Prepared:
        return road.compact(*self._asked(session, model, window))

    @staticmethod
    def _asked(session: Session, model: Model, window: int | None) -> tuple[Desk, Ask]:
        desk, ask = session._standing(window, model.protocol)
        return desk, evolve(ask, model=model)


@pytest.fixture
def roads() -> Road:
    return Road()


def frames(prepared: Prepared) -> Section:
    """The section of pages."""
    return next(section for section in prepared.projection.sections if section.kind == "frames")


def pages(prepared: Prepared) -> tuple[Image, ...]:
    """The pages of a request."""
    (note, _) = frames(prepared).inputs
    assert isinstance(note, Note)
    return note.images


def caption(prepared: Prepared) -> str:
    """The words in front of the first page."""
    (note, _) = frames(prepared).inputs
    assert isinstance(note, Note)
    return note.text


def kinds(prepared: Prepared) -> list[str]:
    return [section.kind for section in prepared.projection.sections]
