"""What stands in place of what left: receipts of results, the summary's frame, the notice. Equal arguments give equal
bytes, and no text of the transcript can open or close a frame."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Literal

from refold import Call, ToolTraits

ToolClass = Literal["dump", "action"]
"""A result that can be had again (read, search, list), or one of a call that acted on the world."""

SUMMARY_OPENS = "[summary of earlier work; model-generated, for reference: it may be incomplete, later messages win]"
EXTRACT_OPENS = SUMMARY_OPENS.replace("model-generated", "extracted without a model")
SUMMARY_ENDS = "[end of the summary]"

TARGET_CHARACTERS = 100
RECEIPT_CHARACTERS = 400
"""A receipt is never longer."""

_EXIT = re.compile(
    r"\bexit(?:ed)?(?: with)?(?: code| status)?\"?\s*[:=]?\s*(-?\d{1,5})\b|\"exit_code\"\s*:\s*(-?\d{1,5})", re.I
)
_EDGE = 200  # characters at either end of a result in which an exit code is looked for


def tool_class(traits: ToolTraits | None) -> ToolClass | None:
    """What may be done with a tool's results; None: they are never cleared, nothing being known of the tool.

    >>> tool_class(ToolTraits(reads="path")), tool_class(ToolTraits(writes=("path",))), tool_class(ToolTraits())
    ('dump', 'action', None)
    """
    if traits is None:
        return None
    if traits.action or traits.writes:
        return "action"
    return "dump" if traits.reads or traits.searches or traits.lists else None


def target(call: Call, traits: ToolTraits) -> str:
    """What a call was about, on one line: its target, or its arguments with a digest when they are too long."""
    names = [traits.reads, traits.searches, traits.lists, *traits.writes]
    found = [call.arguments[name] for name in names if name is not None and call.arguments.get(name)]
    plain = found[0] if len(found) == 1 and isinstance(found[0], str) else (found or _plain(call.arguments))
    text = plain if isinstance(plain, str) else json.dumps(plain, sort_keys=True, ensure_ascii=False, default=str)
    shown = one_line(text)
    if len(shown) <= TARGET_CHARACTERS:
        return shown or "(no arguments)"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{shown[:TARGET_CHARACTERS].rstrip()}… ({digest})"


def exit_code(text: str) -> int | None:
    """The exit code that a result names at its beginning or its end; None: it names none.

    >>> exit_code("Exit code: 3"), exit_code("all good")
    (3, None)
    """
    for edge in (text[:_EDGE], text[-_EDGE:]):
        if found := _EXIT.search(edge):
            return int(found[1] or found[2])
    return None


def status(ok: bool, code: int | None) -> str:
    """How a call ended. An error never reads as success.

    >>> status(True, None), status(False, None), status(True, 0), status(False, 0), status(True, 2)
    ('ok', 'error', 'exit 0', 'error', 'exit 2')
    """
    if code is None or (not ok and code == 0):
        return "ok" if ok else "error"
    return f"exit {code}"


def receipt(seq: int, call: Call, traits: ToolTraits, ended: str, tokens: int) -> str:
    """One line in place of a result: tool, target, status, size, row, how to get it back; always in this order."""
    head = f"{one_line(call.name)[:60]} {target(call, traits)} · {ended} · {tokens:,} tokens · row {seq}"
    if tool_class(traits) == "dump":
        again = "read it" if traits.reads else "list it" if traits.lists else "search"
        return f"[cleared: {head} · {again} again if it is needed]"
    return (
        f"[receipt: {head} · it happened, its output was cleared; row {seq} of the transcript holds it; "
        "running it again repeats its effect]"
    )


def summary_text(summary: str, model: str) -> str:
    """The summary between its marks, which say who wrote it; no model did where that is `offline`."""
    return f"{EXTRACT_OPENS if model == 'offline' else SUMMARY_OPENS}\n{_inert(summary)}\n{SUMMARY_ENDS}"


def notice_text(session: str, first: int, last: int) -> str:
    """Tells the model which rows left without a summary, and how to read them."""
    count = last - first + 1
    return (
        f"[notice: rows {first}-{last} of this session ({count:,}) left the view because the window was full. No "
        "summary of them exists, so do not guess what they said. The transcript keeps them: "
        f"`refold show {one_line(session)} --after {first - 1} --limit {count} --full` prints them, and a tool that "
        "reads the transcript finds them by these numbers.]"
    )


def one_line(text: str) -> str:
    """The text without line breaks, invisible characters and brackets that could close a receipt."""
    words = "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in text)
    return " ".join(words.split()).replace("[", "(").replace("]", ")").replace("·", "-")


def _plain(arguments: Mapping[str, Any]) -> Any:
    """The one argument of a call that has one, else all of them."""
    values = list(arguments.values())
    return values[0] if len(values) == 1 and isinstance(values[0], str) else dict(arguments)


def _inert(text: str) -> str:
    for marker in (SUMMARY_OPENS, EXTRACT_OPENS, SUMMARY_ENDS):
        text = re.sub(re.escape(marker), f"({marker[1:-1]})", text, flags=re.I)
    return text
