"""Which extensions are installed, from package metadata alone: nothing is imported.

Distributions are read one by one, each guarded: one unreadable `entry_points.txt` makes the library's own
`entry_points()` raise for all of them.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.machinery
import json
import os
import re
from collections.abc import Iterator
from importlib import metadata
from urllib.parse import urlsplit

from attrs import frozen

from refold.hookspecs import GROUP
from refold.registry.selection import Problem
from refold.registry.words import id_fault

_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages", "dist-packages"})
_CODE = tuple(importlib.machinery.all_suffixes())


@frozen
class Distribution:
    """An installed distribution that offers extensions, and everything that says which code is its own.

    `stamp` changes when its code may have changed. `files` are real paths of the files that it installed. `folders`
    are those of an editable project: code below them is its own too. `paths` are the path entries that its `.pth`
    files add, `pth` those files. `requires` are the names of the distributions it depends on.
    """

    name: str
    version: str
    stamp: str
    files: frozenset[str]
    folders: tuple[str, ...]
    paths: tuple[str, ...]
    pth: tuple[str, ...]
    requires: frozenset[str]

    def owns(self, path: str) -> bool:
        """Whether a file, by its real path, belongs to it."""
        return path in self.files or any(_inside(path, folder) for folder in self.folders)

    def covers(self, folder: str) -> bool:
        """Whether a folder, by its real path, holds code of it."""
        return any(_inside(folder, each) for each in self.folders) or any(
            file.startswith(folder + os.sep) for file in self.files
        )

    def sources(self) -> Iterator[str]:
        """Its Python sources."""
        yield from (file for file in self.files if file.endswith(".py"))
        for folder in self.folders:
            yield from (entry.path for entry in _walk(folder) if entry.name.endswith(".py"))

    @property
    def compiled(self) -> bool:
        """Whether it installed C extensions, which cannot be loaded a second time."""
        return any(file.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)) for file in self.files)


@frozen
class Found:
    """One entry point of the group: its name is the extension's id, `value` says what to import."""

    id: str
    value: str
    module: str
    distribution: Distribution


@frozen
class Scan:
    """What is installed now, by id in name order, and what could not be read."""

    found: tuple[Found, ...] = ()
    problems: tuple[Problem, ...] = ()


DISABLE = "REFOLD_DISABLE"
"""The environment variable that names extensions to leave out of this process, as if they were not installed."""


def scan() -> Scan:
    """Reads the metadata of every distribution on the path, but those that `REFOLD_DISABLE` names.

    Raises only when the path itself cannot be walked.
    """
    importlib.invalidate_caches()
    # Python 3.11 does not do this by itself: it keeps what a folder held per modification time, and never drops it.
    metadata.MetadataPathFinder().invalidate_caches()
    found: dict[str, Found] = {}
    problems: list[Problem] = []
    names: set[str] = set()
    for each in metadata.distributions():
        try:
            text = each.read_text("entry_points.txt")
            if not text or GROUP not in text:
                continue
            headers = _headers(each)
            # A half-removed `~name` keeps its entry points, but has no name of its own.
            if not headers.get("Name") or normal(headers["Name"][0]) in names:
                continue
            names.add(name := normal(headers["Name"][0]))
            entries = _entries(name)
        except Exception as error:
            problems.append(Problem(None, f"{_label(each)} cannot be read and was skipped: {_words(error)}"))
            continue
        for entry in entries:
            if isinstance(entry, Problem):
                problems.append(entry)
            elif (other := found.get(entry.id)) is None:
                found[entry.id] = entry
            else:
                # Which of two wins must not depend on the order of folders.
                kept, left = sorted((other, entry), key=_claim)
                found[entry.id] = kept
                problems.append(
                    Problem(
                        entry.id,
                        f"is offered by {kept.distribution.name} and {left.distribution.name};"
                        f" {kept.distribution.name} is used: uninstall one",
                    )
                )
    left_out = sorted(found.keys() & set(os.environ.get(DISABLE, "").replace(",", " ").split()))
    problems += [Problem(None, f"{ext} is left out: the environment variable {DISABLE} names it") for ext in left_out]
    return Scan(tuple(found[ext] for ext in sorted(found) if ext not in left_out), tuple(problems))


def normal(name: str) -> str:
    """A distribution's name in the one form that compares equal.

    >>> normal("Refold_Rolling")
    'refold-rolling'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def installed_version(name: str) -> str | None:
    """The version of a distribution as it lies on the disk now; None: it is not installed or cannot be read."""
    try:
        return _headers(metadata.distribution(name)).get("Version", [None])[0]
    except Exception:
        return None


def _claim(found: Found) -> tuple[bool, str]:
    return found.distribution.name != f"refold-{normal(found.id)}", found.distribution.name


def _entries(name: str) -> list[Found | Problem]:
    """The extensions of the first copy on the path: the one that would be imported."""
    first = metadata.distribution(name)
    points = first.entry_points.select(group=GROUP)
    owner = _distribution(name, first)
    entries: list[Found | Problem] = []
    for point in sorted(points, key=lambda point: point.name):
        try:
            module = point.module
        except Exception:  # the value does not parse, which shows only here, in each Python as another error
            entries.append(Problem(point.name, f"{name} says {point.value[:80]!r}, which names no module"))
            continue
        if fault := id_fault(point.name):
            entries.append(Problem(point.name[:80], f"{name} uses a name that is not possible: {fault}"))
        else:
            entries.append(Found(point.name, point.value, module, owner))
    return entries


def _distribution(name: str, dist: metadata.Distribution) -> Distribution:
    headers = _headers(dist)
    base = os.path.realpath(str(dist.locate_file("")))
    record = dist.read_text("RECORD")
    files = frozenset(os.path.normpath(os.path.join(base, str(file))) for file in dist.files or ())
    pth = tuple(sorted(file for file in files if file.endswith(".pth")))
    paths = tuple(dict.fromkeys(path for file in pth for path in _pth_paths(file)))
    folders: tuple[str, ...] = ()
    if project := _editable(dist):
        folders = tuple(dict.fromkeys([project, *(path for path in paths if not _inside(path, project))]))
    elif record is None and os.path.basename(base) not in _SKIPPED:
        folders = (base,)  # metadata in the source tree itself
    elif record is None:
        files = _top_level(dist, base)
    stamp = hashlib.sha256()
    for part in (record, dist.read_text("METADATA"), dist.read_text("entry_points.txt"), *folders):
        stamp.update(repr(part).encode("utf-8", "backslashreplace"))
    sources = [entry for folder in folders for entry in _walk(folder)]
    for path, stat in sorted((entry.path, entry.stat()) for entry in sources):
        stamp.update(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
    requires = frozenset(
        normal(match[0]) for text in headers.get("Requires-Dist", ()) if (match := re.match(r"[\w.-]+", text))
    )
    version = headers.get("Version", ["unknown"])[0]
    return Distribution(name, version, stamp.hexdigest(), files, folders, paths, pth, requires)


def _headers(dist: metadata.Distribution) -> dict[str, list[str]]:
    """The header lines of the metadata. Parsing them as e-mail costs ten times as much."""
    headers: dict[str, list[str]] = {}
    for line in (dist.read_text("METADATA") or dist.read_text("PKG-INFO") or "").splitlines():
        if not line:
            break
        name, colon, value = line.partition(":")
        if colon and not line[0].isspace() and value.strip():
            headers.setdefault(name, []).append(value.strip())
    return headers


def _editable(dist: metadata.Distribution) -> str | None:
    """The project folder of an editable install."""
    origin = json.loads(dist.read_text("direct_url.json") or "{}")
    if not origin.get("dir_info", {}).get("editable"):
        return None
    from urllib.request import url2pathname  # half as heavy as the rest of this package, and rarely needed

    return os.path.realpath(url2pathname(urlsplit(origin["url"]).path))


def _pth_paths(file: str) -> list[str]:
    try:
        with open(file, encoding="utf-8") as lines:
            texts = [line.strip() for line in lines]
    except (OSError, UnicodeDecodeError):
        return []
    entries = [text for text in texts if text and not text.startswith(("#", "import ", "import\t"))]
    return [os.path.realpath(os.path.join(os.path.dirname(file), text)) for text in entries]


def _top_level(dist: metadata.Distribution, base: str) -> frozenset[str]:
    """The files of a distribution without a RECORD (some systems' own packages), by its top-level names."""
    names = (dist.read_text("top_level.txt") or "").split()
    single = {os.path.join(base, f"{name}.py") for name in names}
    return frozenset(single.union(*({entry.path for entry in _walk(os.path.join(base, name))} for name in names)))


def _inside(path: str, folder: str) -> bool:
    """Whether a path is a project's own: below the folder, but not in an environment that was put there."""
    if path != folder and not path.startswith(folder.rstrip(os.sep) + os.sep):
        return False
    parts = os.path.relpath(path, folder).split(os.sep)
    return not any(part in _SKIPPED or (part.startswith(".") and part != ".") for part in parts)


def _walk(folder: str) -> Iterator[os.DirEntry[str]]:
    """Every file of code below a folder; environments and hidden folders are left out."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in _SKIPPED and not entry.name.startswith("."):
                yield from _walk(entry.path)
        elif entry.name.endswith(_CODE) and entry.is_file():
            yield entry


def _label(dist: metadata.Distribution) -> str:
    """A name for a distribution of which perhaps nothing can be read."""
    folder = getattr(dist, "_path", None)
    return f"the installed package {os.path.basename(str(folder))}" if folder else "an installed package"


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
