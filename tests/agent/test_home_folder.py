"""A home is one folder, wherever the process goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from refold import Host
from refold.transcript import sessions
from refold.transcript.database import Database


@pytest.mark.parametrize("given", ["argument", "environment"])
def test_a_host_stays_in_the_home_that_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    """Readers, files of settings and models are opened later: each in the same home."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    monkeypatch.chdir(tmp_path / "one")
    monkeypatch.setenv("REFOLD_HOME", "home")
    with Host("home" if given == "argument" else None) as host:
        assert host.home == tmp_path / "one" / "home"
        session = host.new("s")
        monkeypatch.chdir(tmp_path / "two")
        session.user("where am I?")
        with host.database.read() as first, host.database.read() as second:
            assert [each.session.id for each in sessions.listing(first)] == ["s"]
            assert [each.session.id for each in sessions.listing(second)] == ["s"]
        (host.home / "models.json").write_text('{"default": "local/x", "providers": {}}')
        host.choose("lcm-memory", False)
        assert (host.home / "extensions.json").exists()
        session.prepare(window=10_000)
        assert [row.text for row in session.rows()] == ["where am I?"]
    assert list((tmp_path / "two").iterdir()) == []


def test_a_database_stays_the_file_that_it_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    with Database(Path("refold.db")) as database:
        monkeypatch.chdir(tmp_path / "other")
        with database.write() as writer:
            sessions.create(writer, "s")
        with database.read() as reader:
            assert [each.session.id for each in sessions.listing(reader)] == ["s"]
    assert list((tmp_path / "other").iterdir()) == []
