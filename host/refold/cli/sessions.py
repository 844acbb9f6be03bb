"""`new`, `sessions`, `tree`, `fork`, `delete`: sessions as wholes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from refold.agent.host import Host
from refold.cli.folds import fold_documents
from refold.cli.naming import session_named
from refold.cli.options import every_command, named_session, newest_session
from refold.cli.output import note, print_json
from refold.cli.visible import visible
from refold.transcript.sessions import Branch, Listed


@click.command("new")
@click.option("--title", metavar="TEXT", help="What to call it.")
@click.option("--model", metavar="ID", help="The model it is for.")
@every_command
def new_command(title: str | None, model: str | None, home: Path | None, as_json: bool) -> None:
    """Make an empty session and print its id.

    \b
    Example: refold new --title "port the parser"
    """
    with Host(home) as host:
        made = host.new(title=title, model=model)
    if as_json:
        print_json({"session": made.id})
    else:
        click.echo(visible(made.id))


@click.command("sessions")
@every_command
def sessions_command(home: Path | None, as_json: bool) -> None:
    """List the sessions, oldest first.

    \b
    Example: refold sessions --json
    """
    with Host(home) as host:
        listed = host.sessions()
    if as_json:
        print_json({"sessions": [_document(each) for each in listed]})
        return
    from refold.cli.tables import Column, draw, hint, line

    if not listed:
        line("There is no session yet.")
        hint("next", "demo")
        return
    columns = [
        Column("session", "whole"),
        Column("rows", "number"),
        Column("turns", "number"),
        Column("tokens*", "number"),
        Column("title"),
    ]
    draw(columns, [(each.session.id, each.rows, each.turns, each.tokens, _title(each)) for each in listed])
    line("* estimated here", "dim")


def _title(each: Listed) -> str:
    session = each.session
    if session.parent is None:
        return session.title or ""
    came = f"fork of {session.parent} at {session.forked_at}" if session.forked_at else f"child of {session.parent}"
    return f"{session.title} ({came})" if session.title else came


def _document(each: Listed) -> dict[str, Any]:
    session = each.session
    return {
        "id": session.id,
        "title": session.title,
        "model": session.model,
        "rows": each.rows,
        "turns": each.turns,
        "tokens": each.tokens,
        "created": session.created,
        "forked_from": session.parent if session.forked_at is not None else None,
        "parent": session.parent,
        "compactions": session.compactions,
    }


@click.command("tree")
@newest_session
@every_command
def tree_command(session: str | None, home: Path | None, as_json: bool) -> None:
    """Show which session was forked or spawned from which; with SESSION, the tree that begins with it, and
    its folds.

    \b
    Example: refold tree
    """
    with Host(home) as host:
        named = session_named(host, session) if session is not None else None
        branches = host.tree(named.id if named else None)
        folds = named.stored_folds() if named else None
    if as_json:
        document: dict[str, Any] = {"sessions": [_branch(each) for each in branches]}
        print_json(document if folds is None else {**document, "folds": fold_documents(folds)})
        return
    from refold.cli.tables import Column, draw, line

    for text in _lines(branches, "", top=True):
        click.echo(text)
    if not branches:
        line("There is no session yet.")
    if folds:
        click.echo()
        columns = [Column("after row", "number"), Column("by", "whole"), Column("fold")]
        draw(columns, [(str(fold.covers.upto), fold.owner, fold.label) for fold in folds])


def _branch(branch: Branch) -> dict[str, Any]:
    session = branch.session
    children = [_branch(child) for child in branch.children]
    return {"id": session.id, "title": session.title, "forked_at": session.forked_at, "children": children}


def _lines(branches: Sequence[Branch], stem: str, *, top: bool) -> Iterator[str]:
    for place, branch in enumerate(branches):
        last = place == len(branches) - 1
        session = branch.session
        came = "" if top else "└─ " if last else "├─ "
        told = f"  (forked at {session.forked_at})" if session.forked_at else "" if top else "  (child)"
        title = f"  {visible(session.title)[:TITLE]}" if session.title else ""
        yield f"{stem}{came}{visible(session.id)}{told}{title}"
        yield from _lines(branch.children, stem if top else stem + ("   " if last else "│  "), top=False)


TITLE = 40
"""Characters of a title that a tree shows."""


@click.command("fork")
@newest_session
@click.option("--at", type=click.IntRange(min=1), required=True, metavar="SEQ", help="The last row that comes along.")
@every_command
def fork_command(session: str | None, at: int, home: Path | None, as_json: bool) -> None:
    """Make a new session with the rows of SESSION up to a checkpoint. SESSION stays as it is.

    \b
    Example: refold fork my-session --at 120
    """
    with Host(home) as host:
        report = session_named(host, session).fork(at)
    for extension, reason in report.failures:
        note(f"{extension} did not copy its state ({reason}); the branch starts without it")
    if as_json:
        print_json(
            {
                "session": report.session,
                "rows": report.rows,
                "first_seq": report.first_seq,
                "last_seq": report.last_seq,
                "unanswered": list(report.unanswered),
                "failures": [{"extension": extension, "reason": reason} for extension, reason in report.failures],
            }
        )
        return
    click.echo(f"{visible(report.session)}  (rows {report.first_seq}-{report.last_seq})")
    if report.unanswered:
        note(f"{len(report.unanswered)} open call(s) got a result that says they were not executed")


@click.command("delete")
@named_session
@click.option("--yes", is_flag=True, help="Do it: what is deleted cannot be brought back.")
@every_command
def delete_command(session: str, yes: bool, home: Path | None, as_json: bool) -> None:
    """Delete a session, its rows and all that extensions made of them. Its forks live on.

    \b
    Example: refold delete my-session --yes
    """
    with Host(home) as host:
        found = session_named(host, session)
        matched = "" if found.id == session else f"; {session!r} is its title, or begins it"
        if not yes:
            raise click.UsageError(f"session {found.id} would be gone for good{matched}; add --yes to delete it")
        if matched:
            note(f"deleting session {found.id}{matched}")
        rows = found.delete()
    if as_json:
        print_json({"session": found.id, "rows": rows})
    else:
        click.echo(f"deleted {visible(found.id)} ({rows:,} rows)")
