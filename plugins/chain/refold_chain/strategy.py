"""The strategy: folds of others, appended blocks, the newest turns verbatim."""

from __future__ import annotations

from refold import (
    CompactionFailed,
    Context,
    Demand,
    Fact,
    History,
    Nothing,
    Observation,
    Outcome,
    Projection,
    RowRange,
    Rows,
    Section,
    Work,
)

from refold_chain import layout, plan
from refold_chain.compacting import fold, shrink
from refold_chain.settings import ChainSettings
from refold_chain.view import Base, base_of, front, window_of


class Chain:
    """Sections: folds that others stored, one for each block, the tail."""

    def project(self, context: Context) -> Projection:
        settings = context.settings(ChainSettings)
        base = base_of(context)
        start = layout.tail_start(context.history, base.after) if base.blocks else base.after
        tail = RowRange(context.session, start, context.history.range.upto)
        newest = (Section("tail", "newest turns", "tail", (Rows(tail),)),) if len(tail) else ()
        trigger = context.window.share(settings.threshold_percent)
        return Projection((*front(context, base), *newest), trigger, _observation(context, base, settings))

    def compact(self, context: Work, demand: Demand) -> Outcome:
        settings = context.settings(ChainSettings)
        base = base_of(context)
        window = window_of(context)
        if context.fixed >= window:
            raise CompactionFailed(
                f"system prompt, context and tools take {context.fixed:,} tokens of a window of {window:,}; "
                "nothing was changed. Shorten them, or use a model with a larger window"
            )
        history = context.history
        found = layout.read(history, base.after, demand)
        stands = front(context, base)
        held = context.sizing.request(stands)
        scale = plan.scale_percent(demand, held + _tail(history, base.after))
        said = context.sizing.user_lines(stands)

        def beside(cut: int) -> int:
            """Tokens beside the blocks and one new one, once the rows up to the cut are folded."""
            return _tail(history, cut) + max(0, context.user_lines(cut) - said)

        size = history.size(RowRange(context.session, (found.prompt or 1) - 1, found.prompt_upto))
        room = plan.room(demand, window, settings.threshold_percent, scale, held=held, prompt=size)
        parts = plan.choose(found, demand, settings.keep_recent_turns, room, beside)
        covered = base.folds[-1].covers.upto if base.folds else 0
        if (
            not parts
            or parts[-1].upto <= covered
            or history.size(RowRange(context.session, parts[0].after, parts[-1].upto)) == 0
        ):
            return shrink(context, base) or Nothing(_nothing(base, demand))
        return fold(context, demand, base, found, parts)


def _tail(history: History, seq: int) -> int:
    return history.size(RowRange(history.range.session, seq, history.range.upto))


def _observation(context: Context, base: Base, settings: ChainSettings) -> Observation:
    if context.fixed >= window_of(context):
        return Observation("limited", "system prompt, context and tools alone fill the window")
    if not base.blocks:
        source = "folds of other extensions, and the rest of the transcript" if base.folds else "the whole transcript"
        return Observation("compacted" if base.folds else "whole", source)
    facts = (
        Fact("summary blocks", f"{len(base.blocks):,}, rows {base.blocks[0].after + 1}-{base.after}"),
        Fact("turns kept verbatim", f"{settings.keep_recent_turns}, or fewer"),
    )
    return Observation("compacted", "appended summary blocks and the newest turns", facts)


def _nothing(base: Base, demand: Demand) -> str:
    if demand.kind in ("manual", "model"):
        since = " since the last block" if base.blocks else ""
        return f"there is nothing new to fold{since}"
    return "there is nothing older than the step being answered to fold"
