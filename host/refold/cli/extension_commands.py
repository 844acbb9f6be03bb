"""Commands that extensions bring, made from their JSON schemas: `refold NAME SUB ... [SESSION] [--option VALUE]`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from refold.agent.host import Host
from refold.cli.naming import session_named
from refold.cli.options import every_command, newest_session
from refold.cli.output import print_json
from refold.values.tools import Command

_TAKEN = ("--home", "--json", "--help")
_TYPES: Mapping[str, Any] = {"string": click.STRING, "integer": click.INT, "number": click.FLOAT}


def group(word: str, home: Path | None) -> click.Command | None:
    """The commands whose first word is `word`, of every healthy installed extension; None when there are none.

    Whether the extension is on is the session's business, so it is asked when a command runs.
    """
    with Host(home) as host:
        offered = [command for each in host.composition().installed for command in each.commands]
    found = [(command.name.split()[1:], command) for command in offered if command.name.split()[:1] == [word]]
    return _branch(word, found) if found else None


def _branch(word: str, found: Sequence[tuple[Sequence[str], Command]]) -> click.Command:
    """One word of the names: `found` pairs what is left of a name behind it with its command.

    A command beside which longer ones begin with the same words runs when none of them is named.
    """
    own = next((command for rest, command in found if not rest), None)
    below: dict[str, list[tuple[Sequence[str], Command]]] = {}
    for rest, command in found:
        if rest:
            below.setdefault(rest[0], []).append((rest[1:], command))
    if not below and own is not None:
        return _command(word, own)
    made = click.Group(word, help=f"Commands of {word}.", invoke_without_command=True, callback=_help)
    if own is not None:
        alone = _command(word, own)
        options = [each for each in alone.params if isinstance(each, click.Option)]
        made = click.Group(word, help=alone.help, params=options, invoke_without_command=True, callback=_alone(alone))
    for name, behind in below.items():
        made.add_command(_branch(name, behind))
    return made


@click.pass_context
def _help(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _alone(command: click.Command) -> Callable[..., None]:
    """A group takes no SESSION, whose place is that of a further word: its own command works on the newest one."""

    @click.pass_context
    def run(context: click.Context, /, **given: Any) -> None:
        if context.invoked_subcommand is None and command.callback is not None:
            command.callback(session=None, **given)

    return run


def _command(name: str, command: Command) -> click.Command:
    properties: Mapping[str, Mapping[str, Any]] = command.parameters.get("properties", {})
    required = set(command.parameters.get("required", ()))

    def run(session: str | None, home: Path | None, as_json: bool, **given: Any) -> None:
        arguments = {key: _value(given[_destination(key)]) for key in properties if key != "session"}
        arguments = {key: value for key, value in arguments.items() if value is not None}
        with Host(home) as host:
            found = session_named(host, session)
            if "session" in properties:
                arguments["session"] = found.id
            answer = found.run(command.name, arguments)
        if as_json:
            print_json(answer)
        else:
            _draw(answer)

    function: Callable[..., Any] = newest_session(every_command(run))
    for key, schema in properties.items():
        if key != "session":
            function = _option(key, schema, key in required)(function)
    return click.command(name, help=command.summary)(function)


def _destination(key: str) -> str:
    """The name under which click passes a property: one that no option of ours has."""
    return "given_" + "".join(char if char.isalnum() else "_" for char in key).lower()


def _option(key: str, schema: Mapping[str, Any], required: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    flag, help = f"--{key.replace('_', '-')}", str(schema.get("description", ""))
    if flag in _TAKEN:
        flag = f"--given{flag[1:]}"
    kind = schema.get("type", "string")
    if kind == "boolean":
        return click.option(f"{flag}/--no-{flag[2:]}", _destination(key), default=None, help=help)
    many = kind == "array"
    items: Mapping[str, Any] = schema.get("items", {}) if many else schema
    return click.option(flag, _destination(key), type=_type(items), multiple=many, required=required, help=help)


def _type(schema: Mapping[str, Any]) -> Any:
    """What click converts a value with; what has no plain type is written as JSON."""
    kind = schema.get("type", "string")
    if "enum" in schema:
        return click.Choice([str(each) for each in schema["enum"]])
    if kind == "integer" and ("minimum" in schema or "maximum" in schema):
        return click.IntRange(schema.get("minimum"), schema.get("maximum"))
    if kind == "number" and ("minimum" in schema or "maximum" in schema):
        return click.FloatRange(schema.get("minimum"), schema.get("maximum"))
    return _TYPES.get(kind, json_text)


def json_text(value: str) -> Any:
    """A value that is written as JSON; click says what is none."""
    return json.loads(value)


def _value(given: Any) -> Any:
    """What was given; None when nothing was."""
    return (list(given) or None) if isinstance(given, tuple) else given


def _draw(answer: Mapping[str, Any]) -> None:
    """Plain values as lines, lists of mappings as tables; rows that name their `children` by `id` as a tree."""
    from refold.cli.tables import Column, draw, facts, line

    facts((key, _plain(value)) for key, value in answer.items() if not _is_table(value))
    for key, value in answer.items():
        if not _is_table(value):
            continue
        if all("id" in row and isinstance(row.get("children"), (list, tuple)) for row in value):
            value = _branched(value)
        names = list(dict.fromkeys(name for row in value for name in row))
        numeric = {name for name in names if all(type(row.get(name)) in (int, type(None)) for row in value)}
        line()
        line(key, "bold")
        columns = [Column(name, "number" if name in numeric else "text") for name in names]
        draw(columns, [[_plain(row.get(name)) for name in names] for row in value])


def _branched(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a tree, parents before their children, with branches drawn in front of the ids.

    >>> [row["id"] for row in _branched([{"id": 3, "children": [1, 2]}, {"id": 1, "children": []}])]
    ['3', '├── 1']
    """
    parents = {child: row["id"] for row in rows for child in row["children"]}
    last = {row["children"][-1] for row in rows if row["children"]}
    level: dict[Any, int] = {}
    drawn = []
    for row in rows:
        id = row["id"]
        deep = level[id] = level.get(parents.get(id), -1) + 1
        # A cell's spaces do not stay, so the line before an id tells how deep it lies.
        branch = ("└" if id in last else "├") + "──" * deep + " " if deep else ""
        drawn.append({"id": f"{branch}{id}", **{key: row[key] for key in row if key not in ("id", "children")}})
    return drawn


def _is_table(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _plain(value: Any) -> object:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(each) for each in value) or "none"
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, Mapping) else value
