"""One generation of extension code: imported, checked, and on reload exchanged by distribution where it changed."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import threading
import traceback
from collections.abc import Collection, Mapping
from importlib import metadata

from attrs import evolve, field, frozen

from refold.hookspecs import GROUP
from refold.registry.contributions import Extension, Faulty, contributed, manifest_of, registered, words
from refold.registry.discovery import Distribution, Found, Scan, installed_version
from refold.registry.purging import belongs, loaded_modules, purge, refresh, remove_modules
from refold.registry.selection import Problem


@frozen(eq=False)
class Loaded:
    """One installed extension: with its code, or with the reason why it has none."""

    found: Found
    extension: Extension | None = None
    reason: str = ""

    def same(self, other: Loaded) -> bool:
        """Whether nothing changed from one reload to the other: the same code, or the same failure."""
        return self.extension is other.extension and self.reason == other.reason


@frozen(eq=False)
class Generation:
    """All installed extensions by id, and what is to be shown beside the reasons of those that failed."""

    number: int = 0
    loaded: Mapping[str, Loaded] = field(factory=dict)
    problems: tuple[Problem, ...] = ()


class Code:
    """What this process has imported of extensions: there is one `sys.modules`, so there is one of these.

    `held` is each distribution as it was when its code was imported. The code of a `pinned` one was imported by the
    program itself (the host app, a test) or is compiled, so it is never taken out.
    """

    def __init__(self) -> None:
        self.held: dict[str, Distribution] = {}
        self.pinned: set[str] = set()
        self._running: dict[str, str | None] = {}
        self._lock = threading.Lock()

    def advance(self, old: Generation, scan: Scan) -> Generation:
        """The next generation. Unchanged distributions keep their code; the others are imported anew.

        Changed is: another stamp, not loaded last time, or depending on a changed one.
        """
        with self._lock:
            return self._advance(old, scan)

    def _advance(self, old: Generation, scan: Scan) -> Generation:
        on_disk = {each.distribution.name: each.distribution for each in scan.found}
        fresh = on_disk.keys() - self.held.keys()
        gone = self.held.keys() - on_disk.keys()
        stale = {name for name, each in on_disk.items() if name not in fresh and each.stamp != self.held[name].stamp}
        failed = {each.found.distribution.name for each in old.loaded.values() if each.extension is None}
        changed = _with_dependents(on_disk, stale | fresh | gone | (failed & on_disk.keys()))
        self.pinned |= {name for name in fresh if loaded_modules(on_disk[name])}
        self.pinned |= {name for name in changed & self.held.keys() if self._is_compiled(self.held[name])}

        exchanged = changed - self.pinned
        kept_paths = {path for name, each in on_disk.items() if name not in exchanged for path in each.paths}
        for name in exchanged & self.held.keys():
            purge(self.held.pop(name), on_disk.get(name), kept_paths)
        modules = {each.distribution.name: each.module for each in scan.found}
        refresh(
            on_disk[name]
            for name in sorted(exchanged & on_disk.keys())
            if on_disk[name].folders and (name not in fresh or not _can_be_found(modules[name]))
        )
        for name in exchanged & on_disk.keys() | fresh:
            self.held[name] = on_disk[name]
        for name in gone:
            self.held.pop(name, None)
        self.pinned -= gone

        loaded = {each.id: self._loaded(each, old.loaded.get(each.id)) for each in scan.found}
        problems = [*scan.problems, *self._restarts(scan, stale & self.pinned)]
        return Generation(old.number + 1, loaded, tuple(problems))

    def _loaded(self, found: Found, before: Loaded | None) -> Loaded:
        held = self.held[found.distribution.name]
        # Another registry of this process may have exchanged the code since.
        if before is not None and before.extension is not None and before.found.distribution is held:
            return before
        return _load(evolve(found, distribution=held))

    def _restarts(self, scan: Scan, stale: Collection[str]) -> list[Problem]:
        """Newer code on the disk that only another process can use: of pinned extensions, and of dependencies."""
        extensions = {each.distribution.name for each in scan.found}
        problems = []
        for found in scan.found:
            owner = found.distribution
            if owner.name in stale:
                running = self.held[owner.name].version
                text = f"other code of it is installed ({owner.version}), but this process runs {running}"
                problems.append(Problem(found.id, f"{text}: restart to use it"))
            for name in sorted(owner.requires - extensions):
                installed = installed_version(name)
                first = self._running.setdefault(name, installed)
                if installed == first or installed is None:
                    continue
                if first is not None and _is_imported(name):
                    text = f"{name} {installed} is installed, but this process runs {first}"
                    problems.append(Problem(found.id, f"{text}: restart to use it"))
                else:
                    self._running[name] = installed
        return problems

    @staticmethod
    def _is_compiled(held: Distribution) -> bool:
        return held.compiled and bool(loaded_modules(held))


PROCESS = Code()
"""The one of this process."""


def host_version() -> str:
    """The version of refold that runs."""
    return installed_version("refold") or "(not installed)"


def _load(found: Found) -> Loaded:
    owner = found.distribution
    before = set(sys.modules)
    try:
        # A program that speaks over standard output must not be disturbed by what an extension prints.
        with contextlib.redirect_stdout(sys.stderr):
            return Loaded(found, _extension(found))
    except Faulty as fault:
        reason = str(fault)
        _trace(fault)
    except (Exception, SystemExit) as error:
        reason = f"cannot be imported: {words(error)}"
        _trace(error)
    brought_in = set(sys.modules) - before
    top = found.module.partition(".")[0]
    mine = {name for name in brought_in if name == top or name.startswith(f"{top}.")}
    remove_modules(mine | (brought_in & loaded_modules(owner)))
    return Loaded(found, reason=reason)


def _extension(found: Found) -> Extension:
    owner = found.distribution
    plugin = metadata.EntryPoint(found.id, found.value, GROUP).load()
    hook = registered(found.id, plugin, host_version())
    manifest = manifest_of(hook)
    if manifest.id != found.id:
        raise Faulty(f"its manifest says the id {manifest.id!r}, but its entry point is named {found.id}")
    module = sys.modules[found.module]
    if not belongs(module, owner):
        place = getattr(module, "__file__", None) or "elsewhere"
        raise Faulty(f"{found.module} was found at {place}, which is not {owner.name}'s: that folder hides it")
    return contributed(found.id, owner.version, owner.name, hook, manifest)


def _with_dependents(on_disk: Mapping[str, Distribution], changed: Collection[str]) -> set[str]:
    """The changed ones and whoever depends on one: else `isinstance` between the two would be false."""
    all_changed = set(changed)
    while more := {name for name, each in on_disk.items() if name not in all_changed and each.requires & all_changed}:
        all_changed |= more
    return all_changed


def _can_be_found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def _is_imported(name: str) -> bool:
    try:
        files = metadata.distribution(name).files or []
    except metadata.PackageNotFoundError:
        return False
    tops = {str(file).partition("/")[0].removesuffix(".py") for file in files}
    return not tops.isdisjoint(sys.modules)


def _trace(error: BaseException) -> None:
    """Authors see where it failed; people see one line in the list."""
    if os.environ.get("REFOLD_TRACE") == "1":
        traceback.print_exception(error, file=sys.stderr)
