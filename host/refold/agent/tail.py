"""Following a session: rows behind a cursor, or a snapshot in place of old ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from attrs import frozen

from refold.prepare.context import BoundContext, View
from refold.prepare.listen import listen
from refold.registry.answers import checked
from refold.registry.contributions import Extension
from refold.values.contexts import Fold
from refold.values.errors import Refused
from refold.values.rows import Row


@frozen
class Tail:
    """One page of a session, oldest row first. The cursor of the next page is `next_after`, a seq: rows never change
    or move, so it stays good whatever is compacted meanwhile.

    `rows` come with their tokens by the local estimate. `snapshot` stands for every row up to the end of its range,
    and then `rows` begin behind it.
    """

    snapshot: Fold | None
    rows: Sequence[tuple[Row, int]]
    next_after: int
    has_more: bool


def page(found: Sequence[tuple[Row, int]], after: int, limit: int, snapshot: Fold | None = None) -> Tail:
    """A page of at most `limit` rows; `found` holds one more when there are more.

    Raises Refused for a limit below 1: a follower would ask for the same page again and again.
    """
    if limit < 1:
        raise Refused(f"a page of {limit} rows leads nowhere; nothing was read; ask for at least 1")
    shown = found[:limit]
    return Tail(snapshot, shown, shown[-1][0].ref.seq if shown else after, len(found) > limit)


def tail_snapshot(view: View, notices: list[str]) -> Fold | None:
    """What the first enabled extension that has one offers in place of the oldest rows.

    One that does not begin with the first row, or reaches beyond the last, is not used.
    """
    for each in view.composition.extensions:
        if each.gives("tail_snapshot"):
            offered = listen(notices, each.id, "tail_snapshot", partial(_offered, view, each))
            if offered is not None and _stands(offered, view):
                return offered
    return None


def _offered(view: View, extension: Extension) -> Fold | None:
    offered = extension.hook.tail_snapshot(context=BoundContext(view, extension))
    return None if offered is None else checked(offered, Fold)


def _stands(offered: Fold, view: View) -> bool:
    covers, history = offered.covers, view.history.range
    return covers.session == view.session and covers.after == 0 and 0 < covers.upto <= history.upto
