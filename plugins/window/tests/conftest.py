"""A home in which window is the strategy, and a curator that says what a test wants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field
from refold import Call, Host, Row, Session, SourceRef
from refold.prepare.request import Prepared
from refold.registry import home_file
from refold.sizing.estimate import tokens as estimate
from refold.testing.summarizer import account
from refold.values.outcome import Outcome

NEW = SourceRef("", 0)
WINDOW = 8_000
"""Tokens. Usable: 6,000 (nothing is fixed). Soft 4,800, hard 6,000, target 3,000, recent 1,500, summary 600."""

SETTINGS: Mapping[str, Any] = {"keepResults": 1, "gainAtLeastTokens": 200}


@define
class Curator:
    """A summarizer for tests: `answers` are replies or errors, one a call, the last for all that follow."""

    name = "curator"
    window: int | None = None
    answers: list[Any] = field(factory=list)
    calls: int = 0
    read: list[str] = field(factory=list)

    def complete(self, prompt: Any, limit: int, deadline: Any) -> Any:
        from refold.summarize.reply import Reply

        self.calls += 1
        self.read.append(prompt.user())
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0] if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return Reply(account(prompt), "end", self.name, copied=True) if answer is None else answer


OTHERS = ("chain-memory", "eviction", "lcm-memory", "snapcompact-memory")
"""Extensions of this workspace that are on by default and add tools, folds or words to a request."""


@define
class Kit:
    """A host with window in force."""

    home: Path
    curator: Curator
    host: Host

    def session(self, id: str = "one") -> Session:
        """A new session under window."""
        session = self.host.new(id)
        self.host.choose("window", True, session.id)
        return session

    def reopen(self) -> None:
        self.host.close()
        self.host = Host(self.home, summarizers=[self.curator])


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Kit]:
    home = tmp_path / "home"
    home.mkdir()
    wanted = {"enabled": dict.fromkeys(OTHERS, False), "window": dict(SETTINGS)}
    home_file.update(home / "extensions.json", lambda sections: sections.update(wanted))
    curator = Curator()
    made = Kit(home, curator, Host(home, summarizers=[curator]))
    yield made
    made.host.close()


@pytest.fixture
def session(kit: Kit) -> Session:
    return kit.session()


def outcome(prepared: Prepared) -> Outcome | None:
    return prepared.attempted.outcome if prepared.attempted else None


def kinds(prepared: Prepared) -> list[str]:
    return [section.kind for section in prepared.projection.sections]


def records(session: Session) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = session.run("window records", {})["records"]
    return found


def words(tokens: int, about: str = "value") -> str:
    """A text of about that many tokens."""
    sentence = f"{about} of the text. "
    return sentence * max(1, tokens * 20 // estimate(sentence * 20))


def event(session: Session, name: str, text: str) -> None:
    session.append([Row(NEW, "event", 0, 0, event=name, text=text)])


Act = Callable[..., None]


def act(
    session: Session, n: int, name: str, arguments: Mapping[str, Any], text: str, *, answer: str = "ok", ok: bool = True
) -> None:
    """A turn: a prompt, one call with its result, an answer."""
    session.user(f"step {n}: go on")
    session.assistant("", [Call(f"c{n}", name, dict(arguments))])
    session.append([Row(NEW, "result", 0, 0, text=text, call_id=f"c{n}", ok=ok)])
    session.assistant(answer)


def chat(session: Session, n: int, tokens: int) -> None:
    """A turn without calls, about that many tokens."""
    session.user(f"question {n}: what is known of it?")
    session.assistant(f"answer {n}: " + words(tokens, f"answer {n}"))
