"""What is known of extensions without importing them: the facts of the last time they were loaded.

They stand in `installed.json` in the home, per Python environment, and serve three questions: which strategy was in
force before an installation added another default, what `extensions --no-load` shows, and whether a choice that is
made without loading is allowed. The file is the host's own; without it nothing breaks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import asdict, field, frozen
from cattrs import Converter

from refold.registry import home_file
from refold.registry.selection import Installed

_FORMAT = 1


@frozen
class Remembered:
    """One extension as it was when it last loaded. `present`: it was installed at the newest load; `fault`: why it
    could not be used then (one that never loaded has no title and no kind)."""

    title: str
    kind: str
    facts: Installed
    present: bool = True
    fault: str = ""


@frozen
class Memory:
    """All that is remembered of this environment, by id."""

    extensions: Mapping[str, Remembered] = field(factory=dict)

    def known(self, id: str) -> Remembered | None:
        """What is known of an extension that loaded once; None: it never did."""
        found = self.extensions.get(id)
        return found if found is not None and found.kind else None

    def gone(self, present: set[str]) -> frozenset[str]:
        """Strategies that are remembered but not among those present."""
        return frozenset(ext for ext, each in self.extensions.items() if each.facts.strategy and ext not in present)


def recall(path: Path) -> Memory:
    """What the file says of this environment; nothing when it cannot be used."""
    environments = home_file.read(path).sections.get("environments")
    mine = environments.get(sys.prefix) if isinstance(environments, dict) else None
    if not isinstance(mine, dict):
        return Memory()
    converter = Converter()
    extensions = {}
    for ext, each in mine.items():
        try:
            extensions[ext] = converter.structure(each, Remembered)
        except Exception:  # an entry of another refold: it is written anew at the next load
            continue
    return Memory(extensions)


def remember(path: Path, memory: Memory) -> None:
    """Stores it for this environment and forgets environments that are gone. Raises Refused."""

    def change(sections: dict[str, Any]) -> None:
        old = sections.get("environments")
        kept = {prefix: each for prefix, each in old.items() if os.path.isdir(prefix)} if isinstance(old, dict) else {}
        kept[sys.prefix] = {ext: asdict(each) for ext, each in sorted(memory.extensions.items())}
        sections.clear()
        sections.update(format=_FORMAT, environments=kept)

    home_file.update(path, change)
