"""Takes a distribution's code out of this process, so that the next import reads what lies on the disk.

Everything goes by file, never by name: a module belongs to a distribution when its file does.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import linecache
import os
import site
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from types import ModuleType

from refold.registry.discovery import Distribution


def loaded_modules(distribution: Distribution) -> set[str]:
    """Names of the imported modules whose code belongs to the distribution, submodules imported later included."""
    real = functools.cache(os.path.realpath)
    return {name for name, module in list(sys.modules.items()) if belongs(module, distribution, real)}


def purge(old: Distribution, new: Distribution | None, kept_paths: Collection[str]) -> None:
    """Removes the modules, compiled files, finders and path entries of the code that was loaded.

    `old` is the distribution as it was when it was loaded, `new` as it lies on the disk now. `kept_paths` are path
    entries that other distributions need.
    """
    modules = loaded_modules(old)
    # Setuptools puts a made-up path entry beside its finder.
    made_up = {
        getattr(sys.modules[name], "PATH_PLACEHOLDER", None) for name in modules if name.startswith("__editable__")
    }
    remove_modules(modules)
    for each in (old, new):
        if each is not None:
            _remove_compiled(each)
    sys.meta_path[:] = [finder for finder in sys.meta_path if _module_of(finder) not in modules]
    sys.path_hooks[:] = [hook for hook in sys.path_hooks if _module_of(hook) not in modules]
    gone = {path for path in old.paths if path not in kept_paths}
    # A moved project would otherwise silently load from its old folder.
    sys.path[:] = [path for path in sys.path if path not in made_up and not (path and os.path.realpath(path) in gone)]


def refresh(changed: Iterable[Distribution]) -> None:
    """Lets the import system see what was installed: caches cleared, `.pth` files of changed distributions read.

    An editable install made after start-up is listed but cannot be imported until its `.pth` file is read.
    """
    for each in changed:
        for file in each.pth:
            with contextlib.suppress(Exception):  # what it should have made importable then says so
                site.addpackage(os.path.dirname(file), os.path.basename(file), None)
    sys.path_importer_cache.clear()
    linecache.checkcache()
    importlib.invalidate_caches()


def remove_modules(names: Iterable[str]) -> None:
    """Forgets modules, also as attributes of parent packages that stay.

    A parent that goes with them keeps its attributes: a turn may still run its code.
    """
    forgotten = {name: sys.modules.pop(name, None) for name in names}
    for name, module in forgotten.items():
        parent, _, child = name.rpartition(".")
        holder = sys.modules.get(parent)
        if holder is not None and vars(holder).get(child) is module and module is not None:
            delattr(holder, child)


def belongs(module: ModuleType, distribution: Distribution, real: Callable[[str], str] = os.path.realpath) -> bool:
    """Whether the module really comes from the distribution: a folder earlier on the path otherwise wins unseen."""
    # Never getattr: a lazy module would be imported by the question.
    names = getattr(module, "__dict__", None) or {}
    file = names.get("__file__") or getattr(names.get("__spec__"), "origin", None)
    if isinstance(file, str):
        return distribution.owns(os.path.join(real(os.path.dirname(file)), os.path.basename(file)))
    try:
        folders = [real(str(each)) for each in names.get("__path__") or ()]
    except Exception:  # a namespace package whose parent is gone
        return False
    return bool(folders) and all(distribution.covers(folder) for folder in folders)


def _remove_compiled(distribution: Distribution) -> None:
    # They are trusted by whole seconds and size of the source, so a quick edit would come back stale.
    for source in distribution.sources():
        path = Path(source)
        with contextlib.suppress(OSError):
            for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
                compiled.unlink()


def _module_of(finder: object) -> str:
    return getattr(finder, "__module__", None) or type(finder).__module__
