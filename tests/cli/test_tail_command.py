"""`refold tail`: pages of rows behind a cursor, under every strategy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from refold import Host

from .conftest import Shell


@pytest.fixture
def shell(talked: Path, tmp_path: Path) -> Shell:
    shutil.copytree(talked, tmp_path / "home")
    return Shell(tmp_path / "home")


def test_pages_follow_one_another_by_their_cursor(shell: Shell) -> None:
    first = shell("tail", "talk", "--limit", 100, "--json").document
    assert first.keys() == {"session", "snapshot", "rows", "next_after", "has_more"}
    assert (first["snapshot"], first["next_after"], first["has_more"]) == (None, 100, True)
    second = shell("tail", "talk", "--after", first["next_after"], "--json").document
    assert (second["next_after"], second["has_more"]) == (160, False)
    assert [row["seq"] for page in (first, second) for row in page["rows"]] == list(range(1, 161))
    assert second["rows"][0].keys() == shell("show", "talk", "--limit", 1, "--json").document["rows"][0].keys()


def test_a_cursor_at_or_beyond_the_end_gets_no_rows_and_stays(shell: Shell) -> None:
    for after in (160, 9_999):
        page = shell("tail", "talk", "--after", after, "--json").document
        assert (page["rows"], page["next_after"], page["has_more"]) == ([], after, False)


def test_the_default_strategy_supplies_no_snapshot_and_cursors_survive_its_compaction(shell: Shell) -> None:
    before = shell("tail", "talk", "--after", 10, "--limit", 5, "--json").document
    assert shell("compact", "talk", "--window", 4_000, "--json").document["state"] == "compacted"
    assert shell("tail", "talk", "--after", 10, "--limit", 5, "--json").document == before
    assert shell("tail", "talk", "--after", 10, "--limit", 5, "--history", "--json").document == before


def test_people_get_the_rows_and_the_next_command(shell: Shell) -> None:
    out = shell("tail", "talk", "--limit", 2).out
    assert "Question 0" in out
    assert "refold tail talk --after 2" in out


SNAPSHOT = """
from refold import *
@hookimpl
def manifest(): return Manifest("keeper", "keeper", "keeper", default=True)
@hookimpl
def tail_snapshot(context):
    return Fold("keeper", "7", "what was", "told so far", RowRange(context.session, {after}, {upto}))
"""


@pytest.mark.parametrize(
    ("after", "upto", "used"), [(0, 40, True), (0, 160, True), (1, 40, False), (0, 161, False), (0, 0, False)]
)
def test_an_extension_may_offer_a_snapshot_that_stands_for_the_oldest_rows(
    after: int, upto: int, used: bool, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / f"keeper_{after}_{upto}"
    facts = folder / "keeper-1.0.dist-info"
    facts.mkdir(parents=True)
    module = f"keeper_{after}_{upto}"
    (folder / f"{module}.py").write_text(SNAPSHOT.format(after=after, upto=upto))
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: keeper\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(f"[refold.extensions]\nkeeper = {module}\n")
    (facts / "RECORD").write_text(f"{module}.py,,\n")
    monkeypatch.syspath_prepend(folder)
    with Host(shell.home) as host:
        session = host.session("talk")
        tail = session.tail(10, 3)
        assert (tail.snapshot is not None) is used
        start = upto if used else 10
        assert [row.ref.seq for row, _ in tail.rows] == [seq for seq in range(start + 1, start + 4) if seq <= 160]
        assert tail.next_after == min(160, start + 3)
        assert session.tail(10, 3, history=True).snapshot is None
        assert session.tail(min(upto, 160), 3).snapshot is None
