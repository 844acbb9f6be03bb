"""The session files in a folder: what is there to import, in an order in which parents come before their children."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from attrs import field, frozen

from refold.importers.agents import aider, opencode_store
from refold.importers.formats import detect, named
from refold.importers.lines import as_map, as_name, as_title, parse
from refold.importers.reading import opened
from refold.values.errors import NotFound, RefoldError
from refold.values.rows import Row
from refold.values.tools import SessionFacts

_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson", ".traj", ".md"})
_SKIPPED_FOLDERS = frozenset({".git", ".hg", ".venv", "node_modules", "__pycache__"})
_BESIDE = frozenset(
    {
        "checkpoints.json",
        "context_history.json",
        "history.jsonl",
        "history_item.json",
        "logs.json",
        "session_index.jsonl",
        "sessions-index.json",
        "state.json",
        "task_metadata.json",
        "ui_messages.json",
    }
)
"""What agents keep beside their sessions: indexes, states of the screen, facts."""
_HEADER = 16 * 1024

Source = Path | BinaryIO
Opener = Callable[[], AbstractContextManager[Source]]


@frozen
class Found:
    """Something to import: a file, or a session of a store that is no file.

    `label` says to people which it is. `format` names the importer where it is known; `modified` is in seconds since
    1970, `size` in bytes.
    """

    label: str
    open: Opener = field(repr=False)
    size: int
    modified: float
    format: str | None = None
    title: str | None = None


@frozen
class Folder:
    """What a folder holds. `others` counts the files that hold no session."""

    found: Sequence[Found]
    others: int


def found_file(path: Path, label: str, format: str | None = None) -> Found:
    """A file as something to import. Raises RefoldError when it cannot be looked at."""
    try:
        facts = path.stat()
    except OSError as error:
        raise RefoldError(f"{path} cannot be read ({error.strerror})") from None
    return Found(label, lambda: nullcontext(path), facts.st_size, facts.st_mtime, format)


def look_into(folder: Path) -> Folder:
    """Everything in a folder that may be a session file, folders in it included. Raises NotFound, RefoldError."""
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}; nothing was imported")
    paths: list[Path] = []
    stores: list[Path] = []
    others = 0
    for place, folders, names in os.walk(folder, onerror=_refuse):
        here = Path(place)
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        if opencode_store.is_store(here):
            stores.append(here)
            folders.clear()
            continue
        for name in sorted(names):
            if _may_hold_a_session(here / name, names):
                paths.append(here / name)
            else:
                others += 1
    found = [found_file(path, str(path.relative_to(folder))) for path in _parents_first(paths)]
    for store in stores:
        found += opencode_sessions(store)
    return Folder(found, others)


def opencode_sessions(store: Path) -> Iterator[Found]:
    """The sessions of an opencode store, parents first. Raises RefoldError when it cannot be read."""
    for kept in opencode_store.sessions(store):
        yield Found(
            label=kept.id,
            open=partial(opencode_store.exported, kept),
            size=0,
            modified=kept.modified,
            format="opencode",
            title=kept.title,
        )


def title_of(found: Found) -> str | None:
    """What a session is about, told from the beginning of its file: its title, else the user's first words."""
    if found.title:
        return found.title
    try:
        with found.open() as source, opened(source) as file:
            head = file.head()
        importer = named(found.format) if found.format else detect(head)
        for item in importer.rows(BytesIO(head)):
            if isinstance(item, SessionFacts) and item.title:
                return item.title
            if isinstance(item, Row) and item.kind == "user" and (title := as_title(item.text)):
                return title
    except RefoldError:
        pass
    return None


def _refuse(error: OSError) -> None:
    raise RefoldError(f"{error.filename} cannot be read ({error.strerror}); nothing was imported")


def _may_hold_a_session(path: Path, beside: Sequence[str]) -> bool:
    if path.suffix not in _SUFFIXES or path.name in _BESIDE or not path.is_file():
        return False
    if path.suffix == ".md":
        return aider.detect(_beginning(path))
    if path.name.startswith("context") and "wire.jsonl" in beside:
        return False  # Kimi CLI's view of a session whose whole course stands in the other file
    return path.stat().st_size > 0


def _parents_first(paths: Sequence[Path]) -> list[Path]:
    """Exports of refold behind those of their parents, files of sub-agents behind all others of their folder."""
    waiting = sorted(paths, key=lambda path: (path.parent, path.name.startswith("agent-"), path.name))
    headers = {path: _header(path) for path in waiting}
    here = {name for name, _ in headers.values() if name}
    placed: set[str] = set()
    ordered: list[Path] = []
    while waiting:
        rest = []
        for path in waiting:
            name, parent = headers[path]
            if parent in here and parent not in placed and parent != name:
                rest.append(path)
            else:
                ordered.append(path)
                placed.add(name)
        if len(rest) == len(waiting):  # parents in a circle
            return ordered + rest
        waiting = rest
    return ordered


def _header(path: Path) -> tuple[str, str]:
    """The session and the parent that the header of an export names; empty for any other file."""
    if path.suffix != ".jsonl":
        return "", ""
    header = as_map(parse(_beginning(path).partition(b"\n")[0].strip()))
    if not isinstance(header.get("refold"), int):
        return "", ""
    return as_name(header.get("session")), as_name(header.get("parent"))


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEADER)
    except OSError:
        return b""
