"""refold keeps a long model conversation inside a bounded window and never loses the conversation.

What extensions and host apps import; nothing else of this package is public.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refold.hookspecs import hookimpl, hookspec
from refold.values.contexts import (
    CompactionStrategy,
    Context,
    Delegate,
    Fold,
    FoldPlugin,
    Fork,
    History,
    Prior,
    Reducer,
    ToolContext,
    Work,
    Writer,
)
from refold.values.errors import (
    Busy,
    CompactionFailed,
    NotFound,
    ProjectionFailed,
    RefoldError,
    Refused,
    SummaryFailed,
    SummaryRejected,
    Superseded,
    Vetoed,
)
from refold.values.inputs import Fact, Input, Note, Observation, Projection, Rows, Section
from refold.values.manifest import Manifest
from refold.values.outcome import Applied, Blocked, Demand, Event, Nothing, Outcome, Summary
from refold.values.rows import Call, Cut, Image, Replay, Row, RowRange, SourceRef
from refold.values.sizes import Measured, Model, Sizing, Window
from refold.values.tools import (
    CallContext,
    Command,
    ContextBlock,
    Importer,
    SessionFacts,
    Tool,
    ToolResult,
    ToolTraits,
)

if TYPE_CHECKING:
    from refold.agent import commands as commands
    from refold.agent import events as events
    from refold.agent.host import Host
    from refold.agent.session import Session
    from refold.agent.tools import HostTool
    from refold.agent.turn import Overflow
    from refold.agent.turn_options import TurnOptions
    from refold.providers.failures import ProviderError

__all__ = [
    "Applied",
    "Blocked",
    "Busy",
    "Call",
    "CallContext",
    "Command",
    "CompactionFailed",
    "CompactionStrategy",
    "Context",
    "ContextBlock",
    "Cut",
    "Delegate",
    "Demand",
    "Event",
    "Fact",
    "Fold",
    "FoldPlugin",
    "Fork",
    "History",
    "Host",
    "HostTool",
    "Image",
    "Importer",
    "Input",
    "Manifest",
    "Measured",
    "Model",
    "NotFound",
    "Note",
    "Nothing",
    "Observation",
    "Outcome",
    "Overflow",
    "Prior",
    "Projection",
    "ProjectionFailed",
    "ProviderError",
    "Reducer",
    "RefoldError",
    "Refused",
    "Replay",
    "Row",
    "RowRange",
    "Rows",
    "Section",
    "Session",
    "SessionFacts",
    "Sizing",
    "SourceRef",
    "Summary",
    "SummaryFailed",
    "SummaryRejected",
    "Superseded",
    "Tool",
    "ToolContext",
    "ToolResult",
    "ToolTraits",
    "TurnOptions",
    "Vetoed",
    "Window",
    "Work",
    "Writer",
    "hookimpl",
    "hookspec",
]


_LATER = {
    "Host": "refold.agent.host",
    "HostTool": "refold.agent.tools",
    "Overflow": "refold.agent.turn",
    "ProviderError": "refold.providers.failures",
    "Session": "refold.agent.session",
    "TurnOptions": "refold.agent.turn_options",
    "commands": "refold.agent.commands",
    "events": "refold.agent.events",
}


def __getattr__(name: str) -> Any:
    """What host apps use loads when it is first used: extensions import this module and need none of it."""
    if name not in _LATER:
        raise AttributeError(f"module 'refold' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_LATER[name])
    return module if _LATER[name].endswith(f".{name}") else getattr(module, name)
