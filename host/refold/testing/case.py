"""What is under test: a strategy by its id, with its settings and whatever it needs beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from refold.agent.host import Host
from refold.registry import home_file
from refold.summarize.prompt import Prompt
from refold.testing.summarizer import account


@frozen
class Case:
    """A strategy under test. `StrategyConformance` says what each part means."""

    strategy: str
    settings: Mapping[str, Any]
    other_settings: tuple[Mapping[str, Any], ...] = ()
    with_extensions: tuple[str, ...] = ()
    lossy: bool = False
    reply: Callable[[Prompt], str] = account


def put_settings(case: Case, sections: dict[str, Any], number: int) -> None:
    """Puts the n-th of the case's settings into the sections of `extensions.json`. One of them is that automatic
    compaction is off."""
    choices = (case.settings, *case.other_settings, None)
    chosen = choices[number % len(choices)]
    sections[case.strategy] = dict(case.settings if chosen is None else chosen)
    sections["compaction"] = {"auto": chosen is not None}


def make_home(case: Case, folder: Path) -> None:
    """An empty home in which the strategy is chosen and its extensions are on. Raises Refused or NotFound."""
    with Host(folder) as host:
        home_file.update(folder / "extensions.json", lambda sections: put_settings(case, sections, 0))
        for extension in (*case.with_extensions, case.strategy):
            host.choose(extension, True)
