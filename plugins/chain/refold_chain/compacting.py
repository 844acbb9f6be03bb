"""Writing blocks: one or two appended, then perhaps the earliest merged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from attrs import evolve, frozen
from refold import (
    Applied,
    CompactionFailed,
    Demand,
    Fold,
    Nothing,
    Outcome,
    RowRange,
    Summary,
    SummaryFailed,
    Superseded,
    Work,
)

from refold_chain import blocks, plan, texts
from refold_chain.blocks import Block
from refold_chain.layout import Layout, answered
from refold_chain.plan import Part
from refold_chain.view import Base, front, window_of


@frozen
class _Prompt:
    """A prompt in front of a block, `whole` or so many `characters` of it; `upto` is the last row that is shown with
    it. What is cut out of one goes to the summarizer."""

    seq: int
    upto: int
    characters: int
    whole: bool


def fold(context: Work, demand: Demand, base: Base, found: Layout, parts: Sequence[Part]) -> Outcome:
    """Appends one block a part; each is committed by itself, and leaves a complete chain. Raises CompactionFailed,
    SummaryFailed or Superseded when there is not even the first; then nothing was written."""
    rows = RowRange(context.session, parts[0].after, parts[-1].upto)
    context.begin(rows)
    parts = _with_words(context, parts)
    written, note = base, ""
    summaries: list[Summary] = []
    for number, part in enumerate(parts):
        context.progress(number, len(parts))
        try:
            block, summary = _block(context, demand, written, part, _prompt(context, found, part))
            grown = Base(written.folds, (*written.blocks, block), block.upto)
            reason = _not_smaller(context, written, grown)
            if not reason:
                first = not written.blocks
                context.commit(partial(blocks.append, session=context.session, block=block, first=first))
        except (SummaryFailed, Superseded) as error:
            if not summaries:
                raise
            reason = str(error)
        if reason:
            note = f"rows {part.after + 1}-{part.upto} were not folded: {reason}"
            break
        written = grown
        summaries.append(summary)
    if not summaries:
        if demand.kind in ("manual", "model"):
            return Nothing(reason)
        raise CompactionFailed(f"{reason}; nothing was changed")
    context.progress(len(parts), len(parts))
    note = note or merge(context, written, _prompt_seq(context))
    models = dict.fromkeys(summary.model for summary in summaries)
    told = Summary(summaries[-1].text, " + ".join(models), sum(summary.passes for summary in summaries))
    covers = RowRange(context.session, rows.after, written.after)
    return Applied(covers, summary=told, note=note)


def _with_words(context: Work, parts: Sequence[Part]) -> Sequence[Part]:
    """The parts; rows that hold no words, such as events, go into the block of those behind them."""
    grown: list[Part] = []
    after = parts[0].after
    for part in parts:
        rows = RowRange(context.session, after, part.upto)
        if not all(row.wordless for row in context.history.rows(rows)):
            grown.append(evolve(part, after=after))
            after = part.upto
    return grown


def merge(context: Work, base: Base, prompt: int | None) -> str:
    """Merges the earliest blocks where they outgrew their share; returns a note for people.

    Blocks of the turn whose prompt is `prompt` are merged last, and among themselves. A merge that fails leaves the
    chain as it is.
    """
    runs = _runs(context, base, prompt)
    for start, end in runs:
        try:
            _replace(context, base.blocks[start:end])
        except (SummaryFailed, Superseded) as error:
            return f"the earliest {end - start} summary blocks were not merged: {error}"
    return _told(runs)


def shrink(context: Work, base: Base) -> Outcome | None:
    """Merges blocks that outgrew their share where nothing new can be folded, as after a change to a smaller window.

    None: they fit, or none may be merged. Raises SummaryFailed or Superseded when not even the first run is merged;
    then nothing was written.
    """
    runs = _runs(context, base, _prompt_seq(context))
    if not runs:
        return None
    chain = base.blocks
    rows = RowRange(context.session, chain[runs[0][0]].after, chain[runs[-1][1] - 1].upto)
    context.begin(rows)
    summaries: list[Summary] = []
    note = _told(runs)
    for start, end in runs:
        try:
            summaries.append(_replace(context, chain[start:end]))
        except (SummaryFailed, Superseded) as error:
            if not summaries:
                raise
            note = f"{end - start} further summary blocks were not merged: {error}"
            rows = RowRange(context.session, rows.after, chain[start - 1].upto)
            break
    models = dict.fromkeys(summary.model for summary in summaries)
    told = Summary(summaries[-1].text, " + ".join(models), sum(summary.passes for summary in summaries))
    return Applied(rows, kind="merge", summary=told, note=note)


def _runs(context: Work, base: Base, prompt: int | None) -> Sequence[tuple[int, int]]:
    sizes = [context.sizing.text(texts.block_text(block)) for block in base.blocks]
    return plan.merges(sizes, _groups(base.blocks, prompt), window_of(context))


def _replace(context: Work, run: Sequence[Block]) -> Summary:
    """Puts one block in the place of several, in one commit."""
    merged, summary = _merged(context, run)
    context.commit(partial(blocks.replace, session=context.session, merged=merged))
    return summary


def _told(runs: Sequence[tuple[int, int]]) -> str:
    count = sum(end - start for start, end in runs)
    return f"{count} earlier summary blocks were merged into {len(runs)}" if runs else ""


def _groups(chain: Sequence[Block], prompt: int | None) -> list[tuple[int, int]]:
    """Runs that may become one block: those before the turn in progress, then those of it; never the newest."""
    newest = len(chain) - 1
    begins = next((at for at, block in enumerate(chain) if prompt is not None and block.prompt == prompt), newest)
    return [(0, min(begins, newest)), (begins, newest)]


def _merged(context: Work, run: Sequence[Block]) -> tuple[Block, Summary]:
    first, last = run[0], run[-1]
    shows = first.prompt is not None and first.prompt == _prompt_seq(context)
    material: list[RowRange | Fold] = []
    for block in run:
        if block.prompt is not None and not shows:  # its row leaves the view, so what it set goes into the summary
            material.append(RowRange(context.session, block.prompt - 1, block.prompt))
        material.append(_fold(context.session, block))
    sizes = [context.sizing.text(block.summary) for block in run]
    limit = plan.merged_limit(sizes, window_of(context))
    summary = context.summarize(*material, limit=limit)
    block = evolve(
        last,
        number=blocks.number(context),
        after=first.after,
        summary=summary.text,
        model=summary.model,
        folds=first.folds,
        folds_upto=first.folds_upto,
        prompt=None,
        prompt_upto=0,
        prompt_characters=0,
    )
    if not shows:
        return evolve(block, ends=answered(context.history, last.upto)), summary
    shown = evolve(
        block,
        prompt=first.prompt,
        prompt_upto=first.prompt_upto,
        prompt_characters=first.prompt_characters,
        window=first.window,
    )
    return shown, summary


def _fold(session: str, block: Block) -> Fold:
    rows = RowRange(session, block.after, block.upto)
    return Fold("chain", f"block-{block.number}", f"of rows {rows.after + 1}-{rows.upto}", block.summary, rows)


def _block(context: Work, demand: Demand, base: Base, part: Part, prompt: _Prompt | None) -> tuple[Block, Summary]:
    rows = RowRange(context.session, prompt.upto if prompt and prompt.whole else part.after, part.upto)
    window = window_of(context)
    bound = window if demand.limit is None else min(window, demand.limit)
    room = min(context.history.size(rows), bound * plan.CONTEXT_PERCENT // 100)
    known = texts.known(base.blocks, room, context.sizing.text)
    if part.in_turn:
        known = "\n\n".join(filter(None, (known, _request(context))))
    task = texts.TASK_IN_TURN if part.in_turn else texts.TASK
    summary = context.summarize(rows, context=known, instructions=task, limit=plan.summary_limit(bound))
    cut = context.history.cut(part.upto)
    ids = base.blocks[0].folds if base.blocks else tuple(fold.id for fold in base.folds)
    ends = base.blocks[0].folds_upto if base.blocks else (base.folds[-1].covers.upto if base.folds else 0)
    block = Block(
        number=blocks.number(context),
        after=part.after,
        upto=part.upto,
        cut_tokens=cut.tokens,
        prompt=prompt.seq if prompt else None,
        prompt_upto=prompt.upto if prompt else 0,
        prompt_characters=prompt.characters if prompt else 0,
        window=window,
        summary=summary.text,
        model=summary.model,
        ends=part.in_turn or demand.kind in ("manual", "model") or answered(context.history, part.upto),
        folds=ids,
        folds_upto=ends,
    )
    return block, summary


def _prompt(context: Work, found: Layout, part: Part) -> _Prompt | None:
    """The prompt in front of a block that holds the first steps of the turn being answered."""
    if not part.in_turn or found.prompt is None:
        return None
    row = RowRange(context.session, found.prompt - 1, found.prompt)
    text = next(iter(context.history.rows(row))).text
    window = window_of(context)
    limit = window * plan.PROMPT_PERCENT // 100
    whole = context.history.size(row) <= limit
    characters = len(text) if whole else texts.shortened(text, limit, context.sizing.text)
    return _Prompt(found.prompt, found.prompt_upto, characters, whole)


def _request(context: Work) -> str:
    """The prompt of the turn in progress, as a summarizer of its steps sees it."""
    opened = context.history.prompt()
    if opened is None:
        return ""
    text = next(iter(context.history.rows(RowRange(context.session, opened.seq - 1, opened.seq)))).text
    room = window_of(context) * plan.PROMPT_PERCENT // 100
    return texts.REQUEST.format(text=texts.quoted(text, texts.shortened(text, room, context.sizing.text)))


def _prompt_seq(context: Work) -> int | None:
    opened = context.history.prompt()
    return opened.seq if opened is not None else None


def _not_smaller(context: Work, before: Base, after: Base) -> str:
    """Why the request would not become smaller by the newest block; empty: it would."""
    then = context.sizing.request(front(context, after)) - context.sizing.request(front(context, before))
    rows = RowRange(context.session, before.after, after.after)
    now = context.history.size(rows)
    if then < now:
        return ""
    folded = f"folding rows {rows.after + 1}-{rows.upto}"
    return f"{folded} would not make the request smaller: they take {now:,} tokens now, their block would take {then:,}"
