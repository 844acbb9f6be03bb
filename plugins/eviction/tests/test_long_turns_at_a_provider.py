"""Whole turns of parallel reads at a provider that counts by itself: what its prompt cache would see."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from refold import Host
from refold.agent.tools import HostTool
from refold.testing import ScriptedSummarizer
from refold.values.tools import ToolTraits

from .counting_provider import Provider, serving

pytestmark = pytest.mark.skipif(
    not any(point.name == "chain" for point in entry_points(group="refold.extensions")),
    reason="refold-chain is not installed",
)

PROMPT = "Read every file and tell me whether all of them are in order."


@frozen
class Ran:
    """What a turn came to. `before` are the messages of each request; `folds` counts applied compactions by request;
    `blocks` and `retired` are the blocks that were written, and those of them that were merged."""

    requests: Sequence[list[str]]
    folds: Sequence[int]
    refused: int
    largest: int
    blocks: int
    retired: int

    def changed(self) -> list[list[tuple[str, str]]]:
        """For each request but the first, the messages in which it does not extend the one before."""
        return [
            [(old, new) for old, new in zip(before, after, strict=False) if old != new]
            + [(old, "") for old in before[len(after) :]]
            for before, after in pairwise(self.requests)
        ]


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def one(
        window: int,
        steps: int,
        calls: int,
        lines: int,
        evicting: bool,
        words: int = 120,
        strategy: str = "chain",
        told: int | None = None,
        keeps: bool = False,
    ) -> Ran:
        """A turn at a provider with that window; `told` is the window that its models.json says instead."""
        home = tmp_path / f"home-{window}-{steps}-{evicting}-{words}"
        home.mkdir()
        choices = {"enabled": {strategy: True, "eviction": evicting}}
        (home / "extensions.json").write_text(json.dumps(choices))
        summarizer = ScriptedSummarizer(lambda prompt: f"Block after {len(prompt.blocks)} entries. " + "word " * words)
        folds = []
        with serving(Provider(window, steps, calls, keeps)) as provider, Host(home, summarizers=[summarizer]) as host:
            models = {
                "providers": {"local": {"protocol": "openai-chat", "baseUrl": provider.url, "count": False}},
                "models": {"local/m": {"window": told or window, "maxOutput": 1_000}},
                "default": "local/m",
            }
            (home / "models.json").write_text(json.dumps(models))
            session = host.new("s")
            schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}

            def read(arguments: Mapping[str, Any]) -> str:
                folds.append(session.record.compactions)
                assert set(arguments) == {"path"}, "the tool knows nothing of keep"
                return "".join(f"{arguments['path']}:{n}: def part_{n}(): return {n}\n" for n in range(lines))

            session.tools = (HostTool("read", "Reads a file.", schema, read, ToolTraits(reads="path")),)
            finished = session.send(PROMPT)
            assert finished.stop == "end"
            assert finished.text == "All files are in order."
            folds.append(session.record.compactions)
            with host.database.read() as reader:
                stored = reader.all("SELECT count(*), count(retired_by) FROM chain_block WHERE session='s'")
        return Ran(
            requests=[[json.dumps(message) for message in body["messages"]] for body in provider.bodies],
            folds=[*folds[: steps * calls : calls], folds[-1]],
            refused=provider.refused,
            largest=max(provider.sizes),
            blocks=stored[0][0],
            retired=stored[0][1],
        )

    return one


def test_without_eviction_each_request_extends_the_one_before_or_is_a_fold(run: Run) -> None:
    ran = run(60_000, 16, 4, 60, evicting=False)
    folds = 0
    for number, changed in enumerate(ran.changed(), 1):
        if changed:
            folds += 1
            assert ran.folds[number] == ran.folds[number - 1] + 1, "only a fold changes what was sent"
    assert 1 <= folds == ran.folds[-1]
    assert ran.refused == 0
    assert all(sum(PROMPT in message for message in request) == 1 for request in ran.requests)
    print(f"\noff: {len(ran.requests)} requests, {folds} folds, {ran.retired} blocks merged, largest {ran.largest:,}")


@pytest.mark.parametrize("lines", [60, 110])
def test_with_eviction_only_placeholders_differ(run: Run, lines: int) -> None:
    ran = run(60_000, 16, 4, lines, evicting=True)
    folds, evictions = 0, 0
    for number, changed in enumerate(ran.changed(), 1):
        if ran.folds[number] > ran.folds[number - 1]:
            folds += 1
            continue
        evictions += len(changed)
        assert all("[evicted: contents of src/part_" in new for _, new in changed)
    assert evictions > 20
    assert folds == ran.folds[-1]
    assert ran.refused == 0
    told = f"{len(ran.requests)} requests, {folds} folds, {evictions} evictions, {ran.retired} merged"
    print(f"\non, {lines} lines a read: {told}, largest {ran.largest:,}")


def test_with_long_blocks_only_folds_change_what_was_sent_merges_included(run: Run) -> None:
    ran = run(24_000, 44, 4, 40, evicting=False, words=1_300)
    assert ran.retired >= 2
    assert ran.refused == 0
    assert all(ran.folds[n] > ran.folds[n - 1] for n, changed in enumerate(ran.changed(), 1) if changed)
    assert all(sum(PROMPT in message for message in request) == 1 for request in ran.requests)
    print(f"\nlong: {len(ran.requests)} requests, {ran.folds[-1]} folds, {ran.blocks} blocks, {ran.retired} merged")


@pytest.mark.parametrize("evicting", [True, False])
def test_a_turn_of_fourteen_times_four_reads_in_a_small_window_is_never_refused(run: Run, evicting: bool) -> None:
    ran = run(36_000, 14, 4, 70, evicting=evicting)
    assert ran.refused == 0
    assert ran.largest <= 36_000
    assert len(ran.requests) == 15
    print(f"\n36k, eviction {'on' if evicting else 'off'}: {ran.folds[-1]} folds, largest {ran.largest:,} tokens")


def test_a_refusal_opens_the_gate_for_the_rest_of_the_turn(run: Run) -> None:
    """The window is smaller than anybody knows, and rolling cannot fold the one turn there is."""
    ran = run(20_000, 12, 2, 70, evicting=True, strategy="rolling", told=200_000)
    assert ran.refused == 1
    assert ran.folds[-1] == 0
    first = next(n for n, request in enumerate(ran.requests) if any("[evicted: " in message for message in request))
    assert all(sum("[evicted: " in message for message in request) >= 4 for request in ran.requests[first:])
    assert not any("[elided: " in message for request in ran.requests for message in request)
    print(f"\nrefused once, then {sum('[evicted: ' in message for message in ran.requests[-1])} evicted")


def test_a_result_that_the_model_asked_to_keep_stays(run: Run) -> None:
    ran = run(60_000, 10, 4, 60, evicting=True, keeps=True)
    collapsed = [message for message in ran.requests[-1] if "[evicted: " in message]
    assert collapsed
    assert not any("file_0.py" in message for message in collapsed)
    assert any("file_1.py" in message for message in collapsed)
