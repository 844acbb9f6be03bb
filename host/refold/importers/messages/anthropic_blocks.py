"""Content blocks of Anthropic messages: the Messages API, and Claude Code, which records them as they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from refold.importers.lines import as_arguments, as_list, as_map, as_text, json_text
from refold.importers.steps import picture, replay
from refold.values.rows import Call, Image, Replay


@frozen
class Result:
    """One tool result."""

    call_id: str
    text: str
    ok: bool
    images: tuple[Image, ...]


@frozen
class Said:
    """What a content list holds. `kept` are whole blocks, as JSON, that no row has a place for."""

    texts: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    images: tuple[Image, ...] = ()
    replays: tuple[Replay, ...] = ()
    results: tuple[Result, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n\n".join(self.texts)


def blocks(content: Any) -> Iterator[Mapping[str, Any]]:
    """A content's blocks; a plain text, alone or in a list, is a text block."""
    for item in content if isinstance(content, list) else [content]:
        if isinstance(item, str):
            yield {"type": "text", "text": item}
        elif isinstance(item, dict):
            yield item
        elif item is not None:
            yield {"type": "text", "text": json_text(item)}


def is_content(content: Any) -> bool:
    """Whether this is what a message's content may be."""
    return isinstance(content, (str, list))


def read_user(content: Any) -> Said:
    """What stands in the user role: words, pictures, and the results of calls."""
    texts: list[str] = []
    images: list[Image] = []
    results: list[Result] = []
    kept: list[str] = []
    for block in blocks(content):
        if block.get("type") == "tool_result":
            results.append(_result(block, kept))
        else:
            _plain(block, texts, images, kept)
    return Said(texts=tuple(texts), images=tuple(images), results=tuple(results), kept=tuple(kept))


def read_assistant(content: Any, model: str) -> Said:
    """What a model said. Thinking, and tools that the provider ran itself, become replay items of that model."""
    texts: list[str] = []
    calls: list[Call] = []
    replays: list[Replay] = []
    for block in blocks(content):
        kind = block.get("type")
        if kind == "text":
            texts.append(as_text(block.get("text")))
        elif kind == "tool_use":
            calls.append(Call(as_text(block.get("id")), as_text(block.get("name")), as_arguments(block.get("input"))))
        else:
            replays.append(replay("anthropic", model, block))
    return Said(texts=tuple(t for t in texts if t.strip()), calls=tuple(calls), replays=tuple(replays))


def _result(block: Mapping[str, Any], kept: list[str]) -> Result:
    texts: list[str] = []
    images: list[Image] = []
    for part in blocks(block.get("content")):
        _plain(part, texts, images, kept)
    return Result(
        call_id=as_text(block.get("tool_use_id")),
        text="\n".join(texts),
        ok=not block.get("is_error"),
        images=tuple(images),
    )


def _plain(block: Mapping[str, Any], texts: list[str], images: list[Image], kept: list[str]) -> None:
    kind, source = block.get("type"), as_map(block.get("source"))
    if kind == "text":
        texts.append(as_text(block.get("text")))
    elif kind == "image" and isinstance(source.get("data"), str):
        images.append(picture(as_text(source.get("media_type")) or "image/png", source["data"]))
    elif kind == "image" and isinstance(source.get("url"), str):
        texts.append(f"[image: {source['url']}]")
    else:
        texts.append(f"[{as_text(kind) or 'item'}: kept in the transcript, not shown]")
        kept.append(json_text(block))


def role_of(message: Mapping[str, Any]) -> str:
    """`user`, `assistant`, `system`, or empty for anything else."""
    role = message.get("role")
    return role if role in ("user", "assistant", "system") else ""


def system_text(system: Any) -> str:
    """A system prompt, given as text or as a list of text blocks."""
    if isinstance(system, str):
        return system
    return "\n\n".join(as_text(as_map(block).get("text")) for block in as_list(system))
