"""Items of OpenAI's Responses API, told from the item alone. Codex records them as they were."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from refold.importers.lines import as_arguments, as_list, as_map, as_text, parse
from refold.importers.steps import picture_from_url
from refold.values.rows import Call, Image

_PAIRED = {
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "computer_call",
}
CALLS = frozenset(_PAIRED)
RESULTS = frozenset(f"{kind}_output" for kind in _PAIRED)
OPAQUE = frozenset(
    {
        "code_interpreter_call",
        "compaction",
        "compaction_summary",
        "context_compaction",
        "file_search_call",
        "image_generation_call",
        "mcp_approval_request",
        "mcp_approval_response",
        "mcp_call",
        "mcp_list_tools",
        "reasoning",
        "tool_search_call",
        "tool_search_output",
        "web_search_call",
    }
)
"""Items that only the provider reads, or that it ran itself: kept as replay rows."""

_ACTIONS = {"local_shell_call": "local_shell", "shell_call": "shell", "computer_call": "computer"}
_EXIT_CODE = re.compile(r"\s*(?:Exit code|Process exited with code):? (-?\d{1,9})\b")


@frozen
class Words:
    """The text and the pictures of a content list."""

    text: str
    images: tuple[Image, ...]


def words(content: Any) -> Words:
    """What a message or an output says."""
    texts: list[str] = []
    images: list[Image] = []
    for part in content if isinstance(content, list) else [content]:
        fields = as_map(part)
        url = as_text(fields.get("image_url"))
        image = picture_from_url(url) if url else None
        text = next((fields[key] for key in ("text", "refusal") if isinstance(fields.get(key), str)), None)
        if image is not None:
            images.append(image)
        elif text is not None:
            texts.append(text)
        elif url and not url.startswith("data:"):
            texts.append(f"[image: {url}]")
        else:
            texts.append(as_text(part))
    return Words("\n\n".join(texts), tuple(images))


def call_of(item: Mapping[str, Any]) -> Call:
    """The call that an item records."""
    kind, call_id = as_text(item.get("type")), as_text(item.get("call_id") or item.get("id"))
    if kind == "custom_tool_call":
        return Call(call_id, as_text(item.get("name")), {"input": item.get("input")})
    if kind == "apply_patch_call":
        return Call(call_id, "apply_patch", as_arguments(item.get("operation")))
    if kind in _ACTIONS:
        return Call(call_id, _ACTIONS[kind], as_arguments(item.get("action") or item.get("actions")))
    return Call(call_id, as_text(item.get("name")), as_arguments(item.get("arguments")))


def call_id_of(item: Mapping[str, Any]) -> str:
    """The call that a result answers."""
    return as_text(item.get("call_id") or item.get("id"))


def output_of(item: Mapping[str, Any]) -> tuple[Words, bool]:
    """What a call returned, and whether it went well: by its own mark, else by the exit code that it states."""
    output = item.get("output")
    failed = item.get("status") in ("failed", "incomplete")
    if isinstance(output, dict) and "content" in output:
        return words(output.get("content")), output.get("success") is not False and not failed
    if item.get("type") == "shell_call_output":
        return _shell(as_list(output))
    said = words(output)
    code = _EXIT_CODE.match(said.text)
    if code:
        return said, int(code[1]) == 0
    if said.text.startswith("{"):
        stated = as_map(as_map(parse(said.text.encode("utf-8", "surrogatepass"))).get("metadata")).get("exit_code")
        return said, stated in (None, 0) and not failed
    return said, not failed


def _shell(outputs: list[Any]) -> tuple[Words, bool]:
    texts, ok = [], True
    for each in map(as_map, outputs):
        texts += [text for key in ("stdout", "stderr") if (text := as_text(each.get(key))).strip()]
        code = as_map(each.get("outcome")).get("exit_code", 0)
        ok = ok and code == 0
        texts += [f"[exit code {code}]"] if code != 0 else []
    return Words("\n".join(texts), ()), ok
