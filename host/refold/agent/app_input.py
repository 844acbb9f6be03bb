"""What a host app sets or hands over, checked at that moment: a mistake is one line, and nothing was changed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from refold.agent.tools import HostTool
from refold.values.errors import Refused
from refold.values.rows import Image

if TYPE_CHECKING:
    from attrs import Attribute

    from refold.summarize.reply import Summarizer


def tools(given: object) -> tuple[HostTool, ...]:
    """The tools of a session. Raises Refused for anything that is none, and for two of one name."""
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise Refused(f"tools must be a list of HostTool, not {kind(given)}; nothing was changed")
    made = tuple(given)
    names = [each.name for each in made if isinstance(each, HostTool)]
    for each in made:
        if not isinstance(each, HostTool):
            raise Refused(f"tools holds {kind(each)}, not a HostTool; nothing was changed")
        if names.count(each.name) > 1:
            raise Refused(f"tools holds two tools named {each.name!r}; nothing was changed")
    return made


def system_prompt(_: object, __: Attribute[Any], given: object) -> None:
    """A validator. Raises Refused."""
    if given is not None and not isinstance(given, str):
        raise Refused(f"system must be a text or None, not {kind(given)}; nothing was changed")


def approval(_: object, __: Attribute[Any], given: object) -> None:
    """A validator. Raises Refused."""
    if given is not None and not callable(given):
        raise Refused(f"approve must be a function of a Call, or None, not {kind(given)}; nothing was changed")


def plain_function(name: str, given: object) -> None:
    """Raises Refused for what cannot be called, or would only make a coroutine that nobody awaits."""
    if not callable(given):
        raise Refused(f"{name} must be a function, not {kind(given)}; nothing was done")
    if _makes_coroutines(given):
        raise Refused(f"{name} must be a plain function, not an async one: nobody would await it; nothing was done")


def prompt(text: object, images: object) -> tuple[str, tuple[Image, ...]]:
    """What a user says. Raises Refused, also when it is empty."""
    if not isinstance(text, str):
        raise Refused(f"the prompt must be a text, not {kind(text)}; nothing was sent")
    if not isinstance(images, Sequence) or not all(isinstance(each, Image) for each in images):
        raise Refused("images must be a list of Image; Image.of(data) makes one of bytes; nothing was sent")
    if not images and not text.strip():
        raise Refused("the prompt is empty; nothing was sent; write something, or resume the turn that broke off")
    return text, tuple(images)


def summarizers(given: Sequence[Summarizer] | None) -> tuple[Summarizer, ...] | None:
    """The summarizers of a host. Raises Refused for what cannot be asked for a summary."""
    if given is None:
        return None
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise Refused(f"summarizers must be a list of Summarizer, not {kind(given)}; nothing was opened")
    for each in given:
        if not isinstance(getattr(each, "name", None), str):
            raise Refused(f"a summarizer must have a name, a text; {kind(each)} has none; nothing was opened")
        window = getattr(each, "window", "missing")
        if window is not None and (not isinstance(window, int) or isinstance(window, bool)):
            raise Refused(f"summarizer {each.name}: window must be a number of tokens, or None; nothing was opened")
        plain_function(f"summarizer {each.name}: complete", getattr(each, "complete", None))
    return tuple(given)


def discard(awaitable: object) -> None:
    """Closes a coroutine that will never be awaited."""
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()


def _makes_coroutines(given: Callable[..., object]) -> bool:
    while isinstance(given, partial):
        given = given.func
    called = getattr(type(given), "__call__", None)  # noqa: B004 - it is looked into, not asked for
    return inspect.iscoroutinefunction(given) or inspect.iscoroutinefunction(called)


def kind(given: object) -> str:
    """What was given, in a word."""
    return type(given).__name__
