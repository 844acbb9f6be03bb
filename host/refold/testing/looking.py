"""A session as a strategy sees it, read without the host's checks; and a refusal, which no public call can bring on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from attrs import frozen

from refold.agent.host import Host
from refold.prepare.compacting import attempt
from refold.prepare.context import BoundContext
from refold.prepare.draw import draw, open_view
from refold.prepare.request import Ask, Attempted, Desk
from refold.summarize.service import summarize
from refold.transcript import sessions
from refold.transcript.database import Reader
from refold.transcript.leases import lease
from refold.values.inputs import Projection
from refold.values.outcome import Demand
from refold.values.rows import Row, RowRange
from refold.values.sizes import Model, Window


@frozen
class Seen:
    """What a strategy makes of a session. `sizes` are the tokens of each row."""

    projection: Projection
    repeated: bool
    rows: tuple[Row, ...]
    sizes: tuple[int, ...]
    window: Window


def look(host: Host, session: str, window: int | None) -> Seen:
    """The projection of the strategy in force, made twice in one snapshot. Raises whatever the strategy raises."""
    with _open(host, session, window) as (desk, ask, reader):
        view, _ = open_view(desk, ask, reader)
        extension = view.composition.strategy
        assert extension is not None
        assert extension.strategy is not None
        first, second = (extension.strategy.project(BoundContext(view, extension)) for _ in range(2))
        rows = tuple(view.history.rows())
        sizes = tuple(view.history.size(RowRange(session, row.ref.seq - 1, row.ref.seq)) for row in rows)
        return Seen(first, first == second, rows, sizes, view.window)


def overflow(host: Host, session: str, window: int | None, limit: int) -> Attempted:
    """Asks the strategy to compact because a provider refused the request as larger than `limit` tokens."""
    with _open(host, session, window) as (desk, ask, reader), desk.hold():
        drawn = draw(desk, ask, reader)
        return attempt(desk, drawn, Demand("overflow", drawn.size.tokens, limit))


def strategy_package(host: Host) -> str:
    """The top-level package of the strategy in force."""
    extension = host.composition().strategy
    return type(extension.strategy).__module__.partition(".")[0] if extension else ""


@contextmanager
def _open(host: Host, session: str, window: int | None) -> Iterator[tuple[Desk, Ask, Reader]]:
    with host.registry.running(), host.database.read() as reader:
        record = sessions.find(reader, session)
        desk = Desk(
            database=host.database,
            composition=host.composition(session),
            summarize=partial(summarize, summarizers=host.summarizers),
            hold=partial(lease, host.database, session, "compact"),
            now=sessions.now,
            progress=_unwatched,
            cancelled=_never,
            rows={},
        )
        yield desk, Ask(session, Model(record.model or "", "openai-chat", ""), override=window), reader


_unwatched: Callable[[int, int], None] = lambda done, total: None  # noqa: E731 - nobody watches
_never: Callable[[], bool] = lambda: False  # noqa: E731 - nobody stops it
