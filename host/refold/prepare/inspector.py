"""`/context`: a stored snapshot rendered for people and programs. It reads the snapshot and the transcript alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from refold.prepare.assemble import assemble
from refold.prepare.measure import SizeSource
from refold.prepare.messages import Sourced
from refold.prepare.snapshot import Part, Snapshot
from refold.values.contexts import History
from refold.values.errors import NotFound
from refold.values.inputs import Section
from refold.values.json_text import json_text
from refold.values.messages import AssistantMessage, Message, ResultMessage, UserMessage
from refold.values.rows import Image, Replay

PAGE_CHARACTERS = 8_000
PREVIEW_CHARACTERS = 180
ESTIMATE_METHODS: Mapping[SizeSource, str] = {
    "estimate": "local estimate by character classes; not counted by the provider",
    "reported_usage": "the provider's count of the last request, and a local estimate of what came or went since",
    "count_endpoint": "counted by the provider before it was sent",
}
PENDING = {"state": "pending", "reason": "no request was prepared in this session"}

_IMAGE = "image payload"
_OPAQUE = "opaque provider replay payload"


@frozen
class Rendered:
    """A section as text, and what was left out of it and why."""

    text: str
    omitted: tuple[str, ...] = ()


def render(messages: Iterable[Message]) -> Rendered:
    """Messages as blocks of text; payloads of pictures and opaque items are named, not shown."""
    blocks: list[str] = []
    omitted: dict[str, None] = {}
    for message in messages:
        match message:
            case UserMessage(text=text, images=images):
                blocks.append(_block("[user]", text, images))
            case AssistantMessage(text=text, calls=calls):
                lines = [f"[assistant call {call.name} · {call.id}]\n{_json(call.arguments)}" for call in calls]
                blocks += ([_block("[assistant]", text)] if text.strip() else []) + lines
                images = ()
            case ResultMessage(call_id=call, text=text, ok=ok, images=images):
                blocks.append(_block(f"[tool output · {call}]" if ok else f"[tool error · {call}]", text, images))
            case Replay():
                blocks.append("[provider replay item · opaque provider payload omitted]")
                omitted[_OPAQUE] = None
                images = ()
        if images:
            omitted[_IMAGE] = None
    return Rendered("\n\n".join(blocks), tuple(omitted))


def preview(text: str) -> str:
    """The beginning of a text on one line: at most 180 characters, the last an ellipsis when it was cut."""
    line = " ".join(text.split())
    return line if len(line) <= PREVIEW_CHARACTERS else line[: PREVIEW_CHARACTERS - 1] + "…"


def pages(characters: int) -> int:
    """How many pages a section of that length has; an empty one has none."""
    return -(-characters // PAGE_CHARACTERS)


def summary(snapshot: Snapshot) -> dict[str, Any]:
    """The snapshot as the JSON document of `refold context`. Unknown values are left out."""
    compaction = {
        "status": snapshot.status,
        "strategy": snapshot.strategy,
        "source": snapshot.source,
        "automatic": snapshot.automatic,
        "trigger_free_percent": _trigger_free(snapshot),
        "input_limit_tokens": snapshot.window,
        "estimated_input_tokens": snapshot.estimated,
        "estimate_method": ESTIMATE_METHODS[snapshot.size_source],
        "size_source": snapshot.size_source,
        "counted_tokens": snapshot.counted or None,
        "before_items": snapshot.before_items,
        "after_items": snapshot.after_items,
        "provider_input_tokens": snapshot.reported,
        "provider_cached_input_tokens": snapshot.reported_cached,
        "compacted": snapshot.compacted,
        "facts": {fact.label: fact.value for fact in snapshot.facts},
    }
    document = {
        "state": "ready",
        "model": snapshot.model.id or None,
        "protocol": snapshot.model.protocol,
        "captured_at": snapshot.captured_at,
        "context_window_tokens": snapshot.window,
        "context_window_source": snapshot.window_source,
        "rows_upto": snapshot.upto,
        "compaction": _known(compaction),
        "sections": [_known(_section(part)) for part in snapshot.parts],
        "notices": list(snapshot.notices),
        "changed": list(snapshot.changed),
    }
    return _known(document)


def page(snapshot: Snapshot, history: History, section: str, number: int) -> dict[str, Any]:
    """One page of a section, counted from 0. Raises NotFound for an unknown section or page."""
    part = next((part for part in snapshot.parts if part.id == section), None)
    if part is None:
        ids = ", ".join(part.id for part in snapshot.parts)
        raise NotFound(f"context section not found: {section!r}; this request has {ids}")
    rendered = _rendered(snapshot, history, part)
    count = pages(len(rendered.text))
    if not 0 <= number < max(1, count):
        raise NotFound(f"context page not found: {section} has {count} page(s), counted from 0")
    content = rendered.text[number * PAGE_CHARACTERS : (number + 1) * PAGE_CHARACTERS]
    omitted = {"omitted": "; ".join(rendered.omitted)} if rendered.omitted else {}
    return {"section": section, "page": number, "pages": count, "content": content, **omitted}


def sent(snapshot: Snapshot, history: History) -> list[list[Sourced]]:
    """The messages of each section that is made of inputs, as they were sent."""
    sections = [
        Section(part.id, part.label, "tail", tuple(each for each in part.inputs if not isinstance(each, Replay)))
        for part in snapshot.parts
        if part.text is None
    ]
    assembled = assemble(history, sections, snapshot.model, snapshot.notes)
    return [[each for each in section if not _was_left_out(snapshot, each)] for section in assembled]


def _was_left_out(snapshot: Snapshot, sourced: Sourced) -> bool:
    message, refs = sourced
    return isinstance(message, Replay) and any(ref.seq in snapshot.left_out for ref in refs)


def _rendered(snapshot: Snapshot, history: History, part: Part) -> Rendered:
    if part.text is not None:
        return Rendered(part.text)
    ids = [each.id for each in snapshot.parts if each.text is None]
    messages = [message for message, _ in sent(snapshot, history)[ids.index(part.id)]]
    opaque = [each for each in part.inputs if isinstance(each, Replay)]
    return render([*opaque, *messages])


def _section(part: Part) -> dict[str, Any]:
    covers = part.covers
    return {
        "id": part.id,
        "label": part.label,
        "kind": part.kind,
        "source": part.source,
        "item_count": part.items,
        "byte_count": part.bytes,
        "estimated_tokens": part.tokens,
        "preview": part.preview,
        "pages": pages(part.characters),
        "first_seq": covers.after + 1 if covers else None,
        "last_seq": covers.upto if covers else None,
        "row_count": len(covers) if covers else None,
    }


def _trigger_free(snapshot: Snapshot) -> int | None:
    if snapshot.window is None or snapshot.trigger is None or not 0 <= snapshot.trigger <= snapshot.window:
        return None
    return 100 - snapshot.trigger * 100 // snapshot.window


def _known(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if value is not None}


def _block(head: str, text: str, images: Iterable[Image] = ()) -> str:
    return "\n".join([head, *([text] if text else []), *(_image(image) for image in images)])


def _image(image: Image) -> str:
    return f"[image · {image.media_type} · {image.width}×{image.height} · payload omitted]"


def _json(arguments: object) -> str:
    return json_text(arguments)
