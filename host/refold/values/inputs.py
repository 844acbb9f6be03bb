"""What a projection is made of: ordered sections of inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from attrs import field, frozen

from refold.values.rows import Image, Replay, RowRange

Status = Literal["whole", "compacted", "limited", "fallback", "suspended"]
SectionKind = Literal["fold", "summary", "recap", "frames", "replay", "notice", "tail"]


@frozen
class Note:
    """An extension's own words or pages, sent in the user role; it has no source row."""

    text: str
    images: tuple[Image, ...] = ()


@frozen
class Rows:
    """Durable rows as they are, but those in `elide` (seq to text), which show that text in their place."""

    range: RowRange
    elide: Mapping[int, str] = field(factory=dict)


Input = Note | Replay | Rows


@frozen
class Section:
    """One part of a projection, as `/context` lists it.

    `covers` names the rows that it stands for without showing them; in a `notice`, the rows that left without a
    summary.
    """

    id: str
    label: str
    kind: SectionKind
    inputs: tuple[Input, ...]
    covers: RowRange | None = None


@frozen
class Fact:
    """One line that an extension adds to `/context`."""

    label: str
    value: str


@frozen
class Observation:
    """What a strategy says about the request it prepared. `source` is one short phrase for people."""

    status: Status
    source: str
    facts: tuple[Fact, ...] = ()


@frozen
class Projection:
    """What a strategy makes of a history: sections in the order they are sent.

    `trigger` is the size in tokens of the whole request at which compaction is due; None: never by itself.
    """

    sections: tuple[Section, ...]
    trigger: int | None
    observation: Observation
