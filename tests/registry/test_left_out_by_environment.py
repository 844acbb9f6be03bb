"""`REFOLD_DISABLE` leaves extensions out of one process, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from refold import Host


def test_a_named_extension_is_as_if_it_were_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFOLD_DISABLE", "rolling, eviction")
    with Host(tmp_path / "home") as host:
        listed = host.extensions()
    assert "rolling" not in [each.id for each in listed.extensions]
    assert any(
        "rolling is left out: the environment variable REFOLD_DISABLE names it" in each.text for each in listed.problems
    )


def test_without_the_variable_it_is_there_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFOLD_DISABLE", raising=False)
    with Host(tmp_path / "home") as host:
        assert "rolling" in [each.id for each in host.extensions().extensions]
