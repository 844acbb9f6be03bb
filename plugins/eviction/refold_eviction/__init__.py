"""Tool results that the model has used up collapse to one line each; the transcript keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from refold import Context, ContextBlock, Fact, Manifest, Projection, Reducer, Rows, Tool, hookimpl

from refold_eviction.placeholders import OPENS, STALE
from refold_eviction.reducer import STANDS_BACK, Eviction, active
from refold_eviction.results import KEEP_TOOL
from refold_eviction.settings import EvictionSettings

RULES = (
    "Results of tools that read or search collapse to one line once newer results come, and so do listings after a few "
    "steps. Every such result goes stale and collapses, marked or not, when a write changes what it shows. Mark a "
    f"result that you need for longer: pass keep: true in the call, or call {KEEP_TOOL} later. To get a collapsed "
    "result back, make the call again that its line names."
)


@hookimpl
def manifest() -> Manifest:
    return Manifest(
        id="eviction",
        title="Result eviction",
        summary="Superseded tool results collapse to one line each; the transcript keeps them",
        default=True,
        settings=EvictionSettings,
    )


@hookimpl
def reducer() -> Reducer:
    return Eviction()


@hookimpl
def context_blocks(context: Context) -> Sequence[ContextBlock]:
    return [ContextBlock(id="eviction", label="Collapsed results", text=RULES)] if active(context) else []


@hookimpl
def tools() -> Sequence[Tool]:
    return [
        Tool(
            name=KEEP_TOOL,
            description=(
                "Mark the result of an earlier read (by path, perhaps with offset and limit in lines) or search (by "
                "pattern, perhaps with its path) as useful. Results that are not marked collapse to one line when "
                "newer ones come; a marked one stays until a write changes what it shows, and then it is stale. A "
                "collapsed result that is marked is shown again, unless it is stale; otherwise repeat its call."
            ),
            parameters={
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "the path that was read, or the folder of the search"},
                    "offset": {"type": "integer", "description": "first line; leave it out for the whole file"},
                    "limit": {"type": "integer", "description": "how many lines; 0 or left out: to the end"},
                    "pattern": {"type": "string", "description": "the pattern that was searched for"},
                },
                "additionalProperties": False,
            },
            call=mark,
        )
    ]


def mark(context: Context, arguments: Mapping[str, Any]) -> str:
    """The call itself is the mark: the reducer finds it in the transcript."""
    if context.strategy in STANDS_BACK:
        return (
            f"nothing was marked: the strategy {context.strategy} clears older results by itself; it keeps a result "
            "whose own call says keep: true, so repeat the call with that"
        )
    if not active(context):
        return "nothing to do: results do not collapse in this session"
    named = [str(arguments[name]) for name in ("pattern", "path") if arguments.get(name)]
    if not named:
        return f"usage: {KEEP_TOOL}(path, offset, limit) for a read, {KEEP_TOOL}(pattern, path) for a search"
    return f"marked as useful: earlier results of {' in '.join(named)}; they stay until a write changes them"


@hookimpl
def observe(context: Context, projection: Projection) -> Sequence[Fact]:
    parts = [part for section in projection.sections for part in section.inputs if isinstance(part, Rows)]
    lines = [text for part in parts for text in part.elide.values() if text.startswith(OPENS)]
    if not lines:
        return []
    stale = sum(f", {STALE}" in line for line in lines)
    return [Fact("evicted results", f"{len(lines):,}, of them {stale:,} stale")]
