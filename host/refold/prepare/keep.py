"""The optional argument by which a call asks that its result stays in view.

It is added to the tools that read or search while a reducer says that it heeds it, and is taken off before the tool
runs, which knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from refold.values.messages import ToolSpec
from refold.values.tools import ToolTraits

KEEP = "keep"

_SCHEMA = {
    "type": "boolean",
    "description": "true: the result is useful for longer, so it is not collapsed to one line when newer ones come",
}


def with_keep(tool: ToolSpec, traits: ToolTraits | None) -> ToolSpec:
    """The tool with an optional `keep`, if it reads or searches and has no such argument of its own.

    >>> tool = with_keep(ToolSpec("read", "", {"type": "object", "properties": {}}), ToolTraits(reads="path"))
    >>> list(tool.parameters["properties"])
    ['keep']
    """
    if traits is None or traits.action or traits.pins is not None or not (traits.reads or traits.searches):
        return tool
    properties = tool.parameters.get("properties") or {}
    if KEEP in properties:
        return tool
    return evolve(tool, parameters={**tool.parameters, "properties": {**properties, KEEP: _SCHEMA}})


def without_keep(arguments: Mapping[str, Any], parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments for a tool with its own schema: without `keep`, unless that names it."""
    if KEEP not in arguments or KEEP in (parameters.get("properties") or {}):
        return arguments
    return {name: value for name, value in arguments.items() if name != KEEP}
