"""`refold snapcompact render` in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from refold import Host

from .conftest import Talk


def refold(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "refold", *words, "--home", str(home)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture
def archived(home: Path, talk: Talk) -> Path:
    """A home with a session whose older turns are archived."""
    with Host(home) as host:
        session = host.new("s", model="claude-sonnet-4-5")
        host.choose("snapcompact", True, session="s")
        talk(session, 30)
        session.compact(200_000)
    return home


def test_it_prints_one_json_document_and_writes_the_files(archived: Path, tmp_path: Path) -> None:
    done = refold(archived, "snapcompact", "render", "s", "--out", str(tmp_path / "out"), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert {"pages", "dropped", "text_tokens"} <= answer.keys()
    assert [page["file"] for page in answer["pages"]] == sorted(path.name for path in (tmp_path / "out").iterdir())


def test_people_get_a_table_with_count_sizes_and_both_costs(archived: Path, tmp_path: Path) -> None:
    done = refold(archived, "snapcompact", "render", "s", "--out", str(tmp_path / "out"))
    assert done.returncode == 0
    for word in ("count", "tokens", "text_tokens", "page-0001.png", "1,568"):
        assert word in done.stdout


def test_without_an_archive_it_fails_in_one_line(home: Path, tmp_path: Path) -> None:
    with Host(home) as host:
        host.new("s", model="claude-sonnet-4-5")
        host.choose("snapcompact", True, session="s")
    done = refold(home, "snapcompact", "render", "s", "--out", str(tmp_path / "out"))
    assert done.returncode == 1
    assert done.stderr.startswith("refold: error: nothing of s is archived")
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()
