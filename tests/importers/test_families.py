"""Families of sessions keep parents, children, titles and times through export and import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from refold import Host, Row, SourceRef
from refold.importers.folders import look_into
from refold.transcript.append import append
from refold.transcript.sessions import create, find, insert, tree

PNG = "data:image/gif;base64,R0lGODlhAgADAA=="
MEMBERS = ["s", "s/agent-k", "s/agent-k/agent-m", "fork"]


def made(kind: str, **fields: Any) -> Row:
    return Row(SourceRef("", 0), kind, 0, 0, **fields)  # type: ignore[arg-type]


@pytest.fixture
def host(tmp_path: Path):
    with Host(tmp_path / "home") as opened:
        with opened.database.write() as writer:
            create(writer, "s", title="Above", created="2025-01-02T03:04:05Z")
            create(writer, "s/agent-k", title="Look", parent="s", created="2025-01-02T03:05:00Z")
            create(writer, "s/agent-k/agent-m", parent="s/agent-k", created="2025-01-02T03:06:00Z")
            above = find(writer, "s").key
            insert(writer, "fork", title="Other", model=None, parent=above, forked_at=1, created="2025-02-01T00:00:00Z")
            append(
                writer,
                "s",
                [
                    made("user", opens=True, text="hi"),
                    made("assistant", text="hello"),
                    made("event", event="spawned", text="s/agent-k"),
                    made("event", event="joined", text="s/agent-k"),
                ],
            )
            append(writer, "s/agent-k", [made("user", opens=True, text="look"), made("assistant", text="found")])
            append(writer, "s/agent-k/agent-m", [made("user", opens=True, text="deeper")])
            append(writer, "fork", [made("user", opens=True, text="hi"), made("assistant", text="else")])
        yield opened


def facts(host: Host, root: str) -> list[tuple[Any, ...]]:
    """Every session below one: its id, parent, fork point, title, time, and words."""
    found = []
    with host.database.read() as reader:
        waiting = tree(reader, root)
    while waiting:
        branch = waiting.pop(0)
        waiting += branch.children
        session = branch.session
        words = [row.text for row in host.session(session.id).rows()]
        found.append((session.id, session.parent, session.forked_at, session.title, session.created, words))
    return found


def exported(host: Host, path: Path) -> Path:
    session = host.session("s")
    lines = [*session.family_headers()]
    for id in session.family():
        lines += host.session(id).export()
    path.write_bytes(b"".join(lines))
    return path


def test_a_family_comes_back_from_one_file_as_it_was(host, tmp_path):
    file = exported(host, tmp_path / "family.jsonl")
    with Host(tmp_path / "other") as other:
        done = other.import_file(file)
        assert (done.session, set(done.children), done.skipped) == ("s", set(MEMBERS[1:]), ())
        assert facts(other, "s") == facts(host, "s")
        again = other.import_file(file)
        assert (again.rows, again.child_rows, again.children) == (0, 0, done.children)


@pytest.mark.parametrize("order", [MEMBERS, MEMBERS[::-1]], ids=["parents first", "children first"])
def test_a_family_comes_back_from_a_folder_of_single_exports_whatever_they_are_called(order, host, tmp_path):
    folder = tmp_path / "exports"
    folder.mkdir()
    for place, id in enumerate(order):
        (folder / f"{place}.jsonl").write_bytes(b"".join(host.session(id).export()))
    with Host(tmp_path / "other") as other:
        for found in look_into(folder).found:
            with found.open() as source:
                other.import_file(source)
        assert sorted(facts(other, "s")) == sorted(facts(host, "s"))


def test_beside_the_family_it_came_from_it_gets_names_of_its_own(host, tmp_path):
    before = facts(host, "s")
    host.import_file(exported(host, tmp_path / "family.jsonl"))
    assert facts(host, "s") == before
    found = facts(host, "s-2")
    assert [(id, parent, at) for id, parent, at, *_ in found] == [
        ("s-2", None, None),
        ("s-2/agent-k", "s-2", None),
        ("fork-2", "s-2", 1),
        ("s-2/agent-k/agent-m", "s-2/agent-k", None),
    ]
    assert found[0][-1] == ["hi", "hello", "s-2/agent-k", "s-2/agent-k"]


def test_a_member_that_grew_adds_its_new_rows(host, tmp_path):
    with Host(tmp_path / "other") as other:
        other.import_file(exported(host, tmp_path / "family.jsonl"))
        with host.database.write() as writer:
            append(writer, "s/agent-k", [made("assistant", text="and more")])
        done = other.import_file(exported(host, tmp_path / "family.jsonl"))
        assert (done.rows, done.child_rows, done.note) == (0, 1, "")
        assert facts(other, "s") == facts(host, "s")


def test_a_child_whose_parent_is_elsewhere_stands_alone(host, tmp_path):
    (tmp_path / "child.jsonl").write_bytes(b"".join(host.session("s/agent-k").export()))
    with Host(tmp_path / "other") as other:
        done = other.import_file(tmp_path / "child.jsonl")
        (found,) = facts(other, "s/agent-k")
    assert (done.session, found[1], found[3]) == ("s/agent-k", None, "Look")
