"""Lines of Codex rollout files, told from the line alone; the items in them are the Responses API's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refold.importers.lines import as_list, as_map, as_name, as_text, as_word, json_text
from refold.importers.messages.responses_items import CALLS, OPAQUE, RESULTS

NOISE = {"ghost_snapshot", "state"}
TYPES = {"message", "agent_message"} | NOISE | CALLS | RESULTS | OPAQUE

_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "<INSTRUCTIONS>",
    "<skill>",
    "<subagent_notification>",
    "<collaboration_mode>",
    "<turn_aborted>",
    "<model_switch>",
    "# AGENTS.md instructions for",
)


def envelope(record: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The type and payload of a line. Older files hold the items without an envelope, after a first line of facts."""
    kind = as_text(record.get("type"))
    if isinstance(record.get("payload"), dict):
        return kind, record["payload"]
    if record.get("record_type") == "state":
        return "state", record
    if kind in TYPES:
        return "response_item", record
    if not kind and "id" in record and "timestamp" in record:
        return "session_meta", record
    return kind, record


def is_injected(text: str) -> bool:
    """Whether the program, not the user, wrote this text into the user's role."""
    return text.lstrip().startswith(_INJECTED)


def system_texts(facts: Mapping[str, Any]) -> list[str]:
    """Instructions that a session's facts carry."""
    found = []
    for key in ("instructions", "base_instructions"):
        value = facts.get(key)
        text = as_text(as_map(value).get("text")) if isinstance(value, dict) else as_text(value)
        if text.strip():
            found.append(text)
    return found


def parent_of(facts: Mapping[str, Any]) -> str | None:
    """The session whose agent started this one."""
    spawned = as_map(as_map(as_map(facts.get("source")).get("subagent")).get("thread_spawn"))
    return as_name(facts.get("parent_thread_id") or spawned.get("parent_thread_id")) or None


def opaque_items(history: Any) -> list[Mapping[str, Any]]:
    """The provider's own compaction items in the history that replaced an older one."""
    return [item for item in map(as_map, as_list(history)) if as_word(item.get("type")) in OPAQUE - {"reasoning"}]


def fact_text(payload: Mapping[str, Any]) -> str:
    """What an event tells a person."""
    told = [as_text(payload.get(key)) for key in ("message", "reason", "prompt", "user_facing_hint")]
    return f"{as_text(payload.get('type'))}: " + (" ".join(filter(None, told)) or json_text(payload))
