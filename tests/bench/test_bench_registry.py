"""Costs of the registry: a scan of many distributions, a reload without a change, choosing, composing."""

from __future__ import annotations

import pytest
from refold.registry import Registry
from refold.registry.discovery import scan
from refold.registry.selection import Installed, resolve


@pytest.fixture
def many(tmp_path, monkeypatch):
    """300 distributions on the path, ten of them extensions of 30 files each."""
    for number in range(300):
        info = tmp_path / f"thing_{number}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: thing-{number}\nVersion: 1\n\n" + "words\n" * 100)
        (info / "RECORD").write_text("".join(f"thing_{number}/part_{part}.py,sha256=abc,1\n" for part in range(30)))
        group = "refold.extensions" if number % 30 == 0 else "console_scripts"
        (info / "entry_points.txt").write_text(f"[{group}]\nthing-{number} = thing_{number}\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("many")
def test_scan_of_300_distributions(benchmark):
    assert len(benchmark(scan).found) >= 10


def test_reload_that_changes_nothing(benchmark, tmp_path):
    registry = Registry(tmp_path, lambda wanted: {}, lambda *_: None)
    registry.load()
    assert benchmark(registry.reload).changed == ()


def test_composition_that_was_built_before(benchmark, tmp_path):
    registry = Registry(tmp_path, lambda wanted: {}, lambda *_: None)
    benchmark(registry.composition, {"one": False})


def test_selection_among_twelve(benchmark):
    installed = [Installed(f"x{n}", n % 3 == 0, n % 2 == 0, (f"x{n + 1}",) if n % 3 == 0 else ()) for n in range(12)]
    assert benchmark(resolve, installed, {"x6": True, "x7": True}, {}, {}).strategy == "x6"
