"""`chat`: a console for one session. prompt_toolkit is asked for when the command runs, not before."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from refold.agent.host import Host
from refold.agent.session import Session
from refold.cli.naming import session_named
from refold.cli.options import every_command, newest_session
from refold.cli.program import installs
from refold.values.errors import Refused


@click.command("chat")
@newest_session
@every_command
def chat_command(session: str | None, home: Path | None, as_json: bool) -> None:
    """Talk with the model of SESSION (else of the newest one; the first is made for you).

    What is typed while an answer comes joins the turn. Commands begin with a slash; Tab completes them. Ctrl-C stops
    a turn and loses nothing, Ctrl-D leaves.

    \b
    Example: refold chat my-session
    """
    if as_json:
        raise click.UsageError("chat is a console and prints no JSON; 'refold send' does")
    try:
        from refold.cli.console import Console
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "prompt_toolkit":
            raise
        raise Refused(
            "refold chat needs prompt_toolkit, which is not installed; nothing was started; "
            f"{installs('refold[chat]')} brings it"
        ) from None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refused("refold chat needs a terminal; nothing was started; in a script use 'refold send'")
    with Host(home) as host:
        asyncio.run(Console(_session(host, session)).run())


def _session(host: Host, id: str | None) -> Session:
    if id is None and not host.sessions():
        return host.new()
    return session_named(host, id)
