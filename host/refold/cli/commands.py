"""Which commands there are. A command's module is imported when it runs, and extensions when one of theirs does."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from refold.cli.program import runnable

# fmt: off
HOST: dict[str, tuple[str, str]] = {
    "demo": ("demo", "Make a long session, compact it, show before and after."),
    "import": ("importing", "Import a session file of another agent."),
    "new": ("sessions", "Make an empty session."),
    "sessions": ("sessions", "List the sessions."),
    "tree": ("sessions", "Show which session came from which."),
    "show": ("rows", "Show the rows of a session, and where they are folded."),
    "tail": ("tail", "Follow a session from a row on."),
    "search": ("rows", "Find text in a session."),
    "export": ("rows", "Write a session as JSON lines."),
    "fork": ("sessions", "Make a session that goes on from an earlier row."),
    "delete": ("sessions", "Delete a session with everything made from it."),
    "unlock": ("unlock", "Take a session from a process that cannot give it back."),
    "send": ("send", "Send a prompt to the session's model and print the answer."),
    "resume": ("send", "Go on with a turn that failed or was stopped."),
    "chat": ("chat", "Talk with the session's model in a console."),
    "prepare": ("requests", "Make the next request, compacted when that is due."),
    "compact": ("compacting", "Fold older rows of a session now."),
    "context": ("requests", "Show what the last prepared request was made of."),
    "extensions": ("extensions", "List extensions; switch them on and off."),
    "models": ("models", "List the models that can be asked."),
    "completion": ("completion", "Print the script that completes words in a shell."),
    "new-strategy": ("new_extension", "Write the package of a new compaction strategy."),
}
"""Command to the module that holds it, and its summary."""
# fmt: on


class Commands(click.Group):
    """The commands of the host, and behind them those of extensions: `refold lcm tree SESSION`."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command. An extension that calls `sys.exit` in it is a failure like any other."""
        try:
            return super().invoke(ctx)
        except SystemExit as error:
            raise RuntimeError(f"sys.exit({error.code!r}) inside a command") from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(HOST)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in HOST:
            return None
        module = import_module(f"refold.cli.{HOST[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return with_runnable_help(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in HOST or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        from refold.cli.extension_commands import group
        from refold.values.near import did_you_mean

        found = group(args[0], _home(args[1:]) or ctx.params.get("home"))
        if found is None:
            raise click.UsageError(f"No such command {args[0]!r}{did_you_mean(args[0], HOST)}", ctx)
        return args[0], found, args[1:]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in HOST.items()])
        formatter.write_paragraph()
        formatter.write_text(runnable("Extensions bring commands of their own: 'refold EXTENSION --help'."))


def with_runnable_help(command: click.Command) -> click.Command:
    """The command; the examples in its help, and in that of its own commands, work as they stand."""
    command.help = runnable(command.help or "")
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        with_runnable_help(each)
    return command


def _home(words: Sequence[str]) -> Path | None:
    """The `--home` among words that are not parsed yet: which commands an extension has is known by loading it."""
    for place, word in enumerate(words):
        if word == "--":
            break
        if word.startswith("--home="):
            return Path(word.removeprefix("--home="))
        if word == "--home" and place + 1 < len(words):
            return Path(words[place + 1])
    return None
