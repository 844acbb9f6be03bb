"""The entry point: runs one command, and answers for everything that goes wrong in it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

import click

from refold.cli.commands import Commands
from refold.cli.failure import FAILED, tell


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
@click.pass_context
def root(context: click.Context) -> None:
    """Keeps long model conversations inside a bounded context window, and never loses them.

    Try 'refold demo' first.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def run(words: Sequence[str]) -> int:
    """Runs the command that the words name, and returns its exit code. No error leaves this function."""
    as_json = "--json" in (words[: words.index("--")] if "--" in words else words)
    try:
        _speak_utf8()
        answer = root.main(args=list(words), prog_name="refold", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        return _pipe_closed()
    except SystemExit:  # click's own answer to a closed pipe; that of a command never comes as far as this
        return _pipe_closed()
    except (Exception, KeyboardInterrupt) as error:
        try:
            return tell(error, as_json)
        except BrokenPipeError:
            return _pipe_closed()
    return answer if isinstance(answer, int) else 0


def main() -> None:
    """`refold` in a shell."""
    sys.exit(run(sys.argv[1:]))


def _speak_utf8() -> None:
    """What a terminal's encoding lacks is shown as an escape; it never stops a command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _pipe_closed() -> int:
    """Whoever read has had enough (`| head`). The interpreter must not flush into the closed pipe at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED
