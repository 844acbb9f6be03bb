"""The record of one prepared request, for `/context`: notes by content and row ranges, never the encoded request."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from attrs import frozen

from refold.prepare import stored
from refold.prepare.head import Told
from refold.prepare.measure import SizeSource
from refold.values.inputs import Fact, Input
from refold.values.rows import RowRange
from refold.values.sizes import Model

if TYPE_CHECKING:
    from cattrs import Converter

FORMAT = 1


@frozen
class Part:
    """One section of the request as it was sent.

    `text` is set for what is not made of inputs (system prompt, context block, tool schemas). `items` counts
    messages, `bytes` UTF-8 bytes of their text, `characters` the length of the section as `/context` pages it.
    `covers` are the rows that it stands for, or shows.
    """

    id: str
    label: str
    kind: str
    source: str
    items: int
    bytes: int
    characters: int
    tokens: int
    preview: str
    text: str | None = None
    inputs: tuple[Input, ...] = ()
    covers: RowRange | None = None


@frozen
class Snapshot:
    """What `/context` shows of a request, estimate and provider's count apart.

    `counted` are the tokens of the estimate that the provider had counted before it was sent, by `size_source`.

    `left_out` are the seqs of opaque items of the model that it would have refused.

    `changed` names why this request does not extend the one before it (empty: it does, or it is the first).
    `estimated` and `reported` are tokens of the whole request; `before_items` are the rows of the history,
    `after_items` the messages of the request.
    """

    captured_at: str
    strategy: str | None
    status: str
    source: str
    model: Model
    window: int | None
    window_source: str
    trigger: int | None
    automatic: str
    upto: int
    compaction: int
    compacted: bool
    estimated: int
    before_items: int
    after_items: int
    parts: tuple[Part, ...]
    notes: tuple[Told, ...] = ()
    facts: tuple[Fact, ...] = ()
    notices: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    size_source: SizeSource = "estimate"
    counted: int = 0
    reported: int | None = None
    reported_cached: int | None = None
    left_out: tuple[int, ...] = ()


def dump(snapshot: Snapshot) -> str:
    """The snapshot as JSON text, as it is stored. Opaque payloads are left out."""
    return stored.dump(snapshot, FORMAT, _converter())


def load(text: str) -> Snapshot | None:
    """The stored snapshot; None when another version of refold wrote it, or when it cannot be read."""
    return stored.load(text, FORMAT, Snapshot, _converter)


@cache
def _converter() -> Converter:
    from cattrs.preconf.orjson import make_converter
    from cattrs.strategies import configure_tagged_union

    converter = make_converter()
    configure_tagged_union(Input, converter)
    return converter
