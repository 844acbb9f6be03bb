"""A turn as an iterator, and for asyncio: it runs in a thread, its events come through a queue."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from refold.agent.events import Event, TurnFinished
from refold.values.rows import Image

if TYPE_CHECKING:
    from refold.agent.session import Session


def streamed(session: Session, text: str, images: Sequence[Image], options: Mapping[str, Any]) -> Iterator[Event]:
    """The events of a turn; what the turn raises is raised here, after the events before it."""
    heard: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
    stop = threading.Event()

    def run() -> None:
        try:
            session.send(text, images, on_event=heard.put, stop=stop, **options)
        except BaseException as error:
            heard.put(error)
        else:
            heard.put(None)

    thread = threading.Thread(target=run, name=f"turn of {session.id}", daemon=True)
    thread.start()
    try:
        while (event := heard.get()) is not None:
            if isinstance(event, BaseException):
                raise event
            yield event
    finally:
        stop.set()
        thread.join()


async def awaited(session: Session, text: str, images: Sequence[Image], options: Mapping[str, Any]) -> TurnFinished:
    """The end of a turn that runs in a thread. Cancelling this cancels the turn, and waits for it."""
    stop = threading.Event()
    turn = asyncio.ensure_future(asyncio.to_thread(partial(session.send, text, images, stop=stop, **options)))
    try:
        return await asyncio.shield(turn)
    except asyncio.CancelledError:
        stop.set()
        await _over(turn)
        raise


async def astreamed(
    session: Session, text: str, images: Sequence[Image], options: Mapping[str, Any]
) -> AsyncIterator[Event]:
    """The events of a turn, for asyncio."""
    loop = asyncio.get_running_loop()
    heard: asyncio.Queue[Event | None] = asyncio.Queue()

    def tell(event: Event) -> None:
        loop.call_soon_threadsafe(heard.put_nowait, event)

    turn = asyncio.ensure_future(awaited(session, text, images, {**options, "on_event": tell}))
    turn.add_done_callback(lambda done: heard.put_nowait(None))  # behind every event: they came the same way
    try:
        while (event := await heard.get()) is not None:
            yield event
        await turn
    finally:
        turn.cancel()
        await _over(turn)


async def _over(turn: asyncio.Future[TurnFinished]) -> None:
    """Waits for the end of a turn, whatever it was."""
    await asyncio.wait([turn])
    if not turn.cancelled():
        turn.exception()
