"""What one extension gives: its hooks asked once a generation, every answer checked."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import pluggy
from attrs import field, frozen

from refold.hookspecs import NAME, Hooks
from refold.registry import settings
from refold.registry.selection import Installed
from refold.registry.words import HOST_COMMANDS, HOST_TOOLS
from refold.transcript.guard import store_fault
from refold.values.contexts import CompactionStrategy, FoldPlugin, Reducer
from refold.values.json_text import json_bytes
from refold.values.manifest import Manifest
from refold.values.tools import Command, Importer, Tool, ToolTraits

T = TypeVar("T")


class Faulty(Exception):
    """Why an extension cannot run, in words for `refold extensions`."""


@frozen(eq=False, repr=False)
class Extension:
    """A healthy extension of the generation in force, with everything it gives.

    `hook` calls its session hooks (`extension.hook.observe(context=..., projection=...)`; None when it has none).
    `kind` is its main purpose in one word. `reader` reads its settings and is of this generation.
    """

    id: str
    version: str
    distribution: str
    manifest: Manifest
    hook: pluggy.HookRelay
    kind: str
    strategy: CompactionStrategy | None = None
    fold_plugin: FoldPlugin | None = None
    reducer: Reducer | None = None
    tools: tuple[Tool, ...] = ()
    commands: tuple[Command, ...] = ()
    importers: tuple[Importer, ...] = ()
    migrations: tuple[str, ...] = ()
    reader: settings.Reader = field(factory=settings.Reader)

    def __repr__(self) -> str:
        return f"<Extension {self.id} {self.version}>"

    def gives(self, hook: str) -> bool:
        """Whether the extension implements a hook, by the hook's name."""
        caller: pluggy.HookCaller = getattr(self.hook, hook)
        return bool(caller.get_hookimpls())

    @property
    def installed(self) -> Installed:
        """What selection needs to know of it."""
        manifest = self.manifest
        strategy = self.strategy is not None
        return Installed(self.id, strategy, manifest.default, manifest.requires, manifest.uses, manifest.after)


def registered(id: str, plugin: object, host_version: str) -> pluggy.HookRelay:
    """The hooks of one extension, in a plugin manager of its own. Raises Faulty."""
    manager = pluggy.PluginManager(NAME)
    manager.add_hookspecs(Hooks)
    if os.environ.get("REFOLD_TRACE") == "1":
        manager.add_hookcall_monitoring(*_tracing(id))
    try:
        manager.register(plugin, name=id)
    except pluggy.PluginValidationError as error:
        raise Faulty(_signature_fault(error)) from error
    unknown = [
        name
        for name, caller in vars(manager.hook).items()
        if isinstance(caller, pluggy.HookCaller)
        and not caller.has_spec()
        and any(not each.optionalhook for each in caller.get_hookimpls())
    ]
    if unknown:
        hooks = "hooks" if len(unknown) > 1 else "hook"
        raise Faulty(f"uses {hooks} {', '.join(sorted(unknown))}, unknown to refold {host_version}")
    return manager.hook


def manifest_of(hook: pluggy.HookRelay) -> Manifest:
    """The extension's manifest, checked. Raises Faulty with all faults at once."""
    manifest = asked(hook.manifest)
    if manifest is None:
        raise Faulty("gives no manifest")
    if not isinstance(manifest, Manifest):
        raise Faulty(f"bad manifest: manifest() returned {type(manifest).__name__}, not a refold.Manifest")
    if faults := list(_manifest_faults(manifest)):
        raise Faulty(f"bad manifest: {'; '.join(faults)}")
    return manifest


def contributed(id: str, version: str, distribution: str, hook: pluggy.HookRelay, manifest: Manifest) -> Extension:
    """Asks every hook that is read when a composition is built. Raises Faulty."""
    strategy = _with(hook.compaction_strategy, "project", "compact")
    folds = _with(hook.fold_plugin, "folds", "owner")
    reducer = _with(hook.reducer, "reduce")
    tools = _several(hook.tools, Tool)
    commands = _several(hook.commands, Command)
    importers = _several(hook.importers, Importer)
    offered: list[Tool | Command | Importer] = [*tools, *commands, *importers]
    for each in offered:
        _check_fields(each)
    _check_names(manifest, tools, commands, importers)
    given = {
        "strategy": strategy,
        "memory": folds,
        "reducer": reducer,
        "tools": tools,
        "importer": importers,
        "commands": commands,
        "context": hook.context_blocks.get_hookimpls(),
    }
    kind = next((word for word, each in given.items() if each), "hooks")
    scripts = _several(hook.migrations, str)
    return Extension(
        id, version, distribution, manifest, hook, kind, strategy, folds, reducer, tools, commands, importers, scripts
    )


def asked(hook: Callable[[], T]) -> T:
    """The answer of a hook without arguments. Raises Faulty when it raises, `sys.exit` included."""
    try:
        return hook()
    except (Exception, SystemExit) as error:
        raise Faulty(f"{_name(hook)}() raised {words(error)}") from error


def words(error: BaseException) -> str:
    """An exception on one line, at most 300 characters."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:300] if text else type(error).__name__


def _with(hook: Callable[[], Any], *names: str) -> Any:
    answer = asked(hook)
    missing = [] if answer is None else [name for name in names if not hasattr(answer, name)]
    if missing:
        raise Faulty(f"{_name(hook)}() returned {type(answer).__name__}, which has no {' and no '.join(missing)}")
    return answer


def _several(hook: Callable[[], Any], cls: type[T]) -> tuple[T, ...]:
    answer = asked(hook)
    if answer is None:
        return ()
    if isinstance(answer, str) or not isinstance(answer, Sequence):
        raise Faulty(f"{_name(hook)}() returned {type(answer).__name__}, not a list")
    for each in answer:
        if not isinstance(each, cls):
            raise Faulty(f"{_name(hook)}() returned a {type(each).__name__} among its items, not {cls.__name__}")
    return tuple(answer)


def _check_fields(item: Tool | Command | Importer) -> None:
    """What is told to models and people must be texts, and every schema one that JSON can hold."""
    names = ("format",) if isinstance(item, Importer) else ("name", "description", "summary")
    what = type(item).__name__
    for name in names:
        if not isinstance(text := getattr(item, name, ""), str):
            raise Faulty(f"gives a {what} whose {name} is {type(text).__name__}, not a text")
    if isinstance(item, Importer):
        return
    if not isinstance(item.parameters, Mapping):
        raise Faulty(f"gives the {what} {item.name}, whose parameters are {type(item.parameters).__name__}, no mapping")
    try:
        json_bytes(item.parameters)
    except (TypeError, ValueError, RecursionError) as error:
        raise Faulty(f"gives the {what} {item.name}, whose parameters are no JSON ({words(error)})") from error
    if not callable(run := item.call if isinstance(item, Tool) else item.run):
        raise Faulty(f"gives the {what} {item.name}, which is run by {type(run).__name__}, not a function")
    if isinstance(item, Tool) and not isinstance(item.traits, ToolTraits):
        raise Faulty(f"gives the {what} {item.name}, whose traits are {type(item.traits).__name__}, not ToolTraits")


def _check_names(
    manifest: Manifest, tools: Sequence[Tool], commands: Sequence[Command], importers: Sequence[Importer]
) -> None:
    for what, names in (
        ("tool", [each.name for each in tools]),
        ("command", [each.name for each in commands]),
        ("format", [each.format for each in importers]),
    ):
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise Faulty(f"gives the {what} {twice[0]} twice")
    if taken := sorted(HOST_TOOLS.intersection(each.name for each in tools)):
        raise Faulty(f"gives the tool {taken[0]}, which is the host's own")
    own = {manifest.id, manifest.tables, manifest.tables.replace("_", "-")}
    for each in commands:
        first = (each.name.split() or [""])[0]
        if first in HOST_COMMANDS:
            raise Faulty(f"gives the command {each.name}, but {first} is a command of the host")
        if first not in own:
            raise Faulty(f"gives the command {each.name!r}, whose first word is not {' or '.join(sorted(own))}")


def _manifest_faults(manifest: Manifest) -> list[str]:
    faults = []
    for name in ("id", "title", "summary"):
        if not isinstance(text := getattr(manifest, name), str) or not text.strip():
            faults.append(f"{name} must be a text that is not empty")
    if not isinstance(manifest.default, bool):
        faults.append("default must be True or False")
    window = manifest.assumed_window
    if window is not None and (type(window) is not int or window <= 0):
        faults.append("assumed_window must be a number of tokens above 0, or None")
    for name in ("requires", "uses", "after"):
        names = getattr(manifest, name)
        if not isinstance(names, tuple) or not all(isinstance(each, str) for each in names):
            faults.append(f"{name} must be a tuple of ids")
    if manifest.store is not None and not isinstance(manifest.store, str):
        faults.append("store must be a text, or None")
    elif isinstance(manifest.id, str) and (fault := store_fault(manifest.tables)):
        faults.append(f"store {manifest.tables[:80]!r} {fault}")
    if manifest.settings is not None and (fault := settings.class_fault(manifest.settings)):
        faults.append(fault)
    return faults


def _signature_fault(error: pluggy.PluginValidationError) -> str:
    """pluggy's words about a hook's arguments, without its dump of the plugin."""
    lines = [" ".join(line.split()) for line in str(error).splitlines() if line.strip()]
    return f"a hook does not fit: {'; '.join(lines)}"[:300]


def _name(hook: Any) -> str:
    return str(getattr(hook, "name", hook))


def _tracing(id: str) -> tuple[Callable[..., None], Callable[..., None]]:
    def before(name: str, _impls: object, arguments: dict[str, object]) -> None:
        sys.stderr.write(f"refold trace: {id}.{name}({', '.join(arguments)})\n")

    def after(outcome: pluggy.Result[object], name: str, _impls: object, _arguments: object) -> None:
        end = f"raised {type(outcome.exception).__name__}" if outcome.exception else type(outcome.get_result()).__name__
        sys.stderr.write(f"refold trace: {id}.{name} -> {end}\n")

    return before, after
