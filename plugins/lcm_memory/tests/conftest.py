"""A home with a session whose tree is put there by hand, and its tools as a model calls them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from refold import Call, Cut, Host, Session
from refold.prepare.context import BoundContext
from refold.prepare.work import BoundWork
from refold_lcm_memory import Draft, Node, save, view


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with Host(tmp_path / "home") as opened:
        opened.composition()  # makes the tables
        yield opened


@pytest.fixture
def session(host: Host) -> Session:
    """Twelve turns of four rows each: a question, a call, its result, an answer."""
    made = host.new("one")
    for turn in range(1, 13):
        made.user(f"question {turn}: where is the café?")
        made.assistant("", [Call(f"call-{turn}", "read", {"path": f"/src/module_{turn}.py"})])
        made.results({f"call-{turn}": f"def f{turn}(): return {turn}"})
        made.assistant(f"answer {turn}: round the corner")
    return made


@pytest.fixture
def plant() -> Callable[..., dict[str, int]]:
    """Stores a tree: leaves by the rows they end with, parents by name as tuples of what they join.

    Returns the ids by name; a leaf is named by its last row.
    """

    def put(session: Session, leaves: Sequence[int], **parents: tuple[object, ...]) -> dict[str, int]:
        drafts: list[Draft] = []
        by_name: dict[object, Node] = {}
        with session._viewing() as (opened, bench):
            work = BoundWork(opened, opened.composition.extension("lcm-memory"), bench)
            after = 0
            for upto in leaves:
                cut = work.history.cut(upto)
                by_name[upto] = Node(-len(drafts) - 1, session.id, 0, after, cut, "summary", "m", f"leaf to {upto}")
                drafts.append(Draft(by_name[upto]))
                after = upto
            for name, joined in parents.items():
                children = [by_name[each] for each in joined]
                depth = max(child.depth for child in children) + 1
                first, last = children[0], children[-1]
                by_name[name] = Node(
                    -len(drafts) - 1, session.id, depth, first.after, last.cut, "summary", "m", f"parent {name}"
                )
                drafts.append(Draft(by_name[name], tuple(child.id for child in children)))
            before = view(work)
            work.commit(
                lambda writer: save(writer, session.id, before, Cut(after, work.history.cut(after).tokens), drafts)
            )
            found = work.read("SELECT id, depth, upto, summary FROM lcm_node WHERE session=? ORDER BY id", session.id)
        return {summary.rsplit(" ", 1)[-1]: id for id, _, _, summary in found}

    return put


@pytest.fixture
def ask() -> Callable[..., dict[str, Any]]:
    """Calls a tool in a session, as a turn does, and reads its answer."""

    def call(session: Session, name: str, **arguments: object) -> dict[str, Any]:
        with session._viewing() as (opened, _):
            extension, tool = next(each for each in opened.composition.tools if each[1].name == name)
            answer: dict[str, Any] = json.loads(tool.call(BoundContext(opened, extension), arguments))
            return answer

    return call
