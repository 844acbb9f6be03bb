"""Where opencode keeps its sessions: a database (`opencode.db`), or in older versions a folder of small files.

Both are read, never written, and each session is put together as `opencode export` would write it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import apsw
import orjson
from attrs import frozen

from refold.importers.lines import Unreadable, as_map, as_text, as_title, parse
from refold.values.errors import RefoldError

_IN_MEMORY = 4 * 1024 * 1024


@frozen
class Kept:
    """A session of a store. `modified` is in seconds since 1970."""

    store: Path
    id: str
    title: str | None
    modified: float
    info: Mapping[str, Any]


def is_store(folder: Path) -> bool:
    """Whether opencode keeps its sessions here."""
    return bool(_databases(folder)) or _files(folder) is not None


def sessions(store: Path) -> list[Kept]:
    """The sessions of a store, parents first, then the oldest. Raises RefoldError when it cannot be read."""
    found = {kept.id: kept for kept in _of_files(store)}
    for database in _databases(store):
        found |= {kept.id: kept for kept in _of_database(database)}
    return sorted(found.values(), key=lambda kept: (_depth(kept, found), kept.modified, kept.id))


@contextmanager
def exported(kept: Kept) -> Iterator[BinaryIO]:
    """A session as its export. Raises RefoldError when the store cannot be read."""
    messages = _database_messages(kept) if kept.store.is_file() else _file_messages(kept)
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as file:
        file.write(b'{"info":' + orjson.dumps(kept.info) + b',"messages":[')
        for number, message in enumerate(messages):
            file.write((b"," if number else b"") + orjson.dumps(message))
        file.write(b"]}")
        file.seek(0)
        yield cast(BinaryIO, file)


def _depth(kept: Kept, found: Mapping[str, Kept]) -> int:
    depth, seen = 0, {kept.id}
    above = as_text(kept.info.get("parentID"))
    while above in found and above not in seen:
        seen.add(above)
        depth += 1
        above = as_text(found[above].info.get("parentID"))
    return depth


# -- the database ----------------------------------------------------------------------------------------------------


def _databases(store: Path) -> list[Path]:
    return sorted(path for path in store.glob("opencode*.db") if path.is_file())


@contextmanager
def _opened(path: Path) -> Iterator[apsw.Connection]:
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            connection.set_busy_timeout(5000)
            yield connection
    except apsw.Error as error:
        raise RefoldError(f"{path} cannot be read ({error})") from None


def _of_database(path: Path) -> Iterator[Kept]:
    with _opened(path) as connection:
        columns = {row[1] for row in connection.execute("PRAGMA table_info(session)")}
        revert = "revert" if "revert" in columns else "NULL"
        rows = connection.execute(
            f"SELECT id, parent_id, title, time_created, time_updated, {revert} FROM session ORDER BY time_created"
        )
        for id, parent, title, created, updated, reverted in rows:
            info: dict[str, Any] = {"id": id, "title": title, "time": {"created": created, "updated": updated}}
            if parent:
                info["parentID"] = parent
            if reverted:
                info["revert"] = _value(reverted)
            yield Kept(path, as_text(id), as_title(title), _seconds(updated), info)


def _database_messages(kept: Kept) -> Iterator[dict[str, Any]]:
    with _opened(kept.store) as connection:
        listed = "SELECT id, data FROM message WHERE session_id=? ORDER BY time_created, id"
        for id, data in connection.execute(listed, (kept.id,)):
            rows = connection.execute("SELECT id, data FROM part WHERE message_id=? ORDER BY id", (id,))
            parts = [{**_value(part), "id": part_id} for part_id, part in rows]
            yield {"info": {**_value(data), "id": id}, "parts": parts}


# -- the folder of files ---------------------------------------------------------------------------------------------


def _files(store: Path) -> Path | None:
    """The folder that holds `session`, `message` and `part`."""
    for folder in (store / "storage", store):
        if (folder / "session").is_dir() and (folder / "message").is_dir():
            return folder
    return None


def _of_files(store: Path) -> Iterator[Kept]:
    folder = _files(store)
    for path in sorted((folder / "session").rglob("*.json")) if folder else ():
        info = _read(path)
        if isinstance(info.get("id"), str) and "messageID" not in info:
            modified = _seconds(as_map(info.get("time")).get("updated")) or path.stat().st_mtime
            yield Kept(cast(Path, folder), info["id"], as_title(info.get("title")), modified, info)


def _file_messages(kept: Kept) -> Iterator[dict[str, Any]]:
    if "/" in kept.id or "\\" in kept.id or kept.id.startswith("."):
        raise RefoldError(f"{kept.id[:60]!r} cannot be a session's id; it was not imported")
    for path in sorted((kept.store / "message" / kept.id).glob("*.json")):
        parts = [_read(part) for part in sorted((kept.store / "part" / path.stem).glob("*.json"))]
        yield {"info": {**_read(path), "id": path.stem}, "parts": parts}


def _read(path: Path) -> Mapping[str, Any]:
    try:
        return _value(path.read_bytes())
    except OSError as error:
        raise RefoldError(f"{path} cannot be read ({error.strerror})") from None


def _value(text: str | bytes) -> Mapping[str, Any]:
    """The object in a column or a file; empty for anything else."""
    value = parse(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text.strip())
    return {} if isinstance(value, Unreadable) else as_map(value)


def _seconds(moment: Any) -> float:
    return moment / 1000 if isinstance(moment, (int, float)) and moment > 0 else 0.0
