"""A projection to messages: rows decoded, elisions shown, notes in the user role."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from refold.prepare.head import Told
from refold.prepare.messages import Sourced, for_model_with_sources
from refold.values.contexts import History
from refold.values.inputs import Note, Rows, Section
from refold.values.messages import ResultMessage, UserMessage
from refold.values.rows import Replay, Row
from refold.values.sizes import Model


def shown(history: History, rows: Rows) -> Iterator[Row]:
    """The rows of an input, oldest first, with elided ones shortened.

    An elided result gives up its pictures with its text; an elided user row keeps them.
    """
    for row in history.rows(rows.range):
        text = rows.elide.get(row.ref.seq)
        if text is None:
            yield row
        elif row.kind == "result":
            yield attrs.evolve(row, text=text, images=())
        else:
            yield attrs.evolve(row, text=text)


def assemble(history: History, sections: Sequence[Section], model: Model, notes: Sequence[Told]) -> list[list[Sourced]]:
    """The messages of each section.

    Adjacent row inputs of a section are read as one run, so that a call finds its result. Each note stands in the user
    role behind the last message that shows a row up to its seq; of several in one place, the older ones first.
    """
    messages = [_section(history, section, model) for section in sections]
    placed: list[Sourced] = []
    for note in sorted(notes, key=lambda note: note.after)[::-1]:
        placed.append((UserMessage(note.text), ()))
        _insert(messages, note.after, placed)
    return messages


def _section(history: History, section: Section, model: Model) -> list[Sourced]:
    messages: list[Sourced] = []
    run: list[Row] = []
    for part in section.inputs:
        if isinstance(part, Rows):
            run.extend(shown(history, part))
            continue
        messages += for_model_with_sources(run, model)
        run = []
        if isinstance(part, Note):
            if part.text.strip() or part.images:
                messages.append((UserMessage(part.text, part.images), ()))
        else:
            messages.append((part, ()))
    return messages + for_model_with_sources(run, model)


def _insert(messages: list[list[Sourced]], after: int, placed: Sequence[Sourced]) -> None:
    """Inserts the last of `placed`; those before it stand in their places already, behind this one."""
    for section in reversed(messages):
        for index in range(len(section) - 1, -1, -1):
            message, refs = section[index]
            # An opaque item met first belongs to an answer that came later: the note stands before both.
            if not isinstance(message, Replay) and any(ref.seq <= after for ref in refs):
                section.insert(_past_results(section, index + 1), placed[-1])
                return
    for section in messages:
        for index, sourced in enumerate(section):
            if sourced[1] or any(sourced is note for note in placed):
                section.insert(index, placed[-1])
                return
    if messages:
        messages[-1].append(placed[-1])


def _past_results(section: Sequence[Sourced], at: int) -> int:
    """Results belong to the call before them, whenever they came."""
    while at < len(section) and isinstance(section[at][0], ResultMessage):
        at += 1
    return at
