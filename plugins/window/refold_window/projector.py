"""The view, built from the records alone: folds of others, summary, notice, tail."""

from __future__ import annotations

from attrs import frozen
from refold import Context, Fold, History, Note, RowRange, Rows, Section

from refold_window import receipts, store
from refold_window.records import Record, Unreadable


@frozen
class Standing:
    """What a view is made of: the record in force (None: none serves), the folds of others, and what those leave.

    `skipped` are newer records that were not admitted, for people.
    """

    record: Record | None
    folds: tuple[Fold, ...]
    rest: History
    skipped: tuple[Unreadable, ...] = ()

    @property
    def after(self) -> int:
        """The last row that is not shown."""
        start = self.rest.range.after
        return max(start, self.record.dropped) if self.record is not None and self.record.covering else start

    @property
    def base(self) -> int:
        """The last row in front of what window itself stands for."""
        return self.record.base if self.record is not None and self.record.covering else self.rest.range.after

    @property
    def summarized(self) -> int:
        """The last row that the summary stands for; `base` when there is none."""
        return self.record.summarized if self.record is not None and self.record.covering else self.base


def standing(context: Context) -> Standing:
    """The newest record that serves: admitted, joined to the folds of others without a hole, and reaching at least as
    far as they do. One that does not fit them is passed over, not deleted."""
    prior = context.prior()
    covered = prior.folds[-1].covers.upto if prior.folds else context.history.range.after
    skipped: list[Unreadable] = []
    for record in store.serving(context):
        if isinstance(record, Unreadable):
            skipped.append(record)
        elif not record.covering or record.base <= covered <= record.dropped:
            return Standing(record, prior.folds, prior.rest, tuple(skipped))
    return Standing(None, prior.folds, prior.rest, tuple(skipped))


def sections(context: Context, view: Standing) -> tuple[Section, ...]:
    """The sections of the request, in order. Equal records and rows give equal bytes."""
    tail = RowRange(context.session, view.after, view.rest.range.upto)
    cleared = view.record.cleared if view.record else {}
    rows = Rows(tail, {seq: line for seq, line in sorted(cleared.items()) if seq in tail})
    newest = (Section("tail", "retained rows", "tail", (rows,)),) if len(tail) else ()
    return (*front(context, view), *newest)


def front(context: Context, view: Standing) -> tuple[Section, ...]:
    """What stands in front of the retained rows: the folds of others first, as they gave them."""
    made = [
        Section(f"fold-{fold.owner}-{fold.id}", fold.label, "fold", (Note(fold.text),), fold.covers)
        for fold in view.folds
    ]
    record, session = view.record, context.session
    if record is not None and record.summary is not None:
        text = receipts.summary_text(record.summary, record.model)
        covers = RowRange(session, record.base, record.summarized)
        made.append(Section("summary", f"summary · {record.model}", "summary", (Note(text),), covers))
    if record is not None and record.lossy:
        made.append(notice(session, record.summarized, record.dropped))
    return tuple(made)


def notice(session: str, after: int, upto: int) -> Section:
    """Rows that left without a summary."""
    text = receipts.notice_text(session, after + 1, upto)
    return Section(
        "notice", "rows that left without a summary", "notice", (Note(text),), RowRange(session, after, upto)
    )
