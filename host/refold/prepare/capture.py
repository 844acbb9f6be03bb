"""What is kept of a drawn request for `/context`."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from refold.prepare.draw import Drawn, unsent
from refold.prepare.inspector import preview, render
from refold.prepare.measure import message_tokens
from refold.prepare.messages import Sourced
from refold.prepare.request import Check
from refold.prepare.snapshot import Part, Snapshot
from refold.values.inputs import Fact, Rows, Section
from refold.values.json_text import json_text
from refold.values.messages import Message, ToolSpec
from refold.values.rows import Replay, RowRange
from refold.values.sizes import Model

SO_FAR = "answer-so-far"
_PREVIEWED = 2_000


def capture(
    drawn: Drawn,
    judged: Check,
    before: Snapshot | None,
    *,
    now: str,
    compacted: bool,
    facts: Sequence[Fact],
    notices: Sequence[str],
) -> Snapshot:
    """The snapshot of this request; `before` is that of the session's last one, `compacted` this very preparation."""
    view, projection = drawn.view, drawn.projection
    parts = _parts(drawn)
    own = [Fact("results shown as one line", f"{len(drawn.elided):,}")] if drawn.elided else []
    own += [Fact("thinking left out", f"{len(drawn.left_out):,}")] if drawn.left_out else []
    snapshot = Snapshot(
        captured_at=now,
        strategy=view.composition.strategy.id if view.composition.strategy else None,
        status=projection.observation.status,
        source=projection.observation.source,
        model=view.model,
        window=view.window.tokens,
        window_source=view.window.source,
        trigger=projection.trigger,
        automatic=automatic(judged),
        upto=view.history.range.upto,
        compaction=view.compactions,
        compacted=compacted,
        estimated=drawn.size.tokens,
        size_source=drawn.size.source,
        counted=drawn.size.measured,
        before_items=len(view.history.range),
        after_items=len(drawn.request.messages),
        parts=parts,
        notes=drawn.pinned.notes,
        facts=(*projection.observation.facts, *own, *facts),
        notices=tuple(notices),
        left_out=tuple(sorted(drawn.left_out)),
    )
    return snapshot if before is None else evolve(snapshot, changed=changes(before, snapshot))


def automatic(judged: Check) -> str:
    """When compaction runs by itself, as `/context` says it.

    >>> automatic(Check(10, 180_000, Window(200_000, "catalog"), False, ""))
    'auto at 90 % - 180.0k'
    """
    if judged.why:
        return f"auto off: {judged.why}"
    assert judged.trigger is not None
    assert judged.window.tokens is not None
    percent = judged.trigger * 100 // judged.window.tokens
    return f"auto at {percent} % - {judged.trigger / 1000:.1f}k"


def changes(before: Snapshot, after: Snapshot) -> tuple[str, ...]:
    """Why `after` does not extend `before`; empty when it does.

    What a provider has cached is good for the part in front of the first difference alone, so each cause is named.
    """
    old, new = _texts(before), _texts(after)
    causes = {
        "the model changed": _identity(before.model) != _identity(after.model),
        "the strategy changed": before.strategy != after.strategy,
        "the window changed": before.window != after.window,
        "a compaction was applied": before.compaction != after.compaction,
        "the system prompt changed": old.get("instructions") != new.get("instructions"),
        "extension context changed": _blocks(old) != _blocks(new),
        "the tools changed": old.get("tools") != new.get("tools"),
        "rows were elided or shown again": _elided(before, before.upto) != _elided(after, before.upto),
        "thinking was left out": any(seq <= before.upto for seq in {*after.left_out} - {*before.left_out}),
    }
    return tuple(cause for cause, holds in causes.items() if holds)


def _identity(model: Model) -> tuple[str, str, str]:
    return model.id, model.protocol, model.owner


def _texts(snapshot: Snapshot) -> dict[str, str]:
    return {part.id: part.text for part in snapshot.parts if part.text is not None}


def _blocks(texts: dict[str, str]) -> dict[str, str]:
    return {id: text for id, text in texts.items() if id not in ("instructions", "tools", SO_FAR)}


def _elided(snapshot: Snapshot, upto: int) -> dict[int, str]:
    rows = [each for part in snapshot.parts for each in part.inputs if isinstance(each, Rows)]
    return {seq: text for each in rows for seq, text in each.elide.items() if seq <= upto}


def _parts(drawn: Drawn) -> tuple[Part, ...]:
    sizer = drawn.view.sizing.sizer
    head = drawn.pinned.sent
    texts = []
    if head.system:
        texts.append(("instructions", "system instructions", "instructions", "system prompt", head.system))
    for block in head.blocks:
        label = f"extension context · {block.label}"
        texts.append((f"extension-{block.id}", label, "extension_context", "extension", block.text))
    front = [_text_part(*each, tokens=sizer.text(each[-1])) for each in texts]
    sections = [
        _section_part(drawn, section, messages)
        for section, messages in zip(drawn.projection.sections, drawn.messages, strict=True)
    ]
    so_far = [_so_far(drawn.beside, drawn)] if drawn.beside else []
    schemas, count = _schemas(drawn.view.tools), len(drawn.view.tools)
    tools = (
        [
            _text_part(
                "tools",
                "tool schemas",
                "tools",
                "tools",
                schemas,
                tokens=sizer.text(schemas),
                items=count,
            )
        ]
        if drawn.view.tools
        else []
    )
    return (*front, *sections, *so_far, *tools)


def _text_part(id: str, label: str, kind: str, source: str, text: str, *, tokens: int, items: int = 1) -> Part:
    size = len(text.encode("utf-8", "surrogatepass"))
    return Part(id, label, kind, source, items, size, len(text), tokens, preview(text[:_PREVIEWED]), text)


def _so_far(messages: Sequence[Message], drawn: Drawn) -> Part:
    """What a request that goes on with a cut answer holds behind the history."""
    tokens = sum(message_tokens(message, drawn.view.sizing.sizer) for message in messages)
    text = render(messages).text
    return _text_part(SO_FAR, "the answer so far", "tail", "this turn", text, tokens=tokens, items=len(messages))


def _section_part(drawn: Drawn, section: Section, sourced: Sequence[Sourced]) -> Part:
    messages: list[Message] = [message for message, _ in sourced]
    text = render(messages).text
    rows = [part.range for part in section.inputs if isinstance(part, Rows)]
    shown = RowRange(rows[0].session, rows[0].after, rows[-1].upto) if rows else None
    strategy = drawn.view.composition.strategy
    return Part(
        id=section.id,
        label=section.label,
        kind=section.kind,
        source="transcript" if section.kind == "tail" or strategy is None else f"strategy {strategy.id}",
        items=len(messages),
        bytes=len(text.encode("utf-8", "surrogatepass")),
        characters=len(text),
        tokens=drawn.view.sizing.section(section) - unsent(drawn.view, [section], [sourced]),
        preview=preview(text[:_PREVIEWED]),
        inputs=tuple(Replay(part.owner, "") if isinstance(part, Replay) else part for part in section.inputs),
        covers=section.covers or shown,
    )


def _schemas(tools: Sequence[ToolSpec]) -> str:
    return json_text(
        [{"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in tools]
    )
