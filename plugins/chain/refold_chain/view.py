"""What a request is built on, and the sections that stand before its tail."""

from __future__ import annotations

from attrs import frozen
from refold import Context, Fold, Note, RowRange, Rows, Section

from refold_chain import blocks, plan, texts
from refold_chain.blocks import Block
from refold_chain.settings import ASSUMED_WINDOW


@frozen
class Base:
    """What a request is built on: folds of others, the blocks behind them, and the last row that these stand for."""

    folds: tuple[Fold, ...]
    blocks: tuple[Block, ...]
    after: int


def window_of(context: Context) -> int:
    """The window in tokens; the assumed one where a host names none."""
    return context.window.tokens or ASSUMED_WINDOW


def base_of(context: Context) -> Base:
    """The blocks serve while they cover what `prior` covers and the folds that they began on still stand in front."""
    chain, prior = blocks.load(context), context.prior()
    covered = prior.folds[-1].covers.upto if prior.folds else 0
    if chain:
        ids, upto = chain[0].folds, chain[0].folds_upto
        under = prior.folds[: len(ids)]
        ends = under[-1].covers.upto if under else 0
        same = tuple(fold.id for fold in under) == ids and ends == upto
        if same and chain[-1].upto >= covered:
            return Base(under, chain, chain[-1].upto)
    return Base(prior.folds, (), prior.rest.range.after)


def front(context: Context, base: Base) -> tuple[Section, ...]:
    """What stands before the tail."""
    folds = tuple(
        Section(f"fold-{fold.owner}-{fold.id}", fold.label, "fold", (Note(fold.text),), fold.covers)
        for fold in base.folds
    )
    return folds + tuple(_section(context, block) for block in base.blocks)


def _section(context: Context, block: Block) -> Section:
    label = f"summary block {block.number} · {block.model}"
    note = Note(texts.block_text(block))
    if block.prompt is None:
        rows = RowRange(context.session, block.after, block.upto)
        return Section(f"block-{block.number}", label, "summary", (note,), rows)
    shown = RowRange(context.session, block.after, block.prompt_upto)
    covers = RowRange(context.session, block.prompt_upto, block.upto)
    return Section(f"block-{block.number}", label, "summary", (Rows(shown, _elision(context, block)), note), covers)


def _elision(context: Context, block: Block) -> dict[int, str]:
    """The text of a prompt that is longer than a tenth of the window.

    It holds as many characters as when the block was written, or the same share of another window: no estimate that
    is corrected from answer to answer changes what was sent.
    """
    assert block.prompt is not None
    row = RowRange(context.session, block.prompt - 1, block.prompt)
    limit = context.window.share(plan.PROMPT_PERCENT)
    if limit is None or context.history.size(row) <= limit:
        return {}
    text = next(iter(context.history.rows(row))).text
    characters = block.prompt_characters
    if block.window != context.window.tokens:
        characters = characters * window_of(context) // block.window
    short = texts.elided(text, max(texts.SHORTEST, characters))
    return {block.prompt: short} if len(short) < len(text) else {}
