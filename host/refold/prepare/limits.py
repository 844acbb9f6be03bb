"""Where the tokens of a request are that stays too large, in words for people."""

from __future__ import annotations

from attrs import evolve

from refold.prepare.draw import Drawn, sent_history
from refold.prepare.measure import message_tokens
from refold.prepare.request import Attempted
from refold.values.inputs import Rows, Section
from refold.values.outcome import Applied
from refold.values.rows import RowRange


def told(drawn: Drawn) -> Drawn:
    """What was drawn, and said to be limited while no folding of older turns could make it fit.

    Only here it is known what is sent: reducers come after `project`, and some rows become no message.
    """
    window, said = drawn.view.window.tokens, drawn.projection.observation
    if window is None or drawn.size.tokens <= window or said.status not in ("whole", "compacted"):
        return drawn
    fixed, newest = _fixed(drawn), _newest_turn(drawn)
    if fixed + newest <= window:
        return drawn
    if fixed >= window:
        why = f"system prompt, context and tools take {fixed:,} tokens"
    else:
        why = f"the newest turn takes {newest:,} tokens{f' beside {fixed:,} of fixed parts' if fixed else ''}"
    observation = evolve(said, status="limited", source=f"{why}, the window holds {window:,}")
    return evolve(drawn, projection=evolve(drawn.projection, observation=observation))


def unrelieved(drawn: Drawn, attempted: Attempted | None) -> str:
    """Why the request is still due, with the numbers that say where its tokens are."""
    sizing = drawn.view.sizing
    folded = sum(sizing.section(section) for section in drawn.projection.sections if section.kind != "tail")
    if attempted is None:
        why = "it failed"
    elif isinstance(attempted.outcome, Applied):
        why = f"folding was not enough (what stands for older rows takes {folded:,})"
    else:
        why = attempted.outcome.reason
    return (
        f"the request is {drawn.size.tokens:,} tokens and stays due for compaction: {why}. Fixed parts take "
        f"{_fixed(drawn):,}, the newest turn {_newest_turn(drawn):,}; automatic compaction rests until the next turn"
    )


def _newest_turn(drawn: Drawn) -> int:
    """Tokens of the newest turn as it is sent: its rows on view, as the strategy and the reducers left them, and the
    answer so far."""
    prompt, session = drawn.view.history.prompt(), drawn.view.session
    opened = prompt.seq - 1 if prompt else 0
    sizing = evolve(drawn.view.sizing, history=sent_history(drawn))
    size = _so_far(drawn)
    for part in (part for section in drawn.bound.sections for part in section.inputs if isinstance(part, Rows)):
        rows = RowRange(session, max(opened, part.range.after), max(opened, part.range.upto))
        elide = {seq: text for seq, text in part.elide.items() if seq in rows}
        size += sizing.section(Section("newest", "", "tail", (Rows(rows, elide),)))
    return size


def _fixed(drawn: Drawn) -> int:
    """Tokens of system prompt, context blocks and tools."""
    return drawn.view.sizing.fixed - _so_far(drawn)


def _so_far(drawn: Drawn) -> int:
    """Tokens of what stands behind the history in this request alone; a preparation counts them among the fixed."""
    return sum(message_tokens(message, drawn.view.sizing.sizer) for message in drawn.beside)
