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

    def run() -> None:
        try:
            session.send(text, images, on_event=heard.put, **options)
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
        session.cancel() if thread.is_alive() else None
        thread.join()


async def awaited(session: Session, text: str, images: Sequence[Image], options: Mapping[str, Any]) -> TurnFinished:
    """The end of a turn that runs in a thread. Cancelling this cancels the turn, and waits for it."""
    turn = asyncio.ensure_future(asyncio.to_thread(partial(session.send, text, images, **options)))
    try:
        return await asyncio.shield(turn)
    except asyncio.CancelledError:
        session.cancel()
        await asyncio.wait([turn])
        raise


async def astreamed(
    session: Session, text: str, images: Sequence[Image], options: Mapping[str, Any]
) -> AsyncIterator[Event]:
    """The events of a turn, for asyncio."""
    loop = asyncio.get_running_loop()
    heard: asyncio.Queue[Event] = asyncio.Queue()

    def tell(event: Event) -> None:
        loop.call_soon_threadsafe(heard.put_nowait, event)

    turn = asyncio.ensure_future(awaited(session, text, images, {**options, "on_event": tell}))
    try:
        while True:
            next_event = asyncio.ensure_future(heard.get())
            await asyncio.wait([next_event, turn], return_when=asyncio.FIRST_COMPLETED)
            if next_event.done():
                yield next_event.result()
                continue
            next_event.cancel()
            while not heard.empty():
                yield heard.get_nowait()
            await turn
            return
    finally:
        if not turn.done():
            turn.cancel()
            await asyncio.wait([turn])
