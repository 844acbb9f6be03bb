"""A home in which chain is chosen, and long turns to fold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from refold import Call, Host, Session
from refold.prepare.request import Prepared
from refold.providers.protocols import PROTOCOLS
from refold.testing import ScriptedSummarizer

Open = Callable[..., Host]


@pytest.fixture
def summarizer() -> ScriptedSummarizer:
    return ScriptedSummarizer()


@pytest.fixture
def open_home(tmp_path: Path, summarizer: ScriptedSummarizer) -> Iterator[Open]:
    """Opens a home with these settings of chain; others' reducers are off."""
    with ExitStack() as stack:

        def open_it(**settings: object) -> Host:
            sections = {"enabled": {"chain": True, "eviction": False}, "chain": settings}
            (tmp_path / "home").mkdir(exist_ok=True)
            (tmp_path / "home" / "extensions.json").write_text(json.dumps(sections))
            return stack.enter_context(Host(tmp_path / "home", summarizers=[summarizer]))

        yield open_it


@pytest.fixture
def host(open_home: Open) -> Host:
    return open_home()


def turns(session: Session, count: int, *, first: int = 0, words: int = 60) -> None:
    """Whole turns: a prompt, a call with its result, an answer; about 5 tokens for each of `words`."""
    for turn in range(first, first + count):
        session.user(f"question {turn}: what does this do?")
        session.assistant("reading it", [Call(f"call-{turn}", "read", {"path": f"/src/module_{turn}.py"})])
        session.results({f"call-{turn}": f"def f{turn}(): return {turn}\n" * (words // 3)})
        session.assistant(f"answer {turn}: " + "it returns a number. " * (2 * words // 5))


def step(session: Session, number: int, *, calls: int = 1, words: int = 60) -> None:
    """One step of the newest turn: calls, and the results of all of them."""
    ids = [f"step-{number}-{n}" for n in range(calls)]
    session.assistant(f"step {number}", [Call(id, "read", {"path": f"/src/{id}.py"}) for id in ids])
    session.results({id: f"{id}: a line of the file\n" * words for id in ids})


def encoded(prepared: Prepared) -> list[object]:
    """The request's messages as a protocol that joins none of them sends them."""
    messages: list[object] = PROTOCOLS["openai-responses"].encode(prepared.request, lambda image: b"")["input"]
    return messages


def blocks(prepared: Prepared) -> list[tuple[int, int]]:
    """The rows that each block stands for: behind which, up to which."""
    sections = [section for section in prepared.projection.sections if section.kind == "summary"]
    return [(each.covers.after, each.covers.upto) for each in sections if each.covers is not None]


def texts(prepared: Prepared) -> Sequence[str]:
    return [getattr(message, "text", "") for message in prepared.request.messages]
