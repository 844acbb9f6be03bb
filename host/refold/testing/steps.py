"""What may happen in a session, as values: a history is a list of these, and is printed as one when a rule breaks."""

from __future__ import annotations

import base64
import struct
import zlib
from functools import cache

from attrs import frozen

from refold.agent.tools import HostTool
from refold.testing.summarizer import Mood
from refold.values.rows import Call, Image, Replay, Row, SourceRef
from refold.values.tools import ToolTraits
from refold.values.traits import KNOWN_TOOLS

_NEW = SourceRef("", 0)

SYSTEM = "You look after a folder of files."

TOOLS = tuple(
    HostTool(name, f"Does {name}.", {"type": "object", "properties": {"path": {"type": "string"}}}, str, traits)
    for name, traits in [(name, KNOWN_TOOLS[name]) for name in ("read", "grep", "bash")] + [("note", ToolTraits())]
)
"""Tools of several traits; of the last one nothing is known."""


@frozen
class Text:
    """`words`, said `times` times over: huge texts that print small."""

    words: str = ""
    times: int = 1

    def __str__(self) -> str:
        return self.words * self.times


@frozen
class Say:
    """A user row with that many pictures. `opens` false: a follow-up."""

    text: Text
    pictures: int = 0
    opens: bool = True


@frozen
class Act:
    """An assistant row that makes `calls` (ids, perhaps one twice), and the results that come at once, by id: perhaps
    fewer, in another order, or of calls that nobody made."""

    text: Text
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    told: Text = Text("done")
    pictures: int = 0


@frozen
class Late:
    """A result that comes by itself."""

    call: str
    told: Text


@frozen
class Happen:
    """An event row: never sent, never counted."""

    event: str
    text: Text = Text("event")


@frozen
class Think:
    """An opaque item of a provider."""

    owner: str


@frozen
class Talk:
    """Ordinary turns: a prompt, a call with its result, an answer."""

    turns: int
    words: int


Said = Say | Act | Late | Happen | Think | Talk


@frozen
class Prepare:
    """Prepares the next request; compaction runs by itself where the window (tokens; None: unknown) makes it due."""

    window: int | None
    moods: tuple[Mood, ...] = ("good",)


@frozen
class Compact:
    """Compacts because somebody asked."""

    window: int | None
    moods: tuple[Mood, ...] = ("good",)


@frozen
class Overflow:
    """The provider refuses the request as larger than `limit` tokens, and the strategy is asked to fold."""

    window: int | None
    limit: int
    moods: tuple[Mood, ...] = ("good",)


@frozen
class Reopen:
    """The process dies without a word; another one opens what is on the disk."""

    window: int | None = None


@frozen
class Branch:
    """Forks `back` rows before the end; `go_on` says whether the history goes on in the fork."""

    back: int
    go_on: bool = True


@frozen
class Return:
    """Goes on in the n-th session of this history."""

    session: int


@frozen
class UseModel:
    """The session's model changes."""

    model: str


@frozen
class Detour:
    """Another installed strategy serves for a while: it prepares, compacts, hears a word, and hands back."""

    strategy: int
    window: int | None


@frozen
class Configure:
    """The n-th of the suite's settings comes into force."""

    settings: int


Step = Said | Prepare | Compact | Overflow | Reopen | Branch | Return | UseModel | Detour | Configure


def rows_of(step: Said) -> list[Row]:
    """The rows that the step appends, in one transaction each list."""
    match step:
        case Say(text, count, opens):
            return [Row(_NEW, "user", 0, 0, opens=opens, text=str(text), images=pictures(count))]
        case Act(text, ids, results, told, count):
            calls = tuple(_call(id, n) for n, id in enumerate(ids))
            acted = Row(_NEW, "assistant", 0, 0, text=str(text), calls=calls)
            return [acted, *(_result(id, told, pictures(count)) for id in results)]
        case Late(id, told):
            return [_result(id, told, ())]
        case Happen(event, text):
            return [Row(_NEW, "event", 0, 0, event=event, text=str(text))]
        case Think(owner):
            item = Replay(owner, '{"type":"reasoning","id":"rs_1","encrypted_content":"e"}')
            return [Row(_NEW, "replay", 0, 0, replay=item)]
        case Talk(turns, words):
            return [row for turn in range(turns) for row in _turn(turn, words)]


def _turn(turn: int, words: int) -> list[Row]:
    return [
        *rows_of(Say(Text(f"please look at file {turn} ", max(1, words // 8)))),
        *rows_of(Act(Text(""), (f"t{turn}",), (f"t{turn}",), Text(f"line {turn} of the file\n", words))),
        *rows_of(Act(Text(f"file {turn} is in order. ", max(1, words // 8)))),
    ]


def _call(id: str, place: int) -> Call:
    name = TOOLS[(len(id) + place) % len(TOOLS)].name
    return Call(id, name, {"path": f"/src/{id}.py", "pattern": id, "n": place})


def _result(id: str, told: Text, images: tuple[Image, ...]) -> Row:
    return Row(_NEW, "result", 0, 0, text=str(told), call_id=id, ok=len(id) < 4, images=images)


def pictures(count: int) -> tuple[Image, ...]:
    """That many real pictures of different sizes; their bytes travel in their keys."""
    return tuple(Image(_png(8 + n, 4), "image/png", 0, 0) for n in range(count))


@cache
def _png(width: int, height: int) -> str:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixels = zlib.compress((b"\0" + b"\x80" * width) * height)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"
