"""Tables and lines for people. Every text that comes from a transcript or an extension passes `visible` here.

On a terminal texts are wrapped to its width; into a pipe they go unwrapped, so that a line stays a line.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Literal

import click
from attrs import frozen
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from refold.cli.program import command
from refold.cli.visible import visible, visible_lines

_NARROWEST = 12  # cells that a text column keeps
_GAP = "  "


@frozen
class Column:
    """A column of a table: `whole` ones are never cut, `number` ones stand at the right and are never cut either."""

    title: str
    kind: Literal["whole", "text", "number"] = "text"


def draw(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> None:
    """A table. None shows as `-`, a number with thousands separated, a bool as yes or no."""
    console = _console()
    cells = [[shown(value) for value in row] for row in rows]
    widths = _widths(columns, cells, console.width)
    _print(console, _row(columns, [column.title for column in columns], widths, "bold"))
    for row in cells:
        _print(console, _row(columns, row, widths, ""))


def shown(value: object) -> str:
    """A value in a cell.

    >>> shown(1234), shown(None), shown(True)
    ('1,234', '-', 'yes')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return visible(str(value))


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """Label and value, a line each; values that are None are left out."""
    known = [(visible(label), shown(value)) for label, value in pairs if value is not None]
    room = max((cell_len(label) for label, _ in known), default=0)
    console = _console()
    for label, value in known:
        _wrapped(console, Text(set_cell_size(label, room) + _GAP, style="bold"), Text(value))


def line(text: str = "", style: str = "") -> None:
    """One line of words; its spaces stay."""
    _wrapped(_console(), Text(), Text(visible_lines(" ".join(text.splitlines())), style=style))


def block(text: str, indent: int = 0) -> None:
    """Text as it stands, its lines kept."""
    console = _console()
    for each in visible_lines(text).split("\n"):
        _wrapped(console, Text(" " * indent), Text(each.expandtabs(4)))


def hint(what: str, *words: object) -> None:
    """The next command to try, for the same home: `words` are its name and what it is given."""
    context = click.get_current_context(silent=True)
    home = context.params.get("home") if context else None
    text = command(*words, *(("--home", home) if home is not None else ()))
    _print(_console(), Text.assemble((f"{what}: ", "dim"), visible(text)))


class _Output(Console):
    """Standard output; colours only on a terminal, and none with NO_COLOR."""

    def on_broken_pipe(self) -> None:
        """Whoever read has had enough: `main` answers for it. Rich would end the process."""
        raise BrokenPipeError


def _console() -> Console:
    return _Output(file=sys.stdout, highlight=False, markup=False, emoji=False)


def _print(console: Console, text: Text) -> None:
    """A line as it is: nothing wraps or cuts it any more."""
    console.print(text, soft_wrap=True)


def _wrapped(console: Console, head: Text, text: Text) -> None:
    """The text behind its head; further lines begin below the first."""
    indent = cell_len(head.plain)
    if not console.is_terminal or console.width - indent < _NARROWEST:
        _print(console, _stripped(head + text))
        return
    lines = text.wrap(console, console.width - indent) or [Text()]
    for place, each in enumerate(lines):
        _print(console, _stripped((Text(" " * indent) if place else head) + each))


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[str]], room: int) -> list[int]:
    """Cells of each column: what it holds, the text columns cut as far as the line must be shorter."""
    widths = [
        max([cell_len(column.title), *(cell_len(row[place]) for row in cells)]) for place, column in enumerate(columns)
    ]
    over = sum(widths) + len(_GAP) * (len(columns) - 1) - room
    for place, column in reversed(list(enumerate(columns))):
        if column.kind == "text" and over > 0:
            cut = min(over, max(0, widths[place] - _NARROWEST))
            widths[place] -= cut
            over -= cut
    return widths


def _row(columns: Sequence[Column], cells: Sequence[str], widths: Sequence[int], style: str) -> Text:
    parts = []
    for column, cell, width in zip(columns, cells, widths, strict=True):
        if cell_len(cell) > width:
            parts.append(set_cell_size(cell, width - 1) + "…")
        elif column.kind == "number":
            parts.append(" " * (width - cell_len(cell)) + cell)
        else:
            parts.append(set_cell_size(cell, width))
    return Text(_GAP.join(parts).rstrip(), style=style)


def _stripped(text: Text) -> Text:
    text.rstrip()
    return text
