"""What a follower that is behind may get in place of old rows."""

from __future__ import annotations

from refold import Context, Fold, Note, RowRange

from refold_window.folds import OWNER
from refold_window.projector import front, standing


def snapshot(context: Context) -> Fold | None:
    """Everything in front of the retained rows, as text; None while every row is retained."""
    view = standing(context)
    record = view.record
    if record is None or not record.covering:
        return None
    notes = [part.text for section in front(context, view) for part in section.inputs if isinstance(part, Note)]
    covers = RowRange(context.session, context.history.range.after, record.dropped)
    return Fold(OWNER, str(record.id), f"window record {record.id} ({record.kind})", "\n\n".join(notes), covers)
