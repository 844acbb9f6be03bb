"""The registry of one home: what is installed, what is chosen, and the composition that serves a session."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from refold.registry import home_file, loading
from refold.registry.composition import (
    About,
    Composition,
    Listed,
    compose,
    file_problem,
    global_choices,
    listed,
    select,
)
from refold.registry.contributions import Extension, words
from refold.registry.discovery import Scan, scan
from refold.registry.loading import Generation
from refold.registry.proposals import Changes, Installation, propose_global, propose_session
from refold.registry.remembered import Memory, Remembered, recall, remember
from refold.registry.selection import Choices, Installed, Problem, order, resolve
from refold.registry.stores import ClaimStores, Migrate, broken_stores
from refold.values.errors import RefoldError, Refused

_KEPT = 64
"""Compositions kept: sessions mostly have no choices of their own, so few differ."""


@frozen
class Reloaded:
    """What a reload found, by id."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    problems: tuple[Problem, ...]


@frozen(eq=False)
class _InForce:
    """One generation with what its home says of it."""

    generation: Generation
    extensions: Mapping[str, Extension]
    installation: Installation
    about: Mapping[str, About]
    problems: tuple[Problem, ...]


class Registry:
    """Extensions of one home.

    Nothing is imported before `load`, which the first composition does by itself. Safe for threads.

        registry = Registry(home, claim, migrate)
        composition = registry.composition({"lcm": True})

    Whoever works with a composition holds it from the beginning to the end of that work: a reload makes the next one
    and waits for nobody. What a reload took out of force is freed when the last who holds it is done.
    """

    def __init__(self, home: Path, claim: ClaimStores, migrate: Migrate) -> None:
        self._choices_path = home / "extensions.json"
        self._memory_path = home / "installed.json"
        self._claim, self._migrate = claim, migrate
        self._in_force: _InForce | None = None
        self._built: dict[tuple[object, ...], Composition] = {}
        self._lock = threading.RLock()

    def load(self) -> None:
        """Imports what is installed, once. An extension that fails is a problem; this raises for none of them."""
        self._now()

    def reload(self) -> Reloaded:
        """Scans again and exchanges the code that changed, for every composition that is asked for from now on.

        Raises RefoldError when the scan failed; then the extensions loaded before stay in force.
        """
        with self._lock:
            old = self._in_force.generation if self._in_force else Generation()
            now = self._advance(old, _scanned())
            before, after = old.loaded, now.generation.loaded
            return Reloaded(
                added=tuple(ext for ext in after if ext not in before),
                changed=tuple(ext for ext in after if ext in before and not after[ext].same(before[ext])),
                removed=tuple(ext for ext in before if ext not in after),
                problems=self.composition().problems,
            )

    def composition(self, session_choices: Choices | None = None) -> Composition:
        """The set in force for a session with these choices, over the code that is loaded.

        Settings and global choices are read anew when the file changed.
        """
        with self._lock:
            in_force = self._now()
            own = dict(session_choices or {})
            key = (_stamp(self._choices_path), tuple(sorted(own.items())))
            if (built := self._built.get(key)) is None:
                built = compose(
                    in_force.generation.number,
                    in_force.extensions,
                    in_force.installation,
                    in_force.about,
                    home_file.read(self._choices_path),
                    own,
                    in_force.problems,
                )
                if len(self._built) >= _KEPT:
                    self._built.clear()
                self._built[key] = built
            return built

    def propose(self, changes: Changes, session_choices: Choices) -> dict[str, bool]:
        """A session's choices after a change, for the caller to store. Raises Refused or NotFound; stores nothing."""
        with self._lock:
            choices = global_choices(home_file.read(self._choices_path)).value
            stored = propose_session(self._installation(changes), changes, choices, session_choices)
            self._check_collisions((choices, session_choices), (choices, stored))
            return stored

    def choose(self, changes: Changes) -> None:
        """Changes the global choices and stores them. Raises Refused or NotFound; then nothing was changed.

        Turning off and inheriting import nothing.
        """
        with self._lock:
            installation = self._installation(changes)

            def change(sections: dict[str, Any]) -> None:
                read = global_choices(home_file.HomeFile(sections))
                if read.faults:
                    raise Refused(f"extensions.json {read.faults[0]}; nothing was changed; mend the file first")
                stored = propose_global(installation, changes, read.value)
                self._check_collisions((read.value, {}), (stored, {}))
                sections["enabled"] = stored

            home_file.update(self._choices_path, change)

    def listing_without_loading(
        self, session_choices: Choices | None = None
    ) -> tuple[tuple[Listed, ...], tuple[Problem, ...]]:
        """The list of extensions and its problems from metadata and from what was remembered: nothing is imported.

        What failed when it was last loaded is taken to fail still.
        """
        home = home_file.read(self._choices_path)
        choices, own = global_choices(home).value, dict(session_choices or {})
        memory, found = recall(self._memory_path), _scanned()
        facts = [_facts(memory, each.id) for each in found.found]
        faults = {ext: each.fault for ext, each in memory.extensions.items() if each.fault}
        broken = {each.id: f"{faults[each.id]} (when it was last loaded)" for each in facts if each.id in faults}
        selection = resolve(facts, choices, own, broken)
        about = {each.id: About(each.distribution.version, memory.known(each.id)) for each in found.found}
        problems = (*file_problem(home), *found.problems, *selection.problems)
        return listed(about, order(facts).ids, selection, choices, own, problems), problems

    def _now(self) -> _InForce:
        with self._lock:
            if self._in_force is not None:
                return self._in_force
            try:
                found = _scanned()
            except RefoldError as error:
                found = Scan(problems=(Problem(None, str(error)),))
            return self._advance(Generation(), found)

    def _installation(self, changes: Changes) -> Installation:
        """What a change is checked against. Only enabling has to know an extension by its code."""
        if self._in_force is None and not any(changes.values()):
            memory, found = recall(self._memory_path), _scanned()
            facts = tuple(_facts(memory, each.id) for each in found.found)
            return Installation(facts, {}, memory.gone({each.id for each in facts}))
        return self._now().installation

    def _check_collisions(self, before: tuple[Choices, Choices], after: tuple[Choices, Choices]) -> None:
        """Refuses choices under which two enabled extensions give one name, unless they did so already."""
        if self._in_force is None:
            return
        code, installation = self._in_force.extensions, self._in_force.installation
        known, wished = select(code, installation, *before), installation.resolve(*after)
        for each in select(code, installation, *after).problems:
            if each.id in wished.enabled and each not in known.problems and each not in wished.problems:
                raise Refused(f"{each.id} {each.text}; nothing was changed; disable one of the two first")

    def _advance(self, old: Generation, found: Scan) -> _InForce:
        """Makes the next generation the one in force."""
        generation = loading.PROCESS.advance(old, found)
        memory = recall(self._memory_path)
        loaded = {ext: each.extension for ext, each in generation.loaded.items() if each.extension is not None}
        broken = {ext: each.reason for ext, each in generation.loaded.items() if each.extension is None}
        in_order = order(each.installed for each in loaded.values()).ids
        broken |= broken_stores(loaded, in_order, generation.loaded, self._claim, self._migrate)
        extensions = {ext: each for ext, each in loaded.items() if ext not in broken}
        installation = Installation(
            tuple(loaded[ext].installed if ext in loaded else _facts(memory, ext) for ext in generation.loaded),
            broken,
            memory.gone(set(generation.loaded)),
        )
        about = {
            ext: About(
                each.found.distribution.version,
                _remembered(each.extension) if each.extension else memory.known(ext),
            )
            for ext, each in generation.loaded.items()
        }
        problems = (*generation.problems, *self._settle(installation, memory, loaded))
        self._built.clear()
        self._in_force = _InForce(generation, extensions, installation, about, problems)
        return self._in_force

    def _settle(
        self, installation: Installation, memory: Memory, loaded: Mapping[str, Extension]
    ) -> tuple[Problem, ...]:
        """Keeps the strategy in force when an installation added another default, and remembers what is there now."""
        try:
            choices = global_choices(home_file.read(self._choices_path)).value
            if threatened := _threatened(installation, memory, choices):
                home_file.update(self._choices_path, lambda sections: _name(sections, threatened))
            present = {each.id for each in installation.extensions}
            now = {ext: evolve(each, present=ext in present) for ext, each in memory.extensions.items()}
            now |= {ext: _remembered(each) for ext, each in loaded.items() if ext not in installation.broken}
            now |= {
                ext: evolve(now.get(ext, Remembered("", "", Installed(ext))), fault=fault)
                for ext, fault in installation.broken.items()
            }
            if now != memory.extensions:
                remember(self._memory_path, Memory(now))
        except Refused as error:
            return (Problem(None, str(error)),)
        return ()


def _scanned() -> Scan:
    try:
        return scan()
    except Exception as error:
        raise RefoldError(
            f"the installed packages cannot be read ({words(error)}); what was loaded before stays in force;"
            " mend the installation and reload"
        ) from error


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        now = path.stat()
    except OSError:
        return None
    return now.st_mtime_ns, now.st_size, now.st_ino


def _name(sections: dict[str, Any], strategy: str) -> None:
    sections["enabled"] = {**sections.get("enabled", {}), strategy: True}


def _remembered(extension: Extension) -> Remembered:
    return Remembered(extension.manifest.title, extension.kind, extension.installed)


def _facts(memory: Memory, id: str) -> Installed:
    known = memory.extensions.get(id)
    return known.facts if known else Installed(id)


def _threatened(installation: Installation, memory: Memory, choices: Choices) -> str | None:
    """The default strategy that was in force without being named, and that a second default would displace."""
    then = {ext: each.facts for ext, each in memory.extensions.items() if each.present}
    was = resolve(tuple(then.values()), choices, {}, {}).strategy
    now = installation.resolve(choices, {}).strategy
    if was is None or now is None or was == now or choices.get(now):
        return None
    stayed = any(each.id == was and each.strategy for each in installation.extensions)
    was_default = then[was].default
    is_new = now not in then or not then[now].default
    return was if stayed and was_default and is_new and was not in installation.broken else None
