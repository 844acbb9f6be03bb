"""Why compaction runs, and what came of it."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

from refold.values.rows import RowRange, SourceRef

DemandKind = Literal["manual", "automatic", "overflow", "model"]
BlockCode = Literal["veto", "open_call", "open_join", "suspended", "busy", "missing"]


@frozen
class Demand:
    """Why compaction runs now.

    `size` is the measured size of the request in tokens, after a refusal its size as `Context.sizing` estimates it;
    `limit` the size that a refusal revealed, in tokens as `Context.sizing` and `History.size` count them, so that it
    compares with theirs as it is; `protect` a row that must stay in view (the call of a model that asked for
    compaction itself).
    """

    kind: DemandKind
    size: int
    limit: int | None = None
    protect: SourceRef | None = None


@frozen
class Summary:
    """A summary and who wrote it, in how many passes."""

    text: str
    model: str
    passes: int = 1


@frozen
class Applied:
    """A compaction was committed. `covers` are the rows it newly stands for. `lossy`: a notice stands in the view."""

    covers: RowRange
    kind: str = "summary"
    summary: Summary | None = None
    lossy: bool = False
    note: str = ""


@frozen
class Nothing:
    """There was nothing to do, and why. No model was called and nothing was written."""

    reason: str


@frozen
class Blocked:
    """Compaction may not run now, and why. Nothing was written."""

    code: BlockCode
    reason: str


Outcome = Applied | Nothing | Blocked


@frozen
class Event:
    """A compaction as `pre_compact` and `post_compact` see it: `outcome` is set in the latter."""

    demand: Demand
    strategy: str
    rows: RowRange
    outcome: Applied | None = None
