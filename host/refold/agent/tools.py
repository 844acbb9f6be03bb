"""The tools that a turn may call: the host app's, and those of enabled extensions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

from refold.sizing.sizer import Sizer
from refold.values.errors import Refused
from refold.values.json_text import json_bytes
from refold.values.messages import ToolSpec
from refold.values.rows import Call, Image
from refold.values.tools import CallContext, ToolTraits

MAX_LINES = 2_000
MAX_BYTES = 50_000
LEAST_BYTES = 1_000
"""Bytes that a result may have however small the window is."""

SHARE = 40
"""Percent of the window that the results of one step take together: nothing takes them out of the next request."""


@frozen
class HostTool:
    """A tool of the host app. `parameters` is a JSON schema.

    It is run by one of two functions: `call(arguments)`, or `run(context, arguments)`, whose `CallContext` says when to
    stop and takes progress. Either may be async, and returns a text, JSON values, bytes, None or a `ToolResult`.
    Raises Refused, with all faults, for a tool that cannot be one.

    `traits` left out are those that refold knows for a tool of that name, if it knows one.
    A raise is an error result with the exception's words. `read_only` tools alone are offered in a read-only turn.
    `approval`: each call waits for the session's `approve`. A result longer than `max_lines` or `max_bytes` (UTF-8)
    is cut in the middle when it is produced, and says so; so is one that takes more than its part of the window.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    call: Callable[[Mapping[str, Any]], object] | None = None
    traits: ToolTraits | None = None
    read_only: bool = False
    approval: bool = False
    max_lines: int = MAX_LINES
    max_bytes: int = MAX_BYTES
    run: Callable[[CallContext, Mapping[str, Any]], object] | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if faults := list(_faults(self)):
            raise Refused(f"no tool was made of {self.name!r:.80}: {'; '.join(faults)}")

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model is told of it."""
        return ToolSpec(self.name, self.description, self.parameters)


@frozen
class Returned:
    """What came of a call."""

    call: Call
    text: str
    ok: bool = True
    images: tuple[Image, ...] = ()


def capped(text: str, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> str:
    """The text, cut in the middle to so many lines and bytes, with a marker that says how much left.

    >>> capped("a\\nb\\nc\\nd", max_lines=2)
    'a\\n[… 2 lines of 4 left out …]\\nd'
    """
    lines = text.split("\n")
    if len(lines) > max_lines:
        head, tail = -(-max_lines // 2), max_lines // 2
        left = f"[… {len(lines) - max_lines:,} lines of {len(lines):,} left out …]"
        text = "\n".join([*lines[:head], left, *lines[len(lines) - tail :]])
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= max_bytes:
        return text
    half = max_bytes // 2
    head_text = raw[:half].decode("utf-8", "ignore")
    tail_text = raw[len(raw) - half :].decode("utf-8", "ignore")
    return f"{head_text}\n[… {len(raw) - 2 * half:,} bytes of {len(raw):,} left out …]\n{tail_text}"


@frozen
class Cap:
    """What a result may take: lines, bytes, and `tokens` as `sizer` counts them (None: the window is unknown)."""

    tokens: int | None
    sizer: Sizer
    max_lines: int = MAX_LINES
    max_bytes: int = MAX_BYTES

    def cut(self, text: str) -> str:
        """The text, cut to all three."""
        cut = capped(text, self.max_lines, self.max_bytes)
        size = 0 if self.tokens is None else self.sizer.text(cut)
        if self.tokens is None or size <= self.tokens:
            return cut
        fitting = len(cut.encode("utf-8", "surrogatepass")) * self.tokens // size
        return capped(text, self.max_lines, min(self.max_bytes, max(LEAST_BYTES, fitting)))


def share(window: int | None, calls: int) -> int | None:
    """Tokens that the result of one of so many calls may take in a window of that size.

    >>> share(8_192, 1), share(8_192, 4), share(None, 4)
    (3276, 819, None)
    """
    return None if window is None else window * SHARE // 100 // calls


def _faults(tool: HostTool) -> Iterator[str]:
    for name in ("name", "description"):
        if not isinstance(text := getattr(tool, name), str):
            yield f"{name} is {type(text).__name__}, not a text"
    if tool.name == "":
        yield "name is empty"
    if not isinstance(tool.parameters, Mapping):
        yield f"parameters is {type(tool.parameters).__name__}, not a JSON schema"
    else:
        try:
            json_bytes(tool.parameters)
        except (TypeError, ValueError, RecursionError) as error:
            yield f"parameters is no JSON ({error})"
    given = [each for each in (tool.call, tool.run) if each is not None]
    if len(given) != 1:
        yield "give it either call(arguments) or run(context, arguments)"
    elif not callable(given[0]):
        yield f"{'call' if tool.run is None else 'run'} is {type(given[0]).__name__}, not a function"
    if tool.traits is not None and not isinstance(tool.traits, ToolTraits):
        yield f"traits is {type(tool.traits).__name__}, not ToolTraits"
    for name in ("read_only", "approval"):
        if not isinstance(answer := getattr(tool, name), bool):
            yield f"{name} is {answer!r:.40}, not True or False"
    for name in ("max_lines", "max_bytes"):
        if type(most := getattr(tool, name)) is not int or most < 1:
            yield f"{name} is {most!r:.40}, not a whole number from 1"
