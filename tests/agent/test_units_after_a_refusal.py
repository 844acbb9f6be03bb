"""After a refusal the limit and the sizes are compared in one unit: what stays is the same however a provider counts.

A provider that counts everything by a factor, its limit too, is the same provider in another unit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from refold import Host
from refold.agent.tools import HostTool

from .wires import Say, too_large

LIMIT = 12_000
STRATEGIES = ("rolling", "lcm", "chain", "window")
PERCENTS = (150, 200, 300)


def counted(body: dict[str, Any], percent: int) -> int:
    return len(json.dumps([body["messages"], body.get("tools")])) * percent // 400


def serves(
    percent: int, play: Callable[[dict[str, Any]], Any], reports: bool = True
) -> Callable[[dict[str, Any]], Any]:
    """A server of `LIMIT` tokens, both they and its counts multiplied by the factor. It may report its usage."""

    def answer(body: dict[str, Any]) -> Any:
        size, limit = counted(body, percent), LIMIT * percent // 100
        if size >= limit:
            return too_large(limit, size)
        say = play(body)
        return Say(say.text, say.calls, usage=(size, 3) if reports else None)

    return answer


@pytest.fixture
def enable(home: Path, host: Host) -> Callable[[str], None]:
    def choose(strategy: str) -> None:
        (home / "extensions.json").write_text(json.dumps({"enabled": {strategy: True, "eviction": False}}))
        host.reload()

    return choose


def kept(body: dict[str, Any]) -> int:
    """Tool results that are sent as they are, of those that the session holds."""
    return sum(message["role"] == "tool" and not message["content"].startswith("[") for message in body["messages"])


@pytest.fixture
def after_a_refusal(host: Host, model: Any, configure: Any, talk: Any, enable: Any) -> Callable[..., int]:
    """How many turns stay when 60 were refused; `before` turns are answered in between, at another factor."""

    def play(strategy: str, percent: int, before: int) -> int:
        enable(strategy)
        name = f"counts-{percent}"  # a model of its own: what is learnt of one says nothing of another
        configure(models={f"local/{name}": {"window": 1_000_000, "maxOutput": 500}})
        session = host.new(model=f"local/{name}")
        for _ in range(before):
            model.plays(lambda body: Say("Fine.", usage=(counted(body, 100), 3)))
            session.send("A word " * 400)
        talk(session, 60)
        model.plays(serves(percent, lambda body: Say("Fine.")))
        model.asked.clear()
        session.send("And now?")
        assert len(model.asked) == 2
        return kept(model.asked[1])

    return play


@pytest.mark.parametrize("before", [0, 4], ids=["nothing learnt before", "another factor learnt before"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_as_many_turns_stay_whatever_unit_the_provider_counts_in(
    strategy: str, before: int, after_a_refusal: Callable[..., int]
) -> None:
    stay = {percent: after_a_refusal(strategy, percent, before) for percent in PERCENTS}
    assert max(stay.values()) - min(stay.values()) <= 1, stay  # a turn stands on the edge in one unit, not in another


@pytest.mark.parametrize("reports", [True, False], ids=["usage is reported", "it is not"])
def test_as_many_results_of_a_turn_stay_whatever_unit_the_provider_counts_in(
    reports: bool, host: Host, model: Any, configure: Any
) -> None:
    def look(arguments: Any) -> str:
        return f"part {arguments['n']}: " + f"line of {arguments['n']} " * 400

    stay = {}
    for percent in PERCENTS:
        name = f"counts-{percent}"
        configure(models={f"local/{name}": {"window": 1_000_000, "maxOutput": 500}})
        session = host.new(model=f"local/{name}")
        session.tools = (HostTool("look", "Looks.", {"type": "object", "properties": {}}, look),)
        steps = iter(range(24))

        def play(body: dict[str, Any], steps: Iterator[int] = steps) -> Any:
            n = next(steps, None)
            return Say("All seen.") if n is None else Say(f"Step {n}.", ((f"call_{n}", "look", {"n": n}),))

        model.plays(serves(percent, play, reports))
        session.send("Look at all parts")
        outcomes = [each.outcome for each in session.requests()]
        assert "too_large" in outcomes
        stay[percent] = kept(model.asked[outcomes.index("too_large") + 1])
        model.asked.clear()
    assert max(stay.values()) - min(stay.values()) <= 1, stay  # the refusal may come a step earlier
