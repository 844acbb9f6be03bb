"""`completion`: the script by which a shell completes commands, options and ids; and what it completes ids with."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from refold.cli.options import every_command
from refold.cli.program import NAME
from refold.values.errors import RefoldError

VARIABLE = "_REFOLD_COMPLETE"
"""The environment variable by which the script asks for completions."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@every_command
@click.pass_context
def completion_command(context: click.Context, shell: str, home: Path | None, as_json: bool) -> None:
    """Print the script that completes commands, options and sessions in SHELL.

    In ~/.bashrc or ~/.zshrc: eval "$(refold completion bash)", with zsh for zsh. For fish:
    refold completion fish > ~/.config/fish/completions/refold.fish

    \b
    Example: refold completion bash
    """
    if as_json:
        raise click.UsageError("completion prints a script and no JSON")
    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(context.find_root().command, {}, NAME, VARIABLE).source())


def sessions(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Ids of sessions that begin so, titles beside them. No home is made, and nothing that fails is told."""
    from refold.agent.home import home_path
    from refold.agent.host import Host

    try:
        home = home_path(_home(context))
        if not (home / "refold.db").exists():
            return []
        with Host(home) as host:
            known = [each.session for each in reversed(host.sessions())]
    except (RefoldError, OSError):
        return []
    return [CompletionItem(each.id, help=each.title or None) for each in known if each.id.startswith(begun)]


def extensions(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Ids of installed extensions, none of which is imported."""
    names = sorted(entry_points(group="refold.extensions").names)
    return [CompletionItem(name) for name in names if name.startswith(begun)]


def _home(context: click.Context | None) -> Path | None:
    while context is not None:
        if (home := context.params.get("home")) is not None:
            return Path(home)
        context = context.parent
    return None
