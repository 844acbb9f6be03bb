"""A home with one session under lcm, and a summarizer that says what a test wants."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from refold import Call, Host, Row, Session, SourceRef
from refold.prepare.context import BoundContext
from refold.prepare.work import BoundWork
from refold.testing import ScriptedSummarizer
from refold_lcm_memory import Draft, Node, save, view

_NEW = SourceRef("", 0)
_NEEDED = {"lcm", "lcm-memory", "rolling"}


def alone(host: Host) -> None:
    """Chooses lcm and switches off what else is installed, whose tools would take room in small windows."""
    for each in host.extensions().extensions:
        if each.id not in _NEEDED and each.kind != "strategy":
            host.choose(each.id, False)
    host.choose("lcm", True)


@pytest.fixture(scope="session")
def by_itself() -> Callable[[Host], None]:
    """What puts lcm in force alone."""
    return alone


@pytest.fixture
def summarizer() -> ScriptedSummarizer:
    return ScriptedSummarizer()


@pytest.fixture
def host(tmp_path: Path, summarizer: ScriptedSummarizer) -> Iterator[Host]:
    with Host(tmp_path / "home", summarizers=[summarizer]) as opened:
        alone(opened)
        yield opened


@pytest.fixture
def session(host: Host) -> Session:
    return host.new("one")


@pytest.fixture
def configure(host: Host) -> Callable[..., None]:
    """Writes lcm's section of the settings."""

    def write(**section: object) -> None:
        file = host.home / "extensions.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "lcm": section}))
        host.reload()

    return write


@pytest.fixture
def turns() -> Callable[..., None]:
    """Appends units of four rows each: a prompt, a call, its result, an answer; some 2.5 tokens a word."""

    def append(session: Session, count: int, words: int = 40) -> None:
        first = session.newest_seq() // 4
        for n in range(first, first + count):
            session.append(
                [
                    Row(_NEW, "user", 0, 0, opens=True, text=f"question {n}: " + "what is it for " * (words // 8)),
                    Row(_NEW, "assistant", 0, 0, calls=(Call(f"c{n}", "read", {"path": f"/src/{n}.py"}),)),
                    Row(_NEW, "result", 0, 0, text=f"line {n} of it\n" * (words // 4), call_id=f"c{n}"),
                    Row(_NEW, "assistant", 0, 0, text=f"answer {n}: " + "it counts them " * (words // 8)),
                ]
            )

    return append


@contextmanager
def tools_of(session: Session) -> Iterator[Callable[..., dict[str, Any]]]:
    """Calls tools in one snapshot of a session, as a turn does, and reads their answers."""
    with session._viewing() as (opened, _):
        tools = {tool.name: (extension, tool) for extension, tool in opened.composition.tools}

        def call(name: str, **arguments: object) -> dict[str, Any]:
            extension, tool = tools[name]
            answer: dict[str, Any] = json.loads(tool.call(BoundContext(opened, extension), arguments))
            return answer

        yield call


@pytest.fixture(scope="session")
def asking() -> Callable[[Session], AbstractContextManager[Callable[..., dict[str, Any]]]]:
    """Opens the tools of a session for many calls."""
    return tools_of


@pytest.fixture
def ask() -> Callable[..., dict[str, Any]]:
    """Calls one tool in a session."""

    def call(session: Session, name: str, **arguments: object) -> dict[str, Any]:
        with tools_of(session) as tools:
            return tools(name, **arguments)

    return call


@pytest.fixture
def tree() -> Callable[[Session], list[dict[str, Any]]]:
    """The nodes of a session, as `lcm tree` lists them."""
    return lambda session: list(session.run("lcm tree", {})["nodes"])


@pytest.fixture
def plant_tree() -> Callable[..., None]:
    """Stores leaves that end with given rows, then joins neighbours in view: pairs of where, and how many."""

    def put(session: Session, ends: Sequence[int], joins: Sequence[tuple[int, int]]) -> None:
        if not ends:
            return
        with session._viewing() as (opened, bench):
            work = BoundWork(opened, opened.composition.extension("lcm"), bench)
            drafts: list[Draft] = []

            def add(depth: int, after: int, upto: int, children: Sequence[Node]) -> Node:
                cut, words = work.history.cut(upto), f"rows {after + 1} to {upto}"
                node = Node(-len(drafts) - 1, session.id, depth, after, cut, "summary", "m", words)
                drafts.append(Draft(node, tuple(child.id for child in children)))
                return node

            shown = [add(0, after, upto, ()) for after, upto in pairwise([0, *ends])]
            for place, count in joins:
                joined = shown[place : place + count]
                if len(joined) > 1:
                    depth = max(node.depth for node in joined) + 1
                    shown[place : place + count] = [add(depth, joined[0].after, joined[-1].cut.seq, joined)]
            before = view(work)
            work.commit(lambda writer: save(writer, session.id, before, work.history.cut(ends[-1]), drafts))

    return put
