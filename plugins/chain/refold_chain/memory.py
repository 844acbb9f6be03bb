"""What chain summarized, within reach of every other strategy and of views. It owns the table of the blocks."""

from __future__ import annotations

from collections.abc import Sequence

from refold import Context, Fold, FoldPlugin, Fork, History, Manifest, RowRange, hookimpl

from refold_chain import texts
from refold_chain.blocks import MIGRATIONS, Block, copy, load


class BlockFolds:
    """The stored blocks, from the first row of a history on.

    Other strategies do not get those of the newest turn while chain shows its prompt in front of them: a fold is text
    alone, and the prompt that is being answered must be shown as it is. They show the rows of that turn instead.
    """

    owner = "chain"

    def folds(self, context: Context, history: History) -> Sequence[Fold]:
        start = history.range.after
        blocks = [block for block in load(context) if block.upto > start]
        if context.strategy != self.owner:
            blocks = blocks[: _newest_turn(context, blocks)]
        if not blocks or blocks[0].after > start:
            return ()
        return [_fold(context, block) for block in blocks]


def _newest_turn(context: Context, blocks: Sequence[Block]) -> int:
    """The place of the first block that begins with the prompt of the newest turn; behind the last where none does."""
    opened = context.history.prompt()
    seq = opened.seq if opened is not None else 0
    return next((at for at, block in enumerate(blocks) if block.prompt == seq), len(blocks))


def _fold(context: Context, block: Block) -> Fold:
    """A block as text alone: where the view shows the prompt's row, the fold quotes it."""
    rows = RowRange(context.session, block.after, block.upto)
    text = texts.block_text(block)
    if block.prompt is not None:
        prompt = next(iter(context.history.rows(RowRange(context.session, block.prompt - 1, block.prompt))))
        text = f"{texts.quoted(prompt.text, block.prompt_characters)}\n\n{text}"
    return Fold("chain", f"block-{block.number}", f"summary of rows {rows.after + 1}-{rows.upto}", text, rows)


@hookimpl
def manifest() -> Manifest:
    return Manifest(
        id="chain-memory",
        title="Chain memory",
        summary="Summary blocks that chain wrote, for other strategies and for views",
        default=True,
        after=("lcm-memory", "snapcompact-memory"),
        store="chain",
    )


@hookimpl
def migrations() -> Sequence[str]:
    return MIGRATIONS


@hookimpl
def fold_plugin() -> FoldPlugin:
    return BlockFolds()


@hookimpl
def session_forked(fork: Fork) -> None:
    copy(fork)
