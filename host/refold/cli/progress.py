"""Progress on standard error, and only when a person watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from refold.cli.visible import visible


def _unwatched(done: int, total: int | None) -> None:
    """Nobody watches."""


@contextmanager
def progress_bar(what: str, *, in_bytes: bool) -> Iterator[Callable[[int, int | None], None]]:
    """A bar that is gone when the work is done. What is yielded takes how much of how much is done."""
    if not sys.stderr.isatty():
        yield _unwatched
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}", markup=False), BarColumn(bar_width=30)]
    amount = DownloadColumn() if in_bytes else MofNCompleteColumn()
    console = Console(stderr=True, highlight=False)
    with Progress(*columns, amount, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task(visible(what), total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
