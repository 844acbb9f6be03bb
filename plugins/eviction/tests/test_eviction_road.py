"""Eviction in real requests: the gate, the tools, what the model is told, what the transcript keeps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest
from refold import Call, Host, Rows, Session
from refold.agent.tools import HostTool
from refold.prepare.context import BoundContext
from refold.prepare.request import Prepared
from refold.testing import ScriptedSummarizer
from refold.values.tools import ToolTraits
from refold_eviction import mark

Open = Callable[..., Host]
WINDOW = 20_000


@pytest.fixture
def summarizer() -> ScriptedSummarizer:
    return ScriptedSummarizer()


@pytest.fixture
def open_home(tmp_path: Path, summarizer: ScriptedSummarizer) -> Iterator[Open]:
    with ExitStack() as stack:

        def open_it(strategy: str = "rolling", **settings: object) -> Host:
            sections = {"enabled": {strategy: True}, "eviction": settings}
            (tmp_path / "home").mkdir(exist_ok=True)
            (tmp_path / "home" / "extensions.json").write_text(json.dumps(sections))
            return stack.enter_context(Host(tmp_path / "home", summarizers=[summarizer]))

        yield open_it


def reads(session: Session, count: int, *, first: int = 0, lines: int = 200) -> None:
    for number in range(first, first + count):
        session.assistant("", [Call(f"r{number}", "read", {"path": f"src/file_{number}.py"})])
        session.results({f"r{number}": f"line of file {number}\n" * lines})


def elided(prepared: Prepared) -> dict[int, str]:
    parts = [part for section in prepared.projection.sections for part in section.inputs if isinstance(part, Rows)]
    return {seq: text for part in parts for seq, text in part.elide.items()}


def test_nothing_collapses_below_the_start_and_then_all_that_is_old(open_home: Open) -> None:
    session = open_home().new()
    session.user("look")
    sizes = []
    for number in range(12):
        reads(session, 1, first=number)
        prepared = session.prepare(WINDOW)
        sizes.append((session.check(WINDOW).size * 2 >= WINDOW, len(elided(prepared))))
    assert [count for due, count in sizes if not due] == [0] * sum(not due for due, _ in sizes)
    assert [count for due, count in sizes if due] == [n - 2 for n in range(sum(not due for due, _ in sizes) + 1, 13)]


def test_start_percent_zero_collapses_from_the_first_result(open_home: Open) -> None:
    session = open_home(startPercent=0).new()
    session.user("look")
    reads(session, 4)
    assert sorted(elided(session.prepare(1_000_000))) == [3, 5]


def test_without_a_known_window_reads_collapse_and_listings_wait(open_home: Open) -> None:
    session = open_home().new()
    session.user("look")
    reads(session, 3)
    for number in range(5):
        session.assistant("", [Call(f"l{number}", "ls", {"path": "src"})])
        session.results({f"l{number}": "a_file.py\n" * 400})
    assert sorted(elided(session.prepare())) == [3]
    assert len(elided(session.prepare(5_000_000))) == 0, "a known window, and far below its half"


def test_the_transcript_keeps_everything_and_context_counts(open_home: Open) -> None:
    session = open_home(startPercent=0).new()
    session.user("look")
    reads(session, 5)
    session.assistant("", [Call("w", "write", {"path": "src/file_4.py"})])
    session.results({"w": "written"})
    before = session.rows()
    session.prepare(WINDOW)
    assert session.rows() == before
    assert session.context()["compaction"]["facts"]["evicted results"] == "4, of them 1 stale"


def test_the_summarizer_reads_the_reduced_view(open_home: Open, summarizer: ScriptedSummarizer) -> None:
    session = open_home(startPercent=0).new()
    session.user("look")
    reads(session, 5)
    session.assistant("done")
    session.user("and now?")
    session.compact(WINDOW)
    read = "\n".join(block.text for prompt in summarizer.prompts for block in prompt.blocks)
    assert "[evicted: contents of src/file_0.py" in read
    assert "line of file 0" not in read
    assert "line of file 4" in read


def test_a_result_marked_later_is_shown_again(open_home: Open) -> None:
    session = open_home(startPercent=0).new()
    session.user("look")
    reads(session, 4)
    assert 3 in elided(session.prepare(WINDOW))
    session.assistant("", [Call("k", "keep_result", {"path": "src/file_0.py"})])
    session.results({"k": "marked"})
    assert sorted(elided(session.prepare(WINDOW))) == [5]


def test_the_model_is_told_and_can_pin(open_home: Open) -> None:
    session = open_home().new()
    session.user("look")
    calls = []

    def read(arguments: object) -> str:
        calls.append(arguments)
        return "text"

    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    session.tools = (
        HostTool("read", "Reads.", schema, read, ToolTraits(reads="path")),
        HostTool("grep", "Searches.", schema, read, ToolTraits(searches="pattern")),
        HostTool("ls", "Lists.", schema, read, ToolTraits(lists="path")),
        HostTool("bash", "Runs.", schema, read, ToolTraits(action=True)),
        HostTool("mine", "Reads.", schema, read, ToolTraits(reads="path", pins="hold")),
    )
    prepared = session.prepare(WINDOW)
    assert "keep: true" in prepared.request.system
    assert "stale" in prepared.request.system
    tools = {tool.name: tool for tool in prepared.request.tools}
    assert "collapse" in tools["keep_result"].description
    offered = {name for name, tool in tools.items() if "keep" in tool.parameters.get("properties", {})}
    assert {"read", "grep"} <= offered
    assert not {"ls", "bash", "mine", "keep_result"} & offered
    assert "keep" not in tools["read"].parameters.get("required", [])
    assert schema == {"type": "object", "properties": {"path": {"type": "string"}}}, "the tool's own is untouched"


@pytest.mark.parametrize("setting", [{"enable": False}])
def test_switched_off_it_does_and_says_nothing(open_home: Open, setting: dict[str, object]) -> None:
    session = open_home(startPercent=0, **setting).new()
    session.tools = (HostTool("read", "Reads.", {"type": "object"}, str, ToolTraits(reads="path")),)
    session.user("look")
    reads(session, 6)
    prepared = session.prepare(WINDOW)
    assert elided(prepared) == {}
    assert "collapse" not in prepared.request.system
    assert all("keep" not in tool.parameters.get("properties", {}) for tool in prepared.request.tools)


def test_it_stands_back_under_a_strategy_that_clears_results_by_itself(
    open_home: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_home() as host:
        installed = {each.id for each in host.extensions().extensions}
    if "window" not in installed:
        pytest.skip("refold-window is not installed")
    session = open_home("window", startPercent=0).new()
    session.user("look")
    reads(session, 6, lines=20)
    prepared = session.prepare(1_000_000)
    assert not any(text.startswith("[evicted:") for text in elided(prepared).values())
    assert "# Collapsed results" not in prepared.request.system
    session.tools = (HostTool("read", "Reads.", {"type": "object", "properties": {}}, str, ToolTraits(reads="path")),)
    tools = {tool.name: tool for tool in session.prepare(1_000_000).request.tools}
    assert "keep" in tools["read"].parameters["properties"], "that strategy heeds it"
    with session._viewing() as (view, _):
        context = BoundContext(view, view.composition.extension("eviction"))
        assert mark(context, {"path": "a"}).startswith("nothing was marked: the strategy window clears")


def test_faults_of_the_settings_are_named_and_the_defaults_serve(open_home: Open) -> None:
    host = open_home(startPercent=101, keepRecent=-1)
    problem = next(each.problem for each in host.extensions().extensions if each.id == "eviction")
    assert problem
    assert "startPercent" in problem
    assert "keepRecent" in problem
    session = host.new()
    session.user("look")
    reads(session, 3)
    assert sorted(elided(session.prepare())) == [3]


def test_only_placeholders_differ_between_two_requests(open_home: Open) -> None:
    session = open_home(startPercent=0).new()
    session.user("look")
    requests = []
    for number in range(8):
        reads(session, 1, first=number)
        requests.append(session.prepare(1_000_000))
    for before, after in pairwise(requests):
        for old, new in zip(before.request.messages, after.request.messages, strict=False):
            assert old == new or getattr(new, "text", "").startswith("[evicted: ")
