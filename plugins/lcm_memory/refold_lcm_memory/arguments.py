"""What a model passes to a tool: limits are clamped, anything that cannot be meant is refused in one line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from refold import Context, NotFound, Refused

from refold_lcm_memory.node import Node
from refold_lcm_memory.tree import node as find

Arguments = Mapping[str, Any]


def number(arguments: Arguments, name: str, default: int, least: int, most: int) -> int:
    """A whole number between `least` and `most`; one beyond becomes the nearest. Raises Refused."""
    given = whole(arguments, name)
    return default if given is None else max(least, min(most, given))


def whole(arguments: Arguments, name: str) -> int | None:
    """A whole number, which a model may write as text; None: it is not given. Raises Refused."""
    given = arguments.get(name)
    if given is None or given == "":
        return None
    if isinstance(given, str) and re.fullmatch(r"\s*#?[0-9]{1,18}\s*", given):
        return int(given.strip().removeprefix("#"))
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < 2**62:
        raise Refused(f"{name} must be a whole number from 0 on; nothing was looked up")
    return given


def searched_text(arguments: Arguments, name: str, most: int) -> str:
    """A text of 1 to `most` characters, its white space kept. Raises Refused."""
    given = arguments.get(name)
    if not isinstance(given, str) or not 1 <= len(given) <= most:
        raise Refused(f"{name} must hold 1 to {most:,} characters; nothing was searched")
    if any("\ud800" <= char <= "\udfff" for char in given):
        raise Refused(f"{name} holds half of a character; nothing was searched; give the whole character")
    return given


def cursor(arguments: Arguments, form: str) -> tuple[int, ...] | None:
    """The numbers in a cursor of the form `form`, where N stands for a number; None: none is given.

    >>> cursor({"cursor": "x12.0"}, "xN.N")
    (12, 0)
    """
    given = arguments.get("cursor")
    if given is None or given == "":
        return None
    pattern = re.escape(form).replace("N", "([0-9]{1,18})")
    found = re.fullmatch(pattern, given.strip()) if isinstance(given, str) else None
    if found is None:
        raise Refused("cursor must be the `next` of an earlier answer of this tool; nothing was looked up")
    return tuple(int(each) for each in found.groups())


def the_node(context: Context, arguments: Arguments) -> Node | None:
    """The node that `node` names; None: it is not given. Raises NotFound, for nodes of other sessions too."""
    id = whole(arguments, "node")
    if id is None:
        return None
    found = find(context, id)
    if found is None:
        raise NotFound(f"node {id} not found in this session; lcm_list names its nodes")
    return found


def answer(**parts: object) -> str:
    """The answer of a tool as JSON text; parts that are None are left out."""
    return json.dumps({key: value for key, value in parts.items() if value is not None}, ensure_ascii=False)
