"""The command group, with every command of the host and of extensions below it."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import click

from refold.cli.commands import Commands, with_runnable_help
from refold.cli.options import every_command


def _print_version(context: click.Context, _parameter: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(f"refold {version('refold')}")
        context.exit()


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print it.")
@every_command
@click.pass_context
def root(context: click.Context, home: Path | None, as_json: bool) -> None:
    """Keeps long model conversations inside a bounded context window, and never loses them.

    Try 'refold demo' first.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


with_runnable_help(root)
