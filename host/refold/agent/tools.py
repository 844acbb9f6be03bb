"""The tools that a turn may call: the host app's, and those of enabled extensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from refold.values.messages import ToolSpec
from refold.values.rows import Call
from refold.values.tools import ToolTraits

MAX_LINES = 2_000
MAX_BYTES = 50_000
LEAST_BYTES = 1_000
"""Bytes that a result may have however small the window is."""

SHARE = 40
"""Percent of the window that the results of one step take together: nothing takes them out of the next request."""


@frozen
class HostTool:
    """A tool of the host app. `parameters` is a JSON schema; `call` gets the arguments and returns the result's text.

    `traits` left out are those that refold knows for a tool of that name, if it knows one.
    A raise is an error result with the exception's words. `read_only` tools alone are offered in a read-only turn.
    `approval`: each call waits for the session's `approve`. A result longer than `max_lines` or `max_bytes` (UTF-8)
    is cut in the middle when it is produced, and says so; so is one that takes more than its part of the window.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    call: Callable[[Mapping[str, Any]], str]
    traits: ToolTraits | None = None
    read_only: bool = False
    approval: bool = False
    max_lines: int = MAX_LINES
    max_bytes: int = MAX_BYTES

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
    """What a result may take: lines, bytes, and `tokens` by `measure` (None: the window is unknown)."""

    tokens: int | None
    measure: Callable[[str], int]
    max_lines: int = MAX_LINES
    max_bytes: int = MAX_BYTES

    def cut(self, text: str) -> str:
        """The text, cut to all three."""
        cut = capped(text, self.max_lines, self.max_bytes)
        size = 0 if self.tokens is None else self.measure(cut)
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
