"""`tail`: the rows of a session behind a cursor, for whoever follows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from refold.agent.host import Host
from refold.agent.tail import Tail
from refold.cli.naming import session_named
from refold.cli.options import after_option, every_command, limit_option, newest_session
from refold.cli.output import print_json
from refold.cli.rows import draw_rows, row_document
from refold.values.contexts import Fold


@click.command("tail")
@newest_session
@after_option
@limit_option(100)
@click.option("--history", is_flag=True, help="Always the rows, never a snapshot in their place.")
@every_command
def tail_command(session: str | None, after: int, limit: int, history: bool, home: Path | None, as_json: bool) -> None:
    """Follow SESSION: the rows behind a cursor, which stays good whatever is compacted.

    Whoever is behind may get a snapshot of older rows first, where an extension keeps one.

    \b
    Example: refold tail my-session --after 120 --limit 50
    """
    with Host(home) as host:
        found = session_named(host, session)
        tail = found.tail(after, limit, history=history)
    if as_json:
        print_json(
            {
                "session": found.id,
                "snapshot": _document(tail.snapshot) if tail.snapshot else None,
                "rows": [row_document(row, tokens) for row, tokens in tail.rows],
                "next_after": tail.next_after,
                "has_more": tail.has_more,
            }
        )
    else:
        _draw(found.id, tail)


def _document(snapshot: Fold) -> dict[str, Any]:
    return {
        "id": snapshot.id,
        "source": snapshot.owner,
        "label": snapshot.label,
        "first_seq": snapshot.covers.after + 1,
        "last_seq": snapshot.covers.upto,
        "text": snapshot.text,
    }


def _draw(session: str, tail: Tail) -> None:
    from refold.cli.tables import block, hint, line

    if tail.snapshot is not None:
        covers = tail.snapshot.covers
        line(f"rows {covers.after + 1}-{covers.upto}: {tail.snapshot.label} ({tail.snapshot.owner})", "yellow")
        block(tail.snapshot.text, indent=7)
    draw_rows(tail.rows, (), full=False)
    if not tail.rows and tail.snapshot is None:
        line(f"Session {session} has no row after {tail.next_after}.")
    if tail.has_more:
        hint("more", "tail", session, "--after", tail.next_after)
