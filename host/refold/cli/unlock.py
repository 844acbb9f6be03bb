"""`unlock`: who holds which session, and taking one from a holder that cannot give it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from refold.agent.host import Host
from refold.cli.naming import session_named
from refold.cli.options import every_command, newest_session
from refold.cli.output import print_json
from refold.cli.visible import visible
from refold.transcript.leases import Holder


@click.command("unlock")
@newest_session
@click.option("--yes", is_flag=True, help="Do it: what still works on the session is stopped at its next step.")
@every_command
def unlock_command(session: str | None, yes: bool, home: Path | None, as_json: bool) -> None:
    """Take SESSION from a process that holds it. Without SESSION: list who holds which.

    Processes that died give theirs back by themselves. This is for one on another machine or in another container,
    which cannot be looked at, and for a clock that jumped.

    \b
    Example: refold unlock my-session --yes
    """
    with Host(home) as host:
        if session is None:
            _list(host.holders(), as_json)
            return
        session = session_named(host, session).id
        if not yes and (holder := host.holders().get(session)) is not None:
            raise click.UsageError(f"session {session} is held by {holder}; add --yes to take it from there")
        broken = host.unlock(session)
    if as_json:
        print_json({"session": session, "holder": None if broken is None else _document(broken)})
    elif broken is None:
        click.echo(f"nobody holds {visible(session)}")
    else:
        click.echo(f"unlocked {visible(session)}, which was held by {visible(str(broken))}")


def _list(holders: dict[str, Holder], as_json: bool) -> None:
    if as_json:
        print_json({"held": [{"session": session, **_document(each)} for session, each in holders.items()]})
        return
    from refold.cli.tables import Column, draw, line

    if not holders:
        line("Nobody holds a session.")
        return
    columns = [Column("session", "whole"), Column("process", "number"), Column("machine", "whole")]
    columns += [Column("does", "whole"), Column("since")]
    draw(columns, [(id, str(each.process), each.host, each.what, each.since) for id, each in holders.items()])


def _document(holder: Holder) -> dict[str, Any]:
    return {
        "process": holder.process,
        "machine": holder.host,
        "here": holder.here,
        "does": holder.what,
        "since": holder.since,
    }
