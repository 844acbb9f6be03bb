"""What every view must satisfy before it is sent, whichever strategy made it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen

from refold.values.errors import ProjectionFailed
from refold.values.inputs import Input, Note, Projection, Rows
from refold.values.rows import Kind, Replay, RowRange
from refold.values.sizes import Model


@frozen
class Facts:
    """What a check knows of the history. `kind` looks up a row's kind by seq without decoding it.

    `prompt` is the row that opened the turn being answered (None: none is), with its size and the largest size at
    which it must stand whole (both tokens); `folded` is the last row that a manual or model compaction covered.
    """

    history: RowRange
    kind: Callable[[int], Kind]
    prompt: int | None
    prompt_tokens: int
    prompt_limit: int | None
    folded: int


def check(strategy: str, projection: Projection, facts: Facts, model: Model) -> None:
    """Raises ProjectionFailed, in one line, when the projection breaks a rule.

    Rules: inputs are rows of this history, in order, each shown at most once; every other row is covered or
    announced, and something is sent in its place; no cut separates a call from its result; the prompt being answered
    is shown once; a `Replay` goes to its owner alone.
    """
    fault = _fault(projection, facts, model)
    if fault:
        raise ProjectionFailed(
            f"strategy {strategy}: {fault}; nothing was sent and the transcript is untouched. "
            "Select another strategy with 'refold extensions enable NAME'"
        )


def _fault(projection: Projection, facts: Facts, model: Model) -> str | None:
    ids = [section.id for section in projection.sections]
    if len(set(ids)) != len(ids):
        return f"two sections have one id ({', '.join(sorted({i for i in ids if ids.count(i) > 1}))})"
    inputs = [part for section in projection.sections for part in section.inputs]
    for part in inputs:
        if isinstance(part, Replay) and part.owner != model.owner:
            return f"an opaque item of {part.owner} would go to {model.owner or 'another model'}"
    parts = [part for part in inputs if isinstance(part, Rows) and len(part.range)]
    covers = [section.covers for section in projection.sections if section.covers is not None]
    for section in projection.sections:
        if section.covers is not None and len(section.covers) and not any(_says(part) for part in section.inputs):
            return f"section {section.id} covers rows, but sends nothing in their place"
    return _range_fault(parts, covers, facts) or _prompt_fault(parts, facts)


def _says(part: Input) -> bool:
    if isinstance(part, Note):
        return bool(part.text.strip() or part.images)
    return isinstance(part, Replay) or len(part.range) > 0


def _range_fault(parts: Sequence[Rows], covers: Sequence[RowRange], facts: Facts) -> str | None:
    whole = facts.history
    for each in [*(part.range for part in parts), *covers]:
        if each.session != whole.session or each.after < whole.after or each.upto > whole.upto:
            return f"rows {each.after + 1}-{each.upto} of {each.session} are not in this history"
    last = whole.after
    for part in parts:
        if part.range.after < last:
            return f"rows {part.range.after + 1}-{min(last, part.range.upto)} are shown twice or out of order"
        last = part.range.upto
        strange = [seq for seq in part.elide if seq not in part.range]
        if strange:
            return f"row {strange[0]} is elided but not shown"
    missing = _first_gap(whole, [*(part.range for part in parts), *covers])
    if missing is not None:
        return f"row {missing} is neither shown nor covered nor announced"
    for edge in sorted({part.range.after for part in parts} | {part.range.upto for part in parts}):
        if whole.after < edge < whole.upto and facts.kind(edge + 1) == "result":
            return f"the cut after row {edge} separates a call from its result"
    return None


def _first_gap(whole: RowRange, ranges: Sequence[RowRange]) -> int | None:
    at = whole.after
    for each in sorted(ranges, key=lambda each: (each.after, each.upto)):
        if each.after > at:
            return at + 1
        at = max(at, each.upto)
    return at + 1 if at < whole.upto else None


def _prompt_fault(parts: Sequence[Rows], facts: Facts) -> str | None:
    prompt = facts.prompt
    if prompt is None or prompt <= facts.folded:
        return None
    part = next((part for part in parts if prompt in part.range), None)
    if part is None:
        return f"row {prompt}, the prompt being answered, is not shown"
    if prompt in part.elide and (facts.prompt_limit is None or facts.prompt_tokens <= facts.prompt_limit):
        return f"row {prompt}, the prompt being answered, is elided though it is no longer than a tenth of the window"
    return None
