"""Installs the planted strategies, as an editable project would be, for the tests of this folder."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent / "planted"


@pytest.fixture(scope="session")
def planted_ids() -> list[str]:
    return re.findall(r'^    "([a-z-]+)": [A-Z]\w+\(\),$', (PROJECT / "planted.py").read_text(), re.M)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, planted_ids: list[str]) -> Path:
    """A folder that holds their metadata."""
    site = tmp_path_factory.mktemp("site")
    info = site / "refold_planted-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: refold-planted\nVersion: 1\n")
    (info / "RECORD").write_text("")
    (info / "direct_url.json").write_text(json.dumps({"url": PROJECT.as_uri(), "dir_info": {"editable": True}}))
    points = "".join(f"{id} = planted:{id.replace('-', '_')}\n" for id in planted_ids)
    (info / "entry_points.txt").write_text(f"[refold.extensions]\n{points}")
    return site


@pytest.fixture
def planted(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The planted strategies are installed while a test runs."""
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.syspath_prepend(str(PROJECT))
    yield
    sys.modules.pop("planted", None)
