"""Whether a write touches what was read: paths as agents write them, absolute, relative or Windows ones."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

_DRIVE = re.compile(r"^[a-z]:", re.IGNORECASE)
_ADDRESS = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): *+(\S.*)$", re.MULTILINE)
_GLOB = re.compile(r"[*?\[{]")


def is_address(text: str) -> bool:
    """Whether the text is an address on the network.

    >>> is_address("https://example.org/a"), is_address("src/a.py")
    (True, False)
    """
    return bool(_ADDRESS.match(text))


def patched(text: str) -> tuple[str, ...]:
    """The files that a patch in the form of Codex's `apply_patch` names; none: the text is no such patch.

    >>> patched("*** Begin Patch\\n*** Update File: a.py\\n*** Move to: b.py\\n+x\\n*** End Patch"), patched("a.py")
    (('a.py', 'b.py'), ())
    """
    return tuple(dict.fromkeys(path.rstrip() for path in _PATCHED.findall(text))) if "*** " in text else ()


@lru_cache(maxsize=4096)
def normal(path: str) -> str:
    """The path with `/`, without `.`, `..` and doubled separators; in lower case with a drive or backslashes.

    >>> normal("src\\\\A.py"), normal("./src/../lib/"), normal("")
    ('src/a.py', 'lib', '.')
    """
    windows = "\\" in path or _DRIVE.match(path)
    plain = posixpath.normpath(path.replace("\\", "/").strip() or ".")
    return plain.lower() if windows else plain


def same(one: str, other: str) -> bool:
    """Whether two paths name one file. A relative path equals an absolute one that ends with it."""
    first, second = normal(one), normal(other)
    if _absolute(first) == _absolute(second):
        return first == second
    return f"/{first}".endswith(f"/{second.lstrip('/')}") or f"/{second}".endswith(f"/{first.lstrip('/')}")


@lru_cache(maxsize=65536)  # the same pairs are asked about for every request of a session
def touches(written: str, target: str, *, folder: bool = False) -> bool:
    """Whether a write to one path changes what another holds: it is equal, above or below.

    Nobody says which folder relative paths start from. So a relative path is found in an absolute one where its parts
    stand in it, and a relative write is taken to be in every `folder` that was searched or listed.

    >>> touches("src/a.py", "src"), touches("src/a.py", "lib"), touches("/repo/src/a.py", "src/a.py")
    (True, False, True)
    """
    write, place = normal(written), normal(target)
    if place == "." or write == ".":
        return True
    if _absolute(write) == _absolute(place):
        return _within(write, place) or _within(place, write)
    if folder and _absolute(place):
        return True
    outer, inner = (write, place) if _absolute(write) else (place, write)
    return f"/{inner}/" in f"{outer}/"


def listed_folder(pattern: str) -> str:
    """The folder that a listing's pattern looks into: its parts before the first wildcard.

    >>> listed_folder("src/**/*.py"), listed_folder("*.py"), listed_folder("src/lib")
    ('src', '.', 'src/lib')
    """
    found = _GLOB.search(pattern)
    if found is None:
        return pattern or "."
    folder, slash, _ = pattern[: found.start()].replace("\\", "/").rpartition("/")
    return folder or (slash or ".")


def joined(folder: str, path: str) -> str:
    """The path inside the folder; an absolute path stays."""
    return path if not folder or _absolute(normal(path)) else posixpath.join(folder, path)


def _absolute(path: str) -> bool:
    return path.startswith(("/", "~")) or bool(_DRIVE.match(path))


def _within(path: str, folder: str) -> bool:
    return path == folder or folder == "/" or path.startswith(f"{folder}/")
