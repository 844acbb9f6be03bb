"""Summaries of window records, for other strategies and for views."""

from __future__ import annotations

from collections.abc import Sequence

from refold import Context, Fold, History, RowRange

from refold_window import store
from refold_window.records import Record

OWNER = "window"


class WindowFolds:
    """The newest summary that continues the given history; it holds every older one."""

    owner = OWNER

    def folds(self, context: Context, history: History) -> Sequence[Fold]:
        start = history.range.after
        for record in store.serving(context):
            if isinstance(record, Record) and record.summary is not None and record.base <= start < record.summarized:
                covers = RowRange(context.session, record.base, record.summarized)
                label = f"window summary · {record.model}"
                return [Fold(OWNER, str(record.id), label, record.summary, covers)]
        return ()
