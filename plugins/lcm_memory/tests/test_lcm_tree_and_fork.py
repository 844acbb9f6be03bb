"""The stored tree: its rules hold in the database itself, a fork copies it, a terminal draws it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refold import Host, Session
from refold_lcm_memory.forking import covered_prefix
from refold_lcm_memory.passages import SNIPPET, cut, one_line, snippet

Plant = Callable[..., dict[str, int]]


def tree(session: Session) -> list[dict[str, Any]]:
    return list(session.run("lcm tree", {})["nodes"])


def shape(session: Session) -> list[tuple[int, int, int]]:
    return [(node["depth"], node["first_seq"], node["last_seq"]) for node in tree(session)]


def refold(host: Host, *words: str) -> str:
    command = [sys.executable, "-m", "refold", *words, "--home", str(host.home)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    return done.stdout


def test_a_second_parent_for_a_child_fails_and_leaves_nothing(session: Session, plant: Plant, host: Host) -> None:
    ids = plant(session, [4, 8, 12], p=(4, 8))
    with pytest.raises(apsw.ConstraintError, match="one parent"), host.database.write() as writer:
        writer.execute("UPDATE lcm_node SET parent=? WHERE id=?", ids["12"], ids["4"])
    assert shape(session) == [(1, 1, 8), (0, 1, 4), (0, 5, 8), (0, 9, 12)]


def test_ids_are_never_given_twice(session: Session, plant: Plant, host: Host) -> None:
    first = max(plant(session, [4, 8]).values())
    session.delete()
    other = host.new()
    other.user("a")
    other.user("b")
    assert min(plant(other, [1]).values()) > first


@pytest.mark.parametrize(
    ("at", "copied", "covered"),
    [
        (24, [(2, 1, 24), (1, 1, 16), (0, 1, 8), (0, 9, 16), (0, 17, 24)], 24),
        (23, [(1, 1, 16), (0, 1, 8), (0, 9, 16)], 16),
        (16, [(1, 1, 16), (0, 1, 8), (0, 9, 16)], 16),
        (15, [(0, 1, 8)], 8),
        (8, [(0, 1, 8)], 8),
        (7, [], 0),
        (1, [], 0),
    ],
)
def test_a_fork_copies_nodes_before_its_checkpoint_and_leaves_a_crossing_parent_out(
    at: int, copied: list[tuple[int, int, int]], covered: int, session: Session, plant: Plant, host: Host
) -> None:
    ids = plant(session, [8, 16, 24, 32], p=(8, 16), q=("p", 24))
    before = tree(session)
    branch = host.session(session.fork(at).session)
    assert shape(branch) == copied
    assert branch.run("lcm tree", {})["covered_seq"] == covered
    assert not {node["id"] for node in tree(branch)} & set(ids.values())
    assert tree(session) == before
    again = host.session(branch.fork(at).session)
    assert shape(again) == copied, "a fork of a fork"


def test_a_fork_of_a_session_without_nodes_copies_nothing(session: Session, host: Host) -> None:
    branch = host.session(session.fork(10).session)
    assert branch.run("lcm tree", {}) == {"nodes": [], "covered_seq": 0}


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 2)), max_size=8))
def test_the_covered_prefix_ends_at_the_first_hole(parts: list[tuple[int, int]]) -> None:
    leaves, at, whole, reached = [], 0, True, 0
    for length, hole in parts:
        whole = whole and not hole
        at += hole
        leaves.append((at, at + length, at + length))
        at += length
        reached = at if whole else reached
    assert covered_prefix(leaves) == (reached, reached)


def test_lcm_tree_draws_the_tree_in_a_terminal(session: Session, plant: Plant, host: Host) -> None:
    ids = plant(session, [8, 16, 24, 32], p=(8, 16), q=("p", 24))
    lines = refold(host, "lcm", "tree", "one").splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("id"))
    assert lines[0].split() == ["covered_seq", "32"]
    assert lines[first].split() == ["id", "depth", "first_seq", "last_seq", "rows", "tokens", "in_view"]
    drawn = [
        f"{ids['q']} ", f"├── {ids['p']} ", f"├──── {ids['8']} ", f"└──── {ids['16']} ", f"└── {ids['24']} ",
        f"{ids['32']} ",
    ]  # fmt: skip
    for line, start in zip(lines[first + 1 :], drawn, strict=True):
        assert line.startswith(start)


def test_lcm_tree_prints_the_documented_json(session: Session, plant: Plant, host: Host) -> None:
    ids = plant(session, [8, 16, 24], p=(8, 16))
    document = json.loads(refold(host, "lcm", "tree", "one", "--json"))
    assert document.keys() == {"nodes", "covered_seq"}
    assert document["covered_seq"] == 24
    root = document["nodes"][0]
    assert root == {
        "id": ids["p"], "depth": 1, "first_seq": 1, "last_seq": 16, "rows": 16, "tokens": root["tokens"],
        "in_view": True, "children": [ids["8"], ids["16"]],
    }  # fmt: skip
    assert root["tokens"] > 0


@given(st.text(max_size=80), st.text(min_size=1, max_size=6))
def test_a_snippet_is_there_exactly_when_the_text_holds_the_needle(text: str, needle: str) -> None:
    found = snippet(text, needle)
    assert (found is not None) == (needle.casefold() in text.casefold())
    assert found is None or len(found) <= SNIPPET


@given(st.text(st.sampled_from("ae\u0301\u200d🚀🏽\n"), max_size=40), st.integers(1, 9))
def test_cuts_advance_and_join_to_the_whole(text: str, most: int) -> None:
    at, parts = 0, []
    while at < len(text):
        end = cut(text, at, most)
        assert 0 < end - at <= most
        parts.append(text[at:end])
        at = end
    assert "".join(parts) == text


@given(st.text(max_size=200), st.integers(1, 60))
def test_one_line_is_one_line(text: str, most: int) -> None:
    line = one_line(text, most)
    assert "\n" not in line
    assert len(line) <= most
