"""A projection to messages: rows decoded, elisions shown, notes in the user role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from refold.prepare.messages import Sourced, for_model_with_sources
from refold.values.contexts import History
from refold.values.inputs import Note, Rows, Section
from refold.values.messages import ResultMessage, UserMessage
from refold.values.rows import Row
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


def assemble(
    history: History, sections: Sequence[Section], model: Model, notes: Mapping[int, str]
) -> list[list[Sourced]]:
    """The messages of each section.

    Adjacent row inputs of a section are read as one run, so that a call finds its result. Each note (seq to text)
    stands in the user role behind the last message that shows a row up to its seq.
    """
    messages = [_section(history, section, model) for section in sections]
    for after in sorted(notes, reverse=True):
        _insert(messages, after, (UserMessage(notes[after]), ()))
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


def _insert(messages: list[list[Sourced]], after: int, note: Sourced) -> None:
    for section in reversed(messages):
        for index in range(len(section) - 1, -1, -1):
            if any(ref.seq <= after for ref in section[index][1]):
                section.insert(_past_stubs(section, index + 1), note)
                return
    if messages:
        messages[-1].append(note)


def _past_stubs(section: Sequence[Sourced], at: int) -> int:
    """The stub of an unanswered call belongs to the call before it."""
    while at < len(section) and isinstance(section[at][0], ResultMessage) and not section[at][1]:
        at += 1
    return at
