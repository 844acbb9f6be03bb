"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


def _or_before(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """The value, or that of the same option where it stands before the command."""
    above = context.parent
    while not value and above is not None:
        value = above.params.get(parameter.name or "")
        above = above.parent
    return value


def _sessions(context: click.Context, parameter: click.Parameter, begun: str) -> Any:
    from refold.cli import completion

    return completion.sessions(context, parameter, begun)


def _extensions(context: click.Context, parameter: click.Parameter, begun: str) -> Any:
    from refold.cli import completion

    return completion.extensions(context, parameter, begun)


_HOME = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    callback=_or_before,
    help="Where sessions are kept (else REFOLD_HOME, else your data folder).",
)
_JSON = click.option("--json", "as_json", is_flag=True, callback=_or_before, help="Print one JSON document.")

newest_session = click.argument("session", required=False, shell_complete=_sessions)
"""SESSION, which may be left out: then the newest."""

named_session = click.argument("session", shell_complete=_sessions)
"""SESSION, where another word stands behind it."""

extension_name = click.argument("name", shell_complete=_extensions)
"""NAME of an extension."""

for_session = click.option(
    "--session",
    metavar="ID",
    shell_complete=_sessions,
    help="For this session alone (else for all without a choice).",
)

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
    """The options of every command: `--json` and `--home`, which may stand before the command too."""
    return _JSON(_HOME(function))
