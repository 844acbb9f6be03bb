"""How a host app wants a turn to run, checked before anything is appended."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any, TypedDict

from attrs import Attribute, field, frozen

from refold.agent.app_input import discard, kind, plain_function
from refold.agent.hearing import Emit, unheard
from refold.values.errors import Refused

MAX_STEPS = 100
"""Answers that a turn may take when nobody says how many."""


class TurnOptions(TypedDict, total=False):
    """What `send`, `resume`, `stream`, `asend`, `aresume` and `astream` take by name; all may be left out.

    `read_only` offers read-only tools alone. `on_event` is a plain function that hears everything while it happens, in
    the turn's thread. `max_steps` bounds the answers of the turn (else `maxSteps` of models.json, else 100). `stop`
    ends the turn when it is set, as `cancel` does. `loop` is the running event loop on which async tools and an async
    `approve` run, from a turn in another thread; `asend` and `astream` give their own; without one a private loop of
    the turn serves.
    """

    read_only: bool
    on_event: Emit
    max_steps: int | None
    stop: threading.Event | None
    loop: asyncio.AbstractEventLoop | None


def _boolean(_: object, __: Attribute[Any], given: object) -> None:
    if not isinstance(given, bool):
        raise Refused(f"read_only must be True or False, not {kind(given)}; nothing was sent")


def _steps(_: object, __: Attribute[Any], given: object) -> None:
    if given is not None and (not isinstance(given, int) or isinstance(given, bool) or given < 1):
        raise Refused(f"max_steps must be a whole number from 1, not {given!r:.40}; nothing was sent")


def check_stop(given: object) -> None:
    """Raises Refused for what nobody can set or ask."""
    if given is not None and not (hasattr(given, "is_set") and hasattr(given, "set")):
        raise Refused(f"stop must be a threading.Event, not {kind(given)}; nothing was done")


def _stop(_: object, __: Attribute[Any], given: object) -> None:
    check_stop(given)


def _loop(_: object, __: Attribute[Any], given: object) -> None:
    """Refuses a loop that could never run what the turn waits for."""
    if given is None:
        return
    if not isinstance(given, asyncio.AbstractEventLoop):
        raise Refused(f"loop must be an event loop of asyncio, not {kind(given)}; nothing was sent")
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        return
    if here is given:
        raise Refused("send would wait for its own event loop; nothing was sent; use `await session.asend(...)`")


def listener(given: Emit) -> Emit:
    """A function that hears events, held to be a plain one. Raises Refused; later too, when it gives back a coroutine
    instead of hearing."""
    plain_function("on_event", given)

    def hear(event: Any) -> None:
        answer = given(event)
        if inspect.isawaitable(answer):
            discard(answer)
            raise Refused("on_event gave back a coroutine, which nobody awaits; iterate over astream instead")

    return hear


@frozen
class TurnSettings:
    """The options, checked. Raises Refused."""

    read_only: bool = field(default=False, validator=_boolean)
    on_event: Emit = field(default=unheard, converter=listener)
    max_steps: int | None = field(default=None, validator=_steps)
    stop: threading.Event | None = field(default=None, validator=_stop)
    loop: asyncio.AbstractEventLoop | None = field(default=None, validator=_loop)
