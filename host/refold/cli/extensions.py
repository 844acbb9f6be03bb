"""`extensions`: what is installed, and which of it is on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from refold.agent.host import Extensions, Host
from refold.cli.naming import session_named
from refold.cli.options import every_command, extension_name, for_session
from refold.cli.output import print_json
from refold.cli.program import installs
from refold.cli.visible import visible


@click.group("extensions", invoke_without_command=True)
@for_session
@click.option("--no-load", is_flag=True, help="Import no extension: for when one does harm.")
@every_command
@click.pass_context
def extensions_command(
    context: click.Context, session: str | None, no_load: bool, home: Path | None, as_json: bool
) -> None:
    """List the extensions: which are on, which one compacts, and what is wrong with any.

    Turning one on or off holds from the next request on.

    \b
    Example: refold extensions --session my-session
    """
    if context.invoked_subcommand is not None:
        given = [f"--{name.replace('_', '-')}" for name in ("session", "no_load") if context.params[name]]
        if given:
            raise click.UsageError(f"{given[0]} stands behind '{context.invoked_subcommand}', not before it")
        return
    with Host(home) as host:
        id = _id(host, session)
        listed = host.extensions_without_loading(id) if no_load else host.extensions(id)
    _show(listed, as_json)


@extensions_command.command("enable")
@extension_name
@for_session
@every_command
def enable_command(name: str, session: str | None, home: Path | None, as_json: bool) -> None:
    """Switch an extension on. Of strategies only one runs: enabling another selects it.

    \b
    Example: refold extensions enable rolling --session my-session
    """
    with Host(home) as host:
        id = _id(host, session)
        host.store_choice(name, True, id)
        _show(host.extensions(id), as_json)


@extensions_command.command("disable")
@extension_name
@for_session
@every_command
def disable_command(name: str, session: str | None, home: Path | None, as_json: bool) -> None:
    """Switch an extension off, without importing any.

    \b
    Example: refold extensions disable some-extension
    """
    _switch(home, name, False, session, as_json)


@extensions_command.command("inherit")
@extension_name
@for_session
@every_command
def inherit_command(name: str, session: str | None, home: Path | None, as_json: bool) -> None:
    """Drop the choice made here.

    The global choice holds again, or the extension's default. No extension is imported.

    \b
    Example: refold extensions inherit rolling --session my-session
    """
    _switch(home, name, None, session, as_json)


@extensions_command.command("forget")
@extension_name
@click.option("--yes", is_flag=True, help="Do it: what is dropped cannot be brought back.")
@every_command
def forget_command(name: str, yes: bool, home: Path | None, as_json: bool) -> None:
    """Drop the tables that an uninstalled extension left in the home. No row of a session is touched.

    \b
    Example: refold extensions forget some-extension --yes
    """
    with Host(home) as host:
        if not yes:
            raise click.UsageError(f"what {name} stored would be gone for good; add --yes to drop it")
        tables = host.forget_extension(name)
    if as_json:
        print_json({"extension": name, "tables": tables})
    else:
        click.echo(f"forgot {visible(name)} ({', '.join(map(visible, tables)) or 'no tables'})")


def _switch(home: Path | None, name: str, on: bool | None, session: str | None, as_json: bool) -> None:
    with Host(home) as host:
        id = _id(host, session)
        host.store_choice(name, on, id)
        _show(host.extensions_without_loading(id), as_json)


def _id(host: Host, session: str | None) -> str | None:
    return session_named(host, session).id if session is not None else None


def _show(listed: Extensions, as_json: bool) -> None:
    if as_json:
        print_json(_document(listed))
    else:
        _draw(listed)


def _document(listed: Extensions) -> dict[str, Any]:
    return {
        "strategy": listed.strategy,
        "extensions": [
            {
                "id": each.id,
                "version": each.version,
                "title": each.title,
                "kind": each.kind,
                "enabled": each.enabled,
                "default": each.default,
                "chosen": each.chosen,
                "requires": list(each.requires),
                "problem": each.problem,
            }
            for each in listed.extensions
        ],
        "problems": [{"id": each.id, "text": each.text} for each in listed.problems],
    }


def _draw(listed: Extensions) -> None:
    from refold.cli.tables import Column, draw, line

    if not listed.extensions:
        line("No extension is installed: requests hold the whole history.")
        line(f"next: {installs('refold-rolling')}", "dim")
    else:
        columns = [
            Column("extension", "whole"),
            Column("version", "whole"),
            Column("on", "whole"),
            Column("chosen", "whole"),
            Column("kind", "whole"),
            Column("title"),
        ]
        draw(columns, [_row(each, listed.strategy) for each in listed.extensions])
    for extension in listed.extensions:
        if extension.problem:
            line(f"{extension.id}: {extension.problem}", "yellow")
    for problem in listed.problems:
        if problem.id is None:
            line(problem.text, "yellow")


def _row(each: Any, strategy: str | None) -> tuple[object, ...]:
    state = "in force" if each.id == strategy else each.enabled
    return each.id, each.version, state, each.chosen, each.kind, each.title
