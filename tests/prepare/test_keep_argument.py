"""The optional `keep` that the host adds to tools, and takes off their calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from refold.prepare.keep import with_keep, without_keep
from refold.values.messages import ToolSpec
from refold.values.tools import ToolTraits

PLAIN = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
OWN = {"type": "object", "properties": {"keep": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("traits", "parameters", "offered"),
    [
        (ToolTraits(reads="path"), PLAIN, True),
        (ToolTraits(searches="pattern"), PLAIN, True),
        (ToolTraits(reads="path"), {"type": "object"}, True),
        (ToolTraits(lists="path"), PLAIN, False),
        (ToolTraits(writes=("path",)), PLAIN, False),
        (ToolTraits(action=True, reads="path"), PLAIN, False),
        (ToolTraits(reads="path", pins="hold"), PLAIN, False),
        (ToolTraits(reads="path"), OWN, False),
        (ToolTraits(), PLAIN, False),
        (None, PLAIN, False),
    ],
)
def test_tools_that_read_or_search_get_it_unless_they_have_their_own(
    traits: ToolTraits | None, parameters: Mapping[str, Any], offered: bool
) -> None:
    tool = with_keep(ToolSpec("read", "Reads.", parameters), traits)
    added = tool.parameters.get("properties", {}).get("keep", {}).get("type") == "boolean"
    assert added is offered
    assert tool.parameters.get("required") == parameters.get("required")


def test_it_is_taken_off_before_the_tool_runs_unless_the_tool_has_its_own() -> None:
    assert without_keep({"path": "a", "keep": True}, PLAIN) == {"path": "a"}
    assert without_keep({"path": "a"}, PLAIN) == {"path": "a"}
    assert without_keep({"keep": 3}, OWN) == {"keep": 3}
    assert without_keep({"path": "a", "keep": True}, {}) == {"path": "a"}


def test_no_reducer_that_heeds_it_no_argument(install: Any, home: Any) -> None:
    from refold import Host
    from refold.agent.tools import HostTool

    body = """
    class Reader:
        def reduce(self, context, rows, size, refused): return {}
        def pins(self, context): return context.session == "heeded"
    @hookimpl
    def reducer(): return Reader()
    """
    install("reader", body)
    with Host(home) as host:
        if any(each.id == "eviction" for each in host.extensions().extensions):
            host.choose("eviction", False)
        for name, offered in (("heeded", True), ("other", False)):
            session = host.new(name)
            session.tools = (HostTool("read", "Reads.", PLAIN, str, ToolTraits(reads="path")),)
            session.user("go")
            [read] = [tool for tool in session.prepare().request.tools if tool.name == "read"]
            assert ("keep" in read.parameters["properties"]) is offered


def test_a_tool_of_a_known_name_without_traits_has_those_that_refold_knows(home: Any) -> None:
    from refold import Host
    from refold.agent.tools import HostTool
    from refold.prepare.context import BoundContext

    with Host(home) as host:
        session = host.new()
        session.tools = (
            HostTool("read", "Reads.", PLAIN, str),
            HostTool("grep", "Does what nobody knows.", PLAIN, str, ToolTraits()),
            HostTool("mine", "Does what nobody knows.", PLAIN, str),
        )
        with session._viewing() as (view, _):
            context = BoundContext(view, view.composition.extension("rolling"))
            assert context.traits("read") == ToolTraits(reads="path")
            assert context.traits("grep") == ToolTraits()
            assert context.traits("mine") is None
