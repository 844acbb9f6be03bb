"""`new-strategy` and `new-extension`: a package to begin with, which installs, passes its tests and builds as it is."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

import click

from refold.cli.output import print_json
from refold.cli.program import installs
from refold.registry.words import HOST_COMMANDS, id_fault
from refold.values.errors import RefoldError, Refused

_NAMES = re.compile("keep[-_ ]last|KeepLast", re.IGNORECASE)
"""What the template calls itself, in the spellings of a distribution, a module, a title and a class."""

_folder = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where to write it (else refold-NAME, here).",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.command("new-strategy")
@click.argument("name")
@_folder
@_json
def new_strategy_command(name: str, folder: Path | None, as_json: bool) -> None:
    """Write the package of a new compaction strategy: code, tests, README, pyproject.toml.

    The strategy works as it is: it shows the newest turns. Make it yours.

    \b
    Example: refold new-strategy my-strategy
    """
    _write("strategy", name, folder, as_json)


def _write(template: str, name: str, folder: Path | None, as_json: bool) -> None:
    fault = id_fault(name) or _clash(name)
    if fault:
        raise Refused(f"{name!r} cannot be the name: {fault}; nothing was written")
    target = folder or Path(f"refold-{name}")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise Refused(f"{target} is there already; nothing was written; give another --folder")
    written = []
    try:
        for path, text in rendered(template, name):
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_text(text, "utf-8")
            written.append(str(path))
    except OSError as error:
        raise RefoldError(f"{target} cannot be written ({error.strerror}); give another --folder") from error
    if as_json:
        print_json({"folder": str(target), "files": written})
        return
    click.echo("\n".join(str(target / path) for path in written))
    tested = shlex.join([sys.executable, "-m", "pytest"])
    click.echo(f"next: cd {shlex.quote(str(target))} && {installs('-e', '.[test]')} && {tested}")


def _clash(name: str) -> str | None:
    if name in HOST_COMMANDS:
        return "it is a command of refold"
    if name in entry_points(group="refold.extensions").names:
        return "an extension of that name is installed"
    return None


def rendered(template: str, name: str) -> Iterator[tuple[PurePosixPath, str]]:
    """The files of a template, their paths and texts speaking of `name`; names in order."""
    root = files("refold") / "templates" / template
    for path, file in _walk(root, PurePosixPath()):
        yield PurePosixPath(_NAMES.sub(lambda found: _spelled(found[0], name), str(path))), _renamed(file, name)


def _renamed(file: Traversable, name: str) -> str:
    return _NAMES.sub(lambda found: _spelled(found[0], name), file.read_text("utf-8"))


def _spelled(like: str, name: str) -> str:
    """The name as the template spells its own.

    >>> [_spelled(like, "two-tails") for like in ("keep-last", "keep_last", "Keep last", "KeepLast")]
    ['two-tails', 'two_tails', 'Two tails', 'TwoTails']
    """
    words = re.split("[-_]", name)
    match like:
        case "KeepLast":
            return "".join(word.capitalize() for word in words)
        case "keep_last":
            return "_".join(words)
        case "keep-last":
            return name
        case _:
            return " ".join(words).capitalize()


def _walk(folder: Traversable, path: PurePosixPath) -> Iterator[tuple[PurePosixPath, Traversable]]:
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.is_dir() and each.name != "__pycache__":
            yield from _walk(each, path / each.name)
        elif each.is_file():
            yield path / each.name, each
