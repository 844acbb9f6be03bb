"""Calls that a model wrote into its text as XML-like tags: `<read_file><path>x</path></read_file>`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set

from attrs import frozen

_PARAMETER = re.compile(r"<(\w{1,60})>")
_VERBATIM = frozenset({"content", "diff", "new_string", "patch", "args"})
"""Parameters whose value may hold tags of its own: they end at the last closing tag."""


@frozen
class Tagged:
    """A call in a text."""

    name: str
    arguments: Mapping[str, str]


def tagged_calls(text: str, tools: Set[str]) -> tuple[str, list[Tagged]]:
    """The words of a text, and the calls of these tools in it. A call without its closing tag stays words."""
    words: list[str] = []
    calls: list[Tagged] = []
    at = 0
    for found in _PARAMETER.finditer(text):
        name = found[1]
        if name not in tools or found.start() < at:
            continue
        end = _closing(text, name, found.end())
        if end < 0:
            continue
        words.append(text[at : found.start()])
        calls.append(Tagged(name, _arguments(text[found.end() : end])))
        at = end + len(name) + 3
    words.append(text[at:])
    return "\n\n".join(part.strip() for part in words if part.strip()), calls


def _closing(text: str, name: str, start: int) -> int:
    """Where a call's closing tag stands; one inside a written file's content does not count."""
    end = text.find(f"</{name}>", start)
    if "<content>" in text[start : max(end, start)]:
        behind = text.rfind("</content>", start)
        end = max(end, text.find(f"</{name}>", behind)) if behind >= 0 else end
    return end


def _arguments(body: str) -> dict[str, str]:
    arguments: dict[str, str] = {}
    at = 0
    while found := _PARAMETER.search(body, at):
        closing = f"</{found[1]}>"
        end = body.rfind(closing, found.end()) if found[1] in _VERBATIM else body.find(closing, found.end())
        if end < 0:
            arguments[found[1]] = body[found.end() :].strip()
            break
        value = body[found.end() : end]
        arguments[found[1]] = value.strip("\r\n") if found[1] in _VERBATIM else value.strip()
        at = end + len(closing)
    if not arguments and body.strip():
        arguments["input"] = body.strip()
    return arguments
