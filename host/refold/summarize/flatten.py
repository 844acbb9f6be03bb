"""Rows, folds and texts -> steps of labelled blocks, as a summarizer reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping

import orjson
from attrs import frozen

from refold.sizing.estimate import MESSAGE, row_tokens, tokens
from refold.summarize.blocks import Block, Step
from refold.summarize.clip import clipped, sound
from refold.values.contexts import Fold
from refold.values.rows import Call, Image, Row, SourceRef

Material = Row | Fold | str
"""What is summarized: durable rows, stored folds, texts of an extension, oldest first."""

ENTRY = 16_000
"""Characters of one user, assistant, fold or extension text; the middle of a longer one is left out."""

RESULT = 8_000
"""Characters of one tool result."""

ARGUMENTS = 4_000
"""Characters of one call's arguments."""

LONG_LINE = 80
"""A line of that many characters is shown once; what repeats it is left out with a marker."""

REMEMBERED = 50_000
"""Lines that are remembered for that: sixteen bytes each, so memory is bounded."""


def flatten(material: Iterable[Material], elided: Mapping[SourceRef, str]) -> Iterator[Step]:
    """The steps of the material, oldest first, read as they are taken.

    Reasoning, replay items and events are left out; images become a line about them. A row in `elided` shows that
    text instead, as the view did.
    """
    repeats = _Repeats()
    names: dict[str, str] = {}
    pending: list[_Part] = []
    for piece in material:
        if isinstance(piece, Row) and piece.kind == "result":
            pending.append(_result(piece, elided, names, repeats))
            continue
        if pending:
            yield _step(pending)
            pending = []
        if isinstance(piece, str):
            yield _step([_text(piece, repeats)])
        elif isinstance(piece, Fold):
            yield _step([_fold(piece, repeats)])
        elif piece.kind == "user":
            yield _step([_user(piece, elided)])
        elif piece.kind == "assistant":
            pending = [_assistant(piece, elided, names, repeats)]
    if pending:
        yield _step(pending)


@frozen
class _Part:
    blocks: tuple[Block, ...]
    size: int


def _step(parts: list[_Part]) -> Step:
    blocks = tuple(block for part in parts for block in part.blocks)
    return Step(
        blocks=blocks,
        source=sum(part.size for part in parts),
        size=sum(tokens(block.render()) + 1 for block in blocks),
    )


def _fold(fold: Fold, repeats: _Repeats) -> _Part:
    """A stored summary."""
    text = sound(fold.text)
    shown = repeats.dropped(clipped(text, ENTRY))
    blocks = (Block("fold", f"summary {fold.label}".strip(), shown),) if shown.strip() else ()
    return _Part(blocks, tokens(text))


def _text(text: str, repeats: _Repeats) -> _Part:
    """A text of an extension."""
    text = sound(text)
    shown = repeats.dropped(clipped(text, ENTRY))
    return _Part((Block("text", "text", shown),) if shown.strip() else (), tokens(text))


def _user(row: Row, elided: Mapping[SourceRef, str]) -> _Part:
    text = sound(elided.get(row.ref, row.text))
    size = row_tokens(row) if row.ref not in elided else tokens(text) + MESSAGE
    shown = _with_images(clipped(text, ENTRY), row.images)
    label = "user, follow-up" if row.turn > 0 and not row.opens else "user"
    return _Part((Block("user", label, shown),) if shown.strip() else (), size)


def _assistant(row: Row, elided: Mapping[SourceRef, str], names: dict[str, str], repeats: _Repeats) -> _Part:
    text = sound(elided.get(row.ref, row.text))
    size = row_tokens(row) if row.ref not in elided else tokens(text) + MESSAGE
    shown = _with_images(repeats.dropped(clipped(text, ENTRY)), row.images)
    blocks = [Block("assistant", "assistant", shown)] if shown.strip() else []
    for call in row.calls:
        names[call.id] = call.name
        blocks.append(Block("call", f"call {call.name}", repeats.dropped(clipped(sound(_arguments(call)), ARGUMENTS))))
    return _Part(tuple(blocks), size)


def _result(row: Row, elided: Mapping[SourceRef, str], names: dict[str, str], repeats: _Repeats) -> _Part:
    text = sound(elided.get(row.ref, row.text))
    size = row_tokens(row) if row.ref not in elided else tokens(text) + MESSAGE
    shown = _with_images(repeats.dropped(clipped(text, RESULT)), row.images)
    word = "result" if row.ok else "error"
    label = f"{word} {names.get(row.call_id or '', '')}".rstrip()
    return _Part((Block("result" if row.ok else "error", label, shown),), size)


def _arguments(call: Call) -> str:
    """The arguments as lines `name: value`; a value that is no text as compact JSON."""
    lines = []
    for name, value in call.arguments.items():
        lines.append(f"{name}: {value if isinstance(value, str) else _json(value)}")
    return "\n".join(lines)


def _json(value: object) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # an integer beyond 64 bits, a lone surrogate
        return str(value)


def _with_images(text: str, images: tuple[Image, ...]) -> str:
    """The text, then one line a picture: type and size in pixels, never its bytes or key."""
    lines = [f"[image {image.media_type} {image.width}x{image.height}, not shown]" for image in images]
    return "\n".join([text, *lines] if text else lines)


class _Repeats:
    """Long lines seen in this summary, by digest. When the memory is full, new lines are no longer remembered."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def dropped(self, text: str) -> str:
        """The text without long lines that were shown before, and a marker that counts them."""
        if len(text) < LONG_LINE:
            return text
        kept: list[str] = []
        gone = 0
        for line in text.split("\n"):
            if len(line) >= LONG_LINE and self._known(line):
                gone += 1
                continue
            if gone:
                kept.append(_repeated(gone))
                gone = 0
            kept.append(line)
        if gone:
            kept.append(_repeated(gone))
        return "\n".join(kept)

    def _known(self, line: str) -> bool:
        digest = hashlib.blake2b(line.strip().encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if digest in self._seen:
            return True
        if len(self._seen) < REMEMBERED:
            self._seen.add(digest)
        return False


def _repeated(count: int) -> str:
    return "[repeated line left out]" if count == 1 else f"[{count} repeated lines left out]"
