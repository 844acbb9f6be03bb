"""Response items of Codex rollout files, told from the item alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from refold.importers.lines import as_arguments, as_list, as_map, as_name, as_text, as_word, json_text, parse
from refold.importers.steps import picture_from_url
from refold.values.rows import Call, Image

CALLS = {"function_call", "custom_tool_call", "local_shell_call"}
RESULTS = {"function_call_output", "custom_tool_call_output", "local_shell_call_output"}
OPAQUE = {
    "reasoning",
    "compaction",
    "compaction_summary",
    "context_compaction",
    "web_search_call",
    "image_generation_call",
    "tool_search_call",
    "tool_search_output",
}
"""Items that only the provider reads, or that it ran itself: kept as replay rows."""
NOISE = {"ghost_snapshot", "state"}
TYPES = {"message", "agent_message"} | CALLS | RESULTS | OPAQUE | NOISE

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
_EXIT_CODE = re.compile(r"\s*(?:Exit code|Process exited with code):? (-?\d{1,9})\b")


@frozen
class Words:
    """The text and the pictures of a content list."""

    text: str
    images: tuple[Image, ...]


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


def words(content: Any) -> Words:
    """What a message or an output says."""
    texts: list[str] = []
    images: list[Image] = []
    for part in content if isinstance(content, list) else [content]:
        fields = as_map(part)
        url = as_text(fields.get("image_url"))
        image = picture_from_url(url) if url else None
        if image is not None:
            images.append(image)
        elif isinstance(fields.get("text"), str):
            texts.append(fields["text"])
        elif url and not url.startswith("data:"):
            texts.append(f"[image: {url}]")
        else:
            texts.append(as_text(part))
    return Words("\n\n".join(texts), tuple(images))


def is_injected(text: str) -> bool:
    """Whether the program, not the user, wrote this text into the user's role."""
    return text.lstrip().startswith(_INJECTED)


def call_of(item: Mapping[str, Any]) -> Call:
    """The call that an item records."""
    call_id = as_text(item.get("call_id") or item.get("id"))
    match item.get("type"):
        case "custom_tool_call":
            return Call(call_id, as_text(item.get("name")), {"input": item.get("input")})
        case "local_shell_call":
            return Call(call_id, "local_shell", as_arguments(item.get("action")))
        case _:
            return Call(call_id, as_text(item.get("name")), as_arguments(item.get("arguments")))


def output_of(item: Mapping[str, Any]) -> tuple[Words, bool]:
    """What a call returned, and whether it went well: by its own mark, else by the exit code that it states."""
    output = item.get("output")
    if isinstance(output, dict):
        said = words(output.get("content"))
        return said, output.get("success") is not False
    said = words(output)
    code = _EXIT_CODE.match(said.text)
    if code:
        return said, int(code[1]) == 0
    if said.text.startswith("{"):
        stated = as_map(as_map(parse(said.text.encode("utf-8", "surrogatepass"))).get("metadata")).get("exit_code")
        return said, stated in (None, 0)
    return said, True


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
