"""A session as a strategy sees it, read without the host's checks; and a refusal, which no public call can bring on."""

from __future__ import annotations

from attrs import frozen

from refold.agent.host import Host
from refold.agent.session import Session
from refold.prepare.context import BoundContext
from refold.prepare.draw import open_view
from refold.prepare.overflow import Figures
from refold.prepare.request import Prepared
from refold.prepare.road import recover
from refold.prepare.window import LEAST
from refold.values.inputs import Projection
from refold.values.rows import Row, RowRange
from refold.values.sizes import Window


@frozen
class Seen:
    """What a strategy makes of a session. `sizes` are the tokens of each row."""

    projection: Projection
    repeated: bool
    rows: tuple[Row, ...]
    sizes: tuple[int, ...]
    window: Window


def look(session: Session, window: int | None) -> Seen:
    """The projection of the strategy in force, made twice in one snapshot. Raises whatever the strategy raises."""
    desk, ask = session._standing(window)
    with session.host.database.read() as reader:
        view, _ = open_view(desk, ask, reader)
        extension = view.composition.strategy
        assert extension is not None
        assert extension.strategy is not None
        first, second = (extension.strategy.project(BoundContext(view, extension)) for _ in range(2))
        rows = tuple(view.history.rows())
        sizes = tuple(view.history.size(RowRange(session.id, row.ref.seq - 1, row.ref.seq)) for row in rows)
        return Seen(first, first == second, rows, sizes, view.window)


def roomy(session: Session, window: int | None) -> int | None:
    """The window, or the smallest that the host takes where it is smaller: fixed parts of any size may be installed."""
    if window is None:
        return None
    desk, ask = session._standing()
    with session.host.database.read() as reader:
        view, _ = open_view(desk, ask, reader)
    return max(window, view.sizing.fixed + LEAST)


def refuse(session: Session, window: int | None, limit: int) -> Prepared:
    """The request to ask again with, after a provider refused the last one as larger than `limit` tokens."""
    desk, ask = session._standing(window)
    return recover(desk, ask, Figures(limit)).prepared


def strategy_package(host: Host) -> str:
    """The top-level package of the strategy in force."""
    extension = host.composition().strategy
    return type(extension.strategy).__module__.partition(".")[0] if extension else ""


def store_names(host: Host) -> tuple[str, ...]:
    """What the tables of the enabled extensions begin with."""
    return tuple(each.manifest.tables for each in host.composition().extensions)
