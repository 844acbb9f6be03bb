"""`compact_context`: the tool by which a model asks for compaction itself."""

from __future__ import annotations

from collections.abc import Sequence

from refold.values.messages import ToolSpec

COMPACT_TOOL = "compact_context"


def compact_tool_spec(models: Sequence[str]) -> ToolSpec:
    """The tool as the model is told of it; `models` are those that may write the summary."""
    named = f" One of: {', '.join(models)}." if models else ""
    return ToolSpec(
        COMPACT_TOOL,
        "Fold older parts of this conversation into a summary, to make room. What was said stays in the transcript.",
        {
            "type": "object",
            "properties": {
                "instructions": {"type": "string", "description": "What the summary must keep."},
                "model": {"type": "string", "description": f"The model that writes the summary.{named}"},
            },
        },
    )
