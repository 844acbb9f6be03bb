"""The set in force: enabled extensions, the strategy, settings, and the list that people see. Immutable."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from attrs import field, frozen

from refold.registry import settings
from refold.registry.contributions import Extension
from refold.registry.home_file import HomeFile
from refold.registry.proposals import Installation
from refold.registry.remembered import Remembered
from refold.registry.selection import Choices, Problem, Selection, order, resolve
from refold.registry.settings import CompactionSettings
from refold.values.errors import NotFound
from refold.values.tools import Command, Importer, Tool

_HOST = settings.Reader()


@frozen
class Listed:
    """A row of `refold extensions`. What is not known without loading, or of a broken one, is None."""

    id: str
    version: str | None
    title: str | None
    kind: str | None
    enabled: bool
    default: bool | None
    chosen: Literal["session", "global"] | None
    requires: tuple[str, ...]
    problem: str | None


@frozen
class About:
    """What a row says of an extension besides its state: its version, and the rest if it was ever loaded."""

    version: str | None = None
    known: Remembered | None = None


@frozen(eq=False)
class Composition:
    """What serves one session for a turn, from its beginning to its end, whatever is chosen or reloaded meanwhile.

    `extensions` are the enabled ones in registry order, `installed` all healthy ones, on or off (their migrations and
    fork hooks run). `generation` counts reloads of the process's registry.
    """

    extensions: tuple[Extension, ...]
    installed: tuple[Extension, ...]
    strategy: Extension | None
    compaction: CompactionSettings
    problems: tuple[Problem, ...]
    listing: tuple[Listed, ...]
    generation: int
    _settings: Mapping[str, Any] = field(repr=False)

    def settings(self, id: str) -> Any:
        """The settings of an installed extension as its own class, None when it has no such class. Raises NotFound."""
        return self._settings[self.extension(id).id]

    def extension(self, id: str) -> Extension:
        """A healthy installed extension, on or off. Raises NotFound."""
        for each in self.installed:
            if each.id == id:
                return each
        names = ", ".join(each.id for each in self.installed) or "none"
        raise NotFound(f"no working extension {id} is installed; installed: {names}")

    @property
    def tools(self) -> tuple[tuple[Extension, Tool], ...]:
        """The tools of the enabled extensions, each with its owner."""
        return tuple((each, tool) for each in self.extensions for tool in each.tools)

    @property
    def commands(self) -> tuple[tuple[Extension, Command], ...]:
        """The commands of the enabled extensions, each with its owner."""
        return tuple((each, command) for each in self.extensions for command in each.commands)

    @property
    def importers(self) -> tuple[tuple[Extension, Importer], ...]:
        """The importers of the enabled extensions, each with its owner."""
        return tuple((each, importer) for each in self.extensions for importer in each.importers)


def compose(
    generation: int,
    extensions: Mapping[str, Extension],
    installation: Installation,
    about: Mapping[str, About],
    home: HomeFile,
    session_choices: Choices,
    problems: Sequence[Problem],
) -> Composition:
    """The composition for these choices over loaded code. It always answers; what went wrong is in `problems`."""
    chosen = global_choices(home)
    selection = select(extensions, installation, chosen.value, session_choices)
    read = {ext: _settings_of(each, home) for ext, each in sorted(extensions.items())}
    compaction = _HOST.section("compaction", home.sections.get("compaction", {}), CompactionSettings)
    shown = (
        *problems,
        *_file_problems(home, (*chosen.faults, *compaction.faults)),
        *_slips(home, {"enabled", "compaction", *about, *installation.gone, *chosen.value}),
        *selection.problems,
        *(Problem(ext, f"{fault}; it runs on its defaults") for ext, each in read.items() for fault in each.faults),
    )
    in_order = order(installation.extensions).ids
    return Composition(
        extensions=tuple(extensions[ext] for ext in selection.enabled),
        installed=tuple(extensions[ext] for ext in in_order if ext in extensions),
        strategy=extensions[selection.strategy] if selection.strategy else None,
        compaction=compaction.value,
        problems=shown,
        listing=listed(about, in_order, selection, chosen.value, session_choices, shown),
        generation=generation,
        settings={ext: each.value for ext, each in read.items()},
    )


def select(
    extensions: Mapping[str, Extension], installation: Installation, global_choices: Choices, session_choices: Choices
) -> Selection:
    """The selection with collisions settled: whoever gives a name that an earlier one gives joins the broken."""
    broken = dict(installation.broken)
    while True:
        selection = resolve(installation.extensions, global_choices, session_choices, broken)
        lost = _collision([extensions[ext] for ext in selection.enabled])
        if lost is None:
            return selection
        broken |= lost


def global_choices(home: HomeFile) -> settings.Read[dict[str, bool]]:
    """The choices that hold for every session without one of its own."""
    return settings.choices(home.sections.get("enabled", {}))


def listed(
    about: Mapping[str, About],
    in_order: Sequence[str],
    selection: Selection,
    global_choices: Choices,
    session_choices: Choices,
    problems: Iterable[Problem],
) -> tuple[Listed, ...]:
    """The rows of `refold extensions`: what is installed in registry order, then what is chosen and missing."""
    texts: dict[str | None, list[str]] = {}
    for each in problems:
        texts.setdefault(each.id, []).append(each.text)
    missing = sorted({ext for ext, on in {**global_choices, **session_choices}.items() if on} - set(in_order))
    rows = []
    for ext in (*in_order, *missing):
        row = about.get(ext, About())
        known = row.known
        rows.append(
            Listed(
                id=ext,
                version=row.version,
                title=known.title if known else None,
                kind=known.kind if known else None,
                enabled=ext in selection.enabled,
                default=known.facts.default if known else None,
                chosen="session" if ext in session_choices else "global" if ext in global_choices else None,
                requires=known.facts.requires if known else (),
                problem="; ".join(dict.fromkeys(texts.get(ext, ()))) or None,
            )
        )
    return tuple(rows)


def file_problem(home: HomeFile) -> tuple[Problem, ...]:
    """The problem of a file that could not be read."""
    return (Problem(None, f"extensions.json {home.fault}; everything runs on its defaults"),) if home.fault else ()


def _file_problems(home: HomeFile, faults: Iterable[str]) -> tuple[Problem, ...]:
    return (*file_problem(home), *(Problem(None, f"extensions.json {fault}; the default is used") for fault in faults))


def _slips(home: HomeFile, known: Collection[str]) -> Iterator[Problem]:
    """Sections that are nobody's, but nearly somebody's. Others may belong to what is not installed now."""
    for name in home.sections:
        near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.8)
        if name not in known and near:
            yield Problem(None, f"extensions.json $.{name[:40]}: unknown section; did you mean {near[0]}?")


def _settings_of(extension: Extension, home: HomeFile) -> settings.Read[Any]:
    section = home.sections.get(extension.id)
    if extension.manifest.settings is not None:
        return extension.reader.section(extension.id, home.sections.get(extension.id, {}), extension.manifest.settings)
    return settings.Read(None, (f"$.{extension.id}: it takes no settings",) if section else ())


def _collision(enabled: Sequence[Extension]) -> dict[str, str] | None:
    """The first extension, in registry order, that gives a name which an earlier one gave, and the words for it."""
    owners: dict[tuple[str, str], str] = {}
    for each in enabled:
        names = (
            *(("tool", tool.name) for tool in each.tools),
            *(("command", " ".join(command.name.split())) for command in each.commands),
            *(("format", importer.format) for importer in each.importers),
        )
        for what, name in names:
            owner = owners.setdefault((what, name), each.id)
            if owner != each.id:
                return {each.id: f"gives the {what} {name}, which {owner} gives already: it is off as a whole"}
    return None
