"""The JSON files of the home that people edit: read without ever failing, written one change at a time.

A write is a new file beside the old one (mode 0600), synced, then renamed over it: a process killed at any moment
leaves the old file or the new one. A file that cannot be read is never replaced.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from attrs import field, frozen

from refold.values.errors import Refused

LIMIT = 1 << 20
"""Bytes; a larger file is not read."""

_SURROGATE = re.compile("[\ud800-\udfff]")


@frozen
class HomeFile:
    """The sections of a file, and why it could not be read (then there are none). A missing file has no sections."""

    sections: Mapping[str, Any] = field(factory=dict)
    fault: str | None = None


def read(path: Path) -> HomeFile:
    """The file's sections. It never raises: a fault is in the answer."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return HomeFile(fault="is not a regular file")
            raw = file.read(LIMIT + 1)
    except FileNotFoundError:
        return HomeFile()
    except OSError as error:
        return HomeFile(fault=f"cannot be read: {error.strerror or error}")
    if len(raw) > LIMIT:
        return HomeFile(fault="is larger than 1 MiB")
    try:
        sections = json.loads(
            raw.decode("utf-8-sig"), object_pairs_hook=_object, parse_constant=_constant, parse_float=_number
        )
    except json.JSONDecodeError as error:
        return HomeFile(fault=f"is not JSON: {error.msg}, line {error.lineno} column {error.colno}")
    except UnicodeDecodeError as error:
        return HomeFile(fault=f"is not UTF-8: byte {error.start}")
    except (ValueError, RecursionError) as error:
        return HomeFile(fault=f"is not usable JSON: {error}")
    if not isinstance(sections, dict):
        return HomeFile(fault="must hold a JSON object")
    return HomeFile(sections)


def update(path: Path, change: Callable[[dict[str, Any]], object]) -> HomeFile:
    """Changes the file's sections in place under a lock that all processes respect, and returns them.

    `change` gets the sections as they are now; what it raises leaves the file as it was. Raises Refused when the file
    cannot be read or written.
    """
    path = Path(os.path.realpath(path))  # a linked file stays a link
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _lock(path):
            now = read(path)
            if now.fault:
                raise Refused(f"{path} {now.fault}; it was not changed; mend or move it first")
            sections = dict(now.sections)
            before = _text(sections)
            change(sections)
            if (text := _text(sections)) != before:
                _replace(path, text)
            return HomeFile(sections)
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror or error}; it was not changed") from error


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))  # a pipe would block


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {json.dumps(twice)} stands there twice")
    return dict(pairs)


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _number(text: str) -> float:
    if (value := float(text)) in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]} is too large")
    return value


def _text(sections: Mapping[str, Any]) -> bytes:
    text = json.dumps(sections, indent=2, ensure_ascii=False) + "\n"
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """One writer at a time over all processes; the lock of a killed one is free at once."""
    with open(path.with_name(f".{path.name}.lock"), "ab", opener=_private) as file:
        _acquire(file)
        yield


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0), 0o600)


if sys.platform == "win32":
    import msvcrt

    def _acquire(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)

else:
    import fcntl

    def _acquire(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)


def _replace(path: Path, text: bytes) -> None:
    # The name is fixed: the lock keeps other writers away, and what a killed one left behind is written over.
    beside = path.with_name(f".{path.name}.new")
    with open(beside, "wb", opener=_private) as file:
        if hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), 0o600)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    if sys.platform != "win32":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
