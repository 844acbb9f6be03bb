"""`import` of a folder, of several files, or of what an agent keeps on this machine: one line for each of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from refold.agent.host import Host
from refold.cli.failure import Failure, failure
from refold.cli.importing import document
from refold.cli.output import note, print_json
from refold.cli.progress import progress_bar
from refold.cli.tables import Column, draw, facts, hint, line
from refold.importers import agent_folders
from refold.importers.folders import Found, found_file, look_into, title_of
from refold.importers.store import Imported
from refold.values.errors import NotFound

_TITLED = 100  # sessions of a list of which the title is looked up in their files


def of_paths(paths: Sequence[Path]) -> tuple[list[Found], int]:
    """What files and folders hold, and how many other files stand in the folders. Raises NotFound, RefoldError."""
    found: list[Found] = []
    others = 0
    for path in paths:
        if path.is_dir():
            inside = look_into(path)
            found += inside.found
            others += inside.others
        elif path.exists():
            found.append(found_file(path, path.name))
        else:
            raise NotFound(f"there is no file {path}; nothing was imported")
    if not found:
        places = ", ".join(map(str, paths))
        raise NotFound(f"there is no session file in {places} ({others:,} other files); nothing was imported")
    return found, others


def of_agent(name: str) -> list[Found]:
    """What an agent keeps on this machine. Raises Refused for an unknown agent, NotFound where there is nothing."""
    machine = agent_folders.Machine(os.environ, Path.home(), Path.cwd(), sys.platform)
    return agent_folders.sessions(agent_folders.named(name), machine)


def show_list(found: Sequence[Found], as_json: bool) -> None:
    """What there is, the newest first, numbered."""
    listed = _newest_first(found)
    titles = [title_of(each) if place < _TITLED else None for place, each in enumerate(listed)]
    if as_json:
        print_json({"found": [_listed(n, *each) for n, each in enumerate(zip(listed, titles, strict=True), 1)]})
        return
    columns = [Column("", "number"), Column("changed"), Column("bytes", "number"), Column("file", "text")]
    draw(
        [*columns, Column("about", "text")],
        [
            (n, _moment(each.modified), each.size or None, each.label, title)
            for n, (each, title) in enumerate(zip(listed, titles, strict=True), 1)
        ],
    )


def chosen(found: Sequence[Found], everything: bool, words: Sequence[str]) -> list[Found]:
    """What is to be imported, in the order of `found`. Asks on a terminal when nothing was said.

    Raises click.UsageError when nobody says which, or a word names nothing.
    """
    if everything:
        return list(found)
    if not words:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise click.UsageError("say which: numbers or names from --list, or --all")
        show_list(found, as_json=False)
        answer = click.prompt("which? (numbers, names, all; nothing for none)", default="", show_default=False)
        words = answer.split()
        if words == ["all"]:
            return list(found)
    listed = _newest_first(found)
    wanted: set[int] = set()
    for word in words:
        matches = _matches(word, listed)
        if not matches:
            raise click.UsageError(f"{word[:60]!r} names none of the {len(listed):,} sessions; --list shows them")
        wanted |= {id(each) for each in matches}
    return [each for each in found if id(each) in wanted]


def import_all(host: Host, found: Sequence[Found], others: int, format: str | None, as_json: bool) -> int:
    """Imports each, and tells how it went; returns the exit code."""
    documents: list[dict[str, Any]] = []
    failed: list[str] = []
    done: list[Imported] = []
    for number, each in enumerate(found, 1):
        try:
            with each.open() as source, progress_bar(f"{number}/{len(found)} {each.label}", in_bytes=True) as progress:
                one = host.import_file(source, format=format or each.format, progress=progress)
        except Exception as error:  # one file's fault costs that file
            said = failure(error)
            failed.append(each.label)
            note(f"{each.label}: {said.message.partition('; nothing was imported')[0]}")
            documents.append({"file": each.label, **said.document()})
            continue
        done.append(one)
        documents.append({"file": each.label, **document(one)})
        if one.note:
            note(f"{each.label}: {one.note}")
        if not as_json:
            line(f"{each.label}: {_told(one)}")
    rows = sum(one.rows + one.child_rows for one in done)
    fault = _fault(len(failed), len(found)) if failed else None
    if as_json:
        totals = {"imported": len(done), "failed": len(failed), "other_files": others, "rows": rows}
        print_json({"files": documents, **totals, **(fault.document() if fault else {})})
    else:
        facts(
            [
                ("files", len(done)),
                ("sessions", sum(len(one.sessions) + len(one.children) for one in done)),
                ("new rows", rows),
                ("failed", len(failed) or None),
                ("other files", others or None),
            ]
        )
        if done:
            hint("next", "sessions")
    if fault:
        sys.stderr.write(f"refold: error: {fault.message}\n")
    return fault.exit if fault else 0


def _told(one: Imported) -> str:
    sessions = one.session if len(one.sessions) == 1 else f"{one.session} and {len(one.sessions) - 1:,} more"
    rows = one.rows + one.child_rows
    words = [one.format, f"session {sessions}", f"{rows:,} new rows" if rows else "nothing new"]
    if one.skipped:
        words.append(f"{len(one.skipped):,} skipped")
    return ", ".join(words)


def _fault(failed: int, all: int) -> Failure:
    kept = "what the others hold is kept" if failed < all else "nothing was imported"
    return Failure(1, "failed", f"{failed:,} of {all:,} files failed; {kept}; the same command goes on from there")


def _newest_first(found: Sequence[Found]) -> list[Found]:
    return sorted(found, key=lambda each: (-each.modified, each.label))


def _matches(word: str, listed: Sequence[Found]) -> list[Found]:
    if word.isdecimal() and 1 <= int(word) <= len(listed):
        return [listed[int(word) - 1]]
    return [each for each in listed if word in each.label]


def _moment(modified: float) -> str | None:
    return datetime.fromtimestamp(modified, UTC).strftime("%Y-%m-%d %H:%M") if modified else None


def _listed(number: int, each: Found, title: str | None) -> dict[str, Any]:
    moment = datetime.fromtimestamp(each.modified, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {
        "number": number,
        "file": each.label,
        "format": each.format,
        "title": title,
        "bytes": each.size or None,
        "modified": moment if each.modified else None,
    }
