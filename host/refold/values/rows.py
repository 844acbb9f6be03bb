"""Durable rows and where they stand."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Literal

from attrs import frozen

Kind = Literal["user", "assistant", "result", "replay", "event"]
"""`user`, `assistant` and `result` are sent; `replay` only to its owner; `event` never."""

EVENTS = frozenset(("command", "spawned", "joined", "excursion", "notice"))
"""What an event row may record."""


@frozen
class SourceRef:
    """The identity of one row: `seq` counts 1, 2, 3 in its session and is never given twice."""

    session: str
    seq: int


@frozen
class RowRange:
    """The rows with `after < seq <= upto` of one session."""

    session: str
    after: int
    upto: int

    def __len__(self) -> int:
        return max(0, self.upto - self.after)

    def __contains__(self, seq: int) -> bool:
        return self.after < seq <= self.upto


@frozen
class Cut:
    """The last row of a coverage, and the running total of tokens that this row carries as a check."""

    seq: int
    tokens: int


@frozen
class Image:
    """A picture by reference: equal keys, equal bytes. Sizes are pixels.

    `owner` is the id of the extension that makes the bytes (hook `image_bytes`); None: the transcript stores them.
    """

    key: str
    media_type: str
    width: int
    height: int
    owner: str | None = None

    @classmethod
    def of(cls, data: bytes, media_type: str = "application/octet-stream") -> Image:
        """A picture by its bytes, to be sent or appended: then they are stored, and type and size are read from them.

        `media_type` is what to call bytes that say nothing of themselves.

        >>> Image.of(b"GIF", "image/gif")
        Image(key='data:image/gif;base64,R0lG', media_type='image/gif', width=0, height=0, owner=None)
        """
        return cls(f"data:{media_type};base64,{b64encode(data).decode()}", media_type, 0, 0)


@frozen
class Call:
    """One tool call of an assistant row."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@frozen
class Replay:
    """An opaque item of one provider (encrypted reasoning, a provider's own compaction).

    The host sends it, unchanged, only to the model whose `Model.owner` equals `owner`. `behind` is a digest of what it
    was made behind, noted by the host for models whose thinking counts only there; "": nobody noted it.
    """

    owner: str
    payload: str
    behind: str = ""


@frozen
class Row:
    """One durable transcript entry.

    `turn` counts turns in the session from 1 (0: before the first), `step` counts assistant rows in the turn from 1
    (0: before the first one answers). `opens` says that this row starts a turn. `event` names what an event row
    records, one of EVENTS. One tool result is one row: `call_id` names the
    call that it answers and `ok` is false for an error. `replay` is set on `replay` rows alone.
    """

    ref: SourceRef
    kind: Kind
    turn: int
    step: int
    opens: bool = False
    event: str = ""
    text: str = ""
    calls: tuple[Call, ...] = ()
    call_id: str | None = None
    ok: bool = True
    images: tuple[Image, ...] = ()
    replay: Replay | None = None

    @property
    def wordless(self) -> bool:
        """Whether a summary has nothing to read in it: an event, an opaque item, a blank message."""
        if self.kind in ("event", "replay"):
            return True
        return self.kind != "result" and not (self.text.strip() or self.calls or self.images)
