"""What every test of the host shares: a home in which rolling is alone, whatever else is installed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

OTHERS = ("chain-memory", "eviction", "lcm-memory", "snapcompact-memory", "window-memory")
"""Extensions of this workspace that are on by default, besides rolling."""

Configure = Callable[..., None]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which only rolling is on."""
    folder = tmp_path / "home"
    folder.mkdir()
    write_settings(folder)
    return folder


@pytest.fixture
def configure(home: Path) -> Configure:
    """Writes sections of extensions.json beside the choice that leaves rolling alone."""
    return lambda **sections: write_settings(home, **sections)


def write_settings(home: Path, **sections: object) -> None:
    choices = {"enabled": dict.fromkeys(OTHERS, False)}
    (home / "extensions.json").write_text(json.dumps(choices | sections))
