"""What a person is told of a request that no folding brings under its window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from refold import Call, Host, Refused, Row, Session, SourceRef
from refold.transcript.append import append
from refold.values.rows import Replay

WINDOW = 6_000
Talk = Callable[..., None]
Install = Callable[..., str]
Configure = Callable[..., None]

READER = """
class Reader:
    def reduce(self, context, rows, size, refused):
        return {row.ref: "[elided: read again]" for row in rows if row.kind == "result"}
@hookimpl
def reducer(): return Reader()
"""


def status(session: Session) -> str:
    found: str = session.context()["compaction"]["status"]
    return found


def test_a_request_that_does_not_fit_its_window_says_so_whatever_the_cause(
    home: Path, configure: Configure, talk: Talk
) -> None:
    configure(compaction={"auto": False})
    with Host(home) as host:
        session = host.new()
        talk(session, 20)
        assert any(
            "does not fit the window of 6,000 (--window)" in notice for notice in session.prepare(WINDOW).notices
        )


@pytest.mark.parametrize("window", [0, -1, 2**60])
def test_a_window_that_cannot_be_is_refused(window: int, host: Host) -> None:
    with pytest.raises(Refused, match="cannot be; nothing was prepared"):
        host.new().prepare(window)


def test_a_newest_turn_beyond_the_window_is_told_and_sent_whole(host: Host) -> None:
    session = host.new()
    session.user("word " * 10_000)
    prepared = session.prepare(WINDOW)
    observation = prepared.projection.observation
    assert observation.status == "limited" == status(session)
    assert observation.source == "the newest turn takes 12,505 tokens, the window holds 6,000"
    assert len(prepared.request.messages[0].text) == 50_000


def test_a_long_history_behind_a_short_turn_is_no_limit(home: Path, configure: Configure, talk: Talk) -> None:
    configure(compaction={"auto": False})
    with Host(home) as host:
        session = host.new()
        talk(session, 20)
        assert session.prepare(WINDOW).projection.observation.status == "whole"


def test_rows_that_are_never_sent_make_no_newest_turn_too_large(home: Path, configure: Configure, talk: Talk) -> None:
    """The request is too large by its older turns, which could be folded."""
    configure(compaction={"auto": False})
    with Host(home) as host:
        session = host.new()
        talk(session, 20)
        session.user("go")
        with host.database.write() as writer:
            opaque = Row(SourceRef("", 0), "replay", 0, 0, replay=Replay("another provider", "opaque " * 20_000))
            append(writer, session.id, [opaque])
        prepared = session.prepare(WINDOW)
        assert prepared.size.tokens > WINDOW
        assert prepared.projection.observation.status == "whole"


def test_results_that_reducers_shorten_make_no_newest_turn_too_large(
    home: Path, configure: Configure, install: Install, talk: Talk
) -> None:
    install("tidy", READER)
    configure(compaction={"auto": False})
    with Host(home) as host:
        session = host.new()
        talk(session, 40)
        session.user("go")
        session.assistant("", [Call("c", "read", {})])
        session.results({"c": "line of a file\n" * 4_000})
        prepared = session.prepare(WINDOW)
        assert prepared.size.tokens > WINDOW
        assert prepared.projection.observation.status == "whole"


def test_what_reducers_take_off_the_newest_turn_is_no_limit(home: Path, install: Install, talk: Talk) -> None:
    install("tidy", READER)
    with Host(home) as host:
        session = host.new()
        talk(session, 1, words=5_000)
        prepared = session.prepare(WINDOW * 3)
        assert session.rows()[2].text.count("\n") == 1_666
        assert prepared.projection.observation.status == "whole"


def test_rows_that_are_never_sent_are_no_limit(host: Host) -> None:
    session = host.new()
    session.user("go")
    with host.database.write() as writer:
        opaque = Row(SourceRef("", 0), "replay", 0, 0, replay=Replay("another provider", "opaque " * 20_000))
        append(writer, session.id, [opaque])
    session.assistant("done")
    prepared = session.prepare(WINDOW)
    assert prepared.size.tokens < 100
    assert prepared.projection.observation.status == "whole"


ASKS: list[Callable[[Session, int], object]] = [
    lambda session, window: session.check(window),
    lambda session, window: session.prepare(window),
    lambda session, window: session.plan(window),
    lambda session, window: session.compact(window),
]


@pytest.mark.parametrize("ask", ASKS, ids=["check", "prepare", "plan", "compact"])
def test_a_window_below_what_the_fixed_parts_need_is_refused_and_told_what_would_do(
    host: Host, talk: Talk, ask: Callable[[Session, int], object]
) -> None:
    session = host.new()
    talk(session, 20)
    with pytest.raises(Refused, match=r"take 0; nothing was changed; give at least 64"):
        ask(session, 10)
    session.system = "You are careful. " * 400
    with pytest.raises(Refused, match="its system prompt, context blocks and tools take ") as caught:
        ask(session, 1_000)
    assert session.stored_folds() == []
    assert session.context()["state"] == "pending"
    least = int(str(caught.value).rpartition(" ")[2].replace(",", ""))
    assert least > 1_064
    ask(session, least)
