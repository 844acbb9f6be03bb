"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])

_HOME = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where sessions are kept (else REFOLD_HOME, else your data folder).",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")

newest_session = click.argument("session", required=False)
"""SESSION, which may be left out: then the newest."""

named_session = click.argument("session")
"""SESSION, where another word stands behind it."""

window_option = click.option(
    "--window",
    type=click.IntRange(min=1),
    metavar="TOKENS",
    help="The model's context window, for this once.",
)
after_option = click.option(
    "--after", type=click.IntRange(min=0), default=0, metavar="SEQ", help="Begin after this row."
)


def limit_option(default: int) -> Callable[[Function], Function]:
    """`--limit N`: how much one page holds."""
    return click.option(
        "--limit",
        type=click.IntRange(min=1, max=10_000),
        default=default,
        show_default=True,
        metavar="N",
        help="At most so many.",
    )


def every_command(function: Function) -> Function:
    """The options of every command: `--json` and `--home`."""
    return _JSON(_HOME(function))
