"""Window records: each a whole description of the rewritten prefix, so that the newest one alone makes the view."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen
from refold import Cut

from refold_window.receipts import RECEIPT_CHARACTERS

KINDS = ("microcompact", "collapse", "summary", "drop")
SUMMARY_CHARACTERS = 200_000
"""A stored summary that is longer is not believed."""


@frozen
class Record:
    """One applied plan. All rows are seqs of its session, all sizes tokens of the whole request.

    Rows up to `base` stand in folds of other extensions; `summary` (by `model`; None: there is none) stands for the
    rows behind it up to `summarized`; those up to `dropped` left without a summary; of the rest `cleared` show a
    receipt. `cut` is the last row that was rewritten. The retained range is `dropped + 1` to `retained`, the newest
    row when the record was written.

    `before` and `after` are the request's sizes on paper, `trigger` is the demand, `reason` why this rung. `run` counts
    summaries made by themselves in a row without a request that fitted in between, and `told` says that their
    suspension was shown.
    """

    id: int
    kind: str
    base: int
    summarized: int
    dropped: int
    cut: Cut
    retained: int
    before: int
    after: int
    trigger: str
    reason: str
    summary: str | None = None
    model: str = ""
    cleared: Mapping[int, str] = field(factory=dict)
    run: int = 0
    told: bool = False

    @property
    def lossy(self) -> bool:
        """Whether rows left without a summary."""
        return self.dropped > self.summarized

    @property
    def covering(self) -> bool:
        """Whether it stands for rows that are not shown; else it only clears results."""
        return self.dropped > self.base

    @property
    def first(self) -> int:
        """The first row that the record stands for or rewrites."""
        return self.base + 1 if self.covering else min(self.cleared, default=self.base + 1)


@frozen
class Unreadable:
    """A stored record that cannot be used, and why."""

    id: int
    reason: str


def fault(record: Record, *, holds: bool) -> str | None:
    """Why a record is not admitted, on write and on load alike; None: it is. `holds`: its cut is in this history."""
    if record.kind not in KINDS:
        return f"its kind {record.kind[:20]!r} is unknown"
    if not 0 <= record.base <= record.summarized <= record.dropped <= record.cut.seq <= record.retained:
        return "its ranges are out of order"
    if record.cut.seq != max(record.dropped, *record.cleared, record.base):
        return "its cut is not the last row that it rewrites"
    if not record.covering and not record.cleared:
        return "it rewrites nothing"
    if record.kind == "summary" and record.summary is None:
        return "it has no summary"
    if record.kind == "drop" and not record.lossy:
        return "it drops nothing"
    if record.after >= record.before:
        return f"it makes nothing smaller ({record.before:,} to {record.after:,} tokens)"
    if not holds:
        return f"its cut after row {record.cut.seq} does not hold in this history"
    return _summary_fault(record) or _cleared_fault(record)


def _summary_fault(record: Record) -> str | None:
    if (record.summary is None) != (record.summarized == record.base):
        return "its summary and the range of it do not belong together"
    if record.summary is None:
        return None
    if not record.summary.strip():
        return "its summary is blank"
    return "its summary is too long" if len(record.summary) > SUMMARY_CHARACTERS else None


def _cleared_fault(record: Record) -> str | None:
    for seq, line in record.cleared.items():
        if not record.dropped < seq <= record.cut.seq:
            return f"row {seq} is cleared outside of its range"
        if not line.strip() or len(line) > RECEIPT_CHARACTERS or len(line.splitlines()) > 1:
            return f"the receipt of row {seq} is no single short line"
    return None
