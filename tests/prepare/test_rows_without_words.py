"""Events, opaque items and blank messages hold no words: nothing fails because a summary of them would be empty."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from refold import Applied, Host, Nothing, Replay, Row, SourceRef
from refold.testing import ScriptedSummarizer

NEW = SourceRef("", 0)
WINDOW = 8_000
STRATEGIES = ("rolling", "lcm", "snapcompact", "chain", "window")
WORDLESS = {
    "a notice and a command": [
        Row(NEW, "event", 0, 0, event="notice", text="the file's system prompt was not taken"),
        Row(NEW, "event", 0, 0, event="command", text="/model other"),
    ],
    "an opaque item": [Row(NEW, "replay", 0, 0, replay=Replay("elsewhere", json.dumps({"encrypted": "abc " * 400})))],
    "blank messages": [
        Row(NEW, "user", 0, 0, opens=True, text=" \n"),
        Row(NEW, "assistant", 0, 0, text="\t"),
    ],
}


@pytest.fixture(params=STRATEGIES)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    (tmp_path / "extensions.json").write_text(json.dumps({"enabled": {request.param: True}}))
    return Host(tmp_path, summarizers=[ScriptedSummarizer()])


def turn(words: str, answers: int) -> list[Row]:
    answer = "It does this and that to a file. " * 120
    return [
        Row(NEW, "user", 0, 0, opens=True, text=words),
        *(Row(NEW, "assistant", 0, 0, text=f"{number}: {answer}") for number in range(answers)),
    ]


@pytest.mark.parametrize("front", WORDLESS)
def test_a_first_turn_of_more_than_half_the_window_is_folded_whatever_stands_before_it(front: str, host: Host) -> None:
    with host:
        session = host.new()
        session.append([*WORDLESS[front], *turn("describe every area", 12), *turn("go on", 1)])
        planned = session.plan(WINDOW).planned
        prepared = session.prepare(WINDOW)
        assert prepared.attempted is not None
        assert isinstance(prepared.attempted.outcome, Applied)
        assert prepared.attempted.outcome.covers == planned
        assert prepared.size.tokens < WINDOW // 2


@pytest.mark.parametrize("front", WORDLESS)
def test_rows_without_words_alone_are_nothing_to_fold_and_a_dry_run_says_so(front: str, host: Host) -> None:
    with host:
        session = host.new()
        session.append([*WORDLESS[front], Row(NEW, "user", 0, 0, opens=True, text="describe every area")])
        planned, compacted = session.plan(WINDOW), session.compact(WINDOW).attempted
        assert compacted is not None
        assert isinstance(planned.outcome, Nothing)
        assert planned.planned is None
        assert compacted.outcome == planned.outcome
        assert session.record.compactions == 0
