"""A turn as an iterator, and for asyncio: it runs in a thread, its events come through a queue."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from refold.agent.events import Event, TurnFinished
from refold.agent.turn_options import TurnOptions, check_stop
from refold.values.errors import Refused
from refold.values.rows import Image

if TYPE_CHECKING:
    from refold.agent.session import Session


def streamed(session: Session, text: str, images: Sequence[Image], options: TurnOptions) -> Iterator[Event]:
    """The events of a turn; what the turn raises is raised here, after the events before it."""
    heard: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
    stop = _stop(options)
    _unheard_elsewhere(options)
    here: TurnOptions = {**options, "on_event": heard.put, "stop": stop}

    def run() -> None:
        try:
            session.send(text, images, **here)
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


async def awaited(run: Callable[..., TurnFinished], options: TurnOptions) -> TurnFinished:
    """The end of a turn that `run` runs in a thread, with its async tools on this loop. Cancelling this cancels the
    turn, and waits for it."""
    stop = _stop(options)
    here: TurnOptions = {"loop": asyncio.get_running_loop(), **options, "stop": stop}
    turn = asyncio.ensure_future(asyncio.to_thread(partial(run, **here)))
    try:
        return await asyncio.shield(turn)
    except asyncio.CancelledError:
        stop.set()
        await _over(turn)
        raise


async def astreamed(session: Session, text: str, images: Sequence[Image], options: TurnOptions) -> AsyncIterator[Event]:
    """The events of a turn, for asyncio."""
    loop = asyncio.get_running_loop()
    heard: asyncio.Queue[Event | None] = asyncio.Queue()

    def tell(event: Event) -> None:
        loop.call_soon_threadsafe(heard.put_nowait, event)

    _unheard_elsewhere(options)
    turn = asyncio.ensure_future(awaited(partial(session.send, text, images), {**options, "on_event": tell}))
    turn.add_done_callback(lambda done: heard.put_nowait(None))  # behind every event: they came the same way
    try:
        while (event := await heard.get()) is not None:
            yield event
        await turn
    finally:
        turn.cancel()
        await _over(turn)


def _stop(options: TurnOptions) -> threading.Event:
    stop = options.get("stop")
    check_stop(stop)
    return stop or threading.Event()


def _unheard_elsewhere(options: TurnOptions) -> None:
    if "on_event" in options:
        raise Refused("stream and astream give the events themselves; nothing was sent; on_event is for send and asend")


async def _over(turn: asyncio.Future[TurnFinished]) -> None:
    """Waits for the end of a turn, whatever it was."""
    await asyncio.wait([turn])
    if not turn.cancelled():
        turn.exception()
