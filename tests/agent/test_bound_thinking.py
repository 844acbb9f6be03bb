"""Sessions on models that bind their thinking, against a server that refuses what the provider refuses."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from refold import Host, Session, commands
from refold.agent import events
from refold.agent.tools import HostTool
from refold.providers.failures import ProviderError
from refold.values.rows import Image

from tests import pictures
from tests.claude_server import Body, Claude, Refused, Reply, blocks, extends, serving, signatures

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}
STRATEGIES = ("chain", "lcm", "rolling", "snapcompact", "window")
WINDOW = 8_000


@pytest.fixture
def claude(monkeypatch: pytest.MonkeyPatch) -> Iterator[Claude]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("REFOLD_DISABLE", "")
    with serving() as made:
        made.plays(working())
        yield made


def working(calls: int = 2) -> Callable[[Body], Reply]:
    """Reads so many files, one at a time, then answers."""
    numbers = itertools.count()

    def play(body: Body) -> Reply:
        done = 0
        for message in reversed(body["messages"]):
            kinds = {block["type"] for block in blocks(message)}
            if message["role"] == "user" and "tool_result" not in kinds:
                break
            done += message["role"] == "assistant"
        n = next(numbers)
        if done < calls:
            return Reply(f"Step {n}.", ((f"toolu_{n}", "read", {"path": f"/src/part{n % 3}.py"}),), thinking=f"hm {n}")
        return Reply(f"Answer {n}. " + "It says so. " * 20, thinking=f"hm {n}")

    return play


def read(lines: int = 90) -> HostTool:
    numbers = itertools.count()

    def call(arguments: Any) -> str:
        return f"{arguments['path']} for the time {next(numbers)}\n" + "def part(): return 1\n" * lines

    return HostTool("read", "Reads a file.", SCHEMA, call)


@pytest.fixture
def home(tmp_path: Path, claude: Claude) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    write_models(home, claude)
    return home


def write_models(home: Path, claude: Claude, **entry: Any) -> None:
    models = {f"local/{name}": {"window": WINDOW, "maxOutput": 500, **entry} for name in ("claude-opus-5-5", "alias")}
    models["local/claude-fable-5-1"] = models["local/claude-opus-5-5"]
    file = {
        "providers": {"local": {"protocol": "anthropic", "baseUrl": claude.url}},
        "models": models,
        "default": "local/claude-opus-5-5",
    }
    (home / "models.json").write_text(json.dumps(file))


def choose(home: Path, strategy: str, *others: str) -> None:
    known = (*STRATEGIES, "eviction", "chain-memory", "lcm-memory", "snapcompact-memory", "window-memory")
    enabled = {id: id in (strategy, f"{strategy}-memory", *others) for id in known}
    (home / "extensions.json").write_text(json.dumps({"enabled": enabled}))


def opened(host: Host, session: str | None = None, **more: Any) -> Session:
    found = host.session(session) if session else host.new("s")
    found.tools = (read(**more),)
    return found


def breaks(claude: Claude) -> list[tuple[Body, Body]]:
    """Pairs of requests in a row of which the second does not extend the first."""
    return [pair for pair in itertools.pairwise(claude.answered) if not extends(*pair)]


def assert_thinking_stays(claude: Claude) -> None:
    """Requests that extend the one before carry its thinking and that of its answer."""
    for before, after in itertools.pairwise(claude.answered):
        if extends(before, after):
            assert signatures(after)[: len(signatures(before))] == signatures(before)
            assert len(signatures(after)) == len(signatures(before)) + 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_request_is_refused_over_many_compactions_and_thinking_made_since_stays(
    claude: Claude, home: Path, strategy: str
) -> None:
    choose(home, strategy)
    with Host(home) as host:
        session = opened(host, lines=20)
        for n in range(30):
            session.send(f"Question {n}: what do the parts do?")
        assert session.context()["compaction"]["strategy"] == strategy
        assert session.record.compactions >= 2
        assert claude.refused == []
        assert 1 <= len(breaks(claude)) <= session.record.compactions
        assert_thinking_stays(claude)
        assert max(len(signatures(body)) for body in claude.answered) >= 4


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_request_is_refused_while_old_results_are_collapsed(claude: Claude, home: Path, strategy: str) -> None:
    choose(home, strategy, "eviction")
    claude.plays(working(4))
    with Host(home) as host:
        session = opened(host, lines=40)
        for n in range(8):
            session.send(f"Question {n}: what do the parts do?")
        assert any("collapsed" in json.dumps(body) or "superseded" in json.dumps(body) for body in claude.answered)
        assert claude.refused == []
        assert_thinking_stays(claude)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_request_is_refused_whatever_changes_in_a_session(claude: Claude, home: Path, strategy: str) -> None:
    choose(home, strategy, "eviction")
    with Host(home) as host:
        session = opened(host, lines=20)

        def ask(count: int = 2) -> None:
            for _ in range(count):
                session.send("And what do the parts do now?")
            assert claude.refused == []

        ask()
        commands.run_command(session, "/model claude-fable-5-1")
        ask()
        commands.run_command(session, "/model claude-opus-5-5")
        ask()
        session.system = "You answer in one sentence."
        ask()
        session.tools = (*session.tools, HostTool("look", "Looks.", SCHEMA, lambda arguments: "nothing"))
        ask()
        session.send("Only look", read_only=True)
        ask(1)
        host.choose("lcm-memory", True, "s")
        ask()
        host.reload()
        ask()
        session.compact()
        ask(1)
        assert session.follow_up("too early") is False
    with Host(home) as host:
        session = opened(host, "s", lines=20)
        ask()
        branch = opened(host, session.fork(session.newest_seq() - 3).session, lines=20)
        ask(1)
        session = branch
        ask(5)
    assert_thinking_stays_in(claude, "claude-opus-5-5")
    assert sum(bool(signatures(body)) for body in claude.answered) * 2 > len(claude.answered)


def assert_thinking_stays_in(claude: Claude, model: str) -> None:
    bodies = [body for body in claude.answered if body["model"] == model]
    for before, after in itertools.pairwise(bodies):
        if extends(before, after) and before["messages"] != after["messages"]:
            assert signatures(after)[: len(signatures(before))] == signatures(before)


def test_thinking_comes_back_with_the_model_that_made_it(claude: Claude, home: Path) -> None:
    choose(home, "rolling")
    with Host(home) as host:
        session = opened(host)
        session.send("One?")
        made = signatures(claude.answered[-1])
        session.use_model("claude-fable-5-1")
        session.send("Two?")
        assert not set(made) & {each for body in claude.answered[3:] for each in signatures(body)}
        session.use_model("claude-opus-5-5")
        session.send("Three?")
        assert signatures(claude.answered[-1])[: len(made)] == made
        assert claude.refused == []


def test_a_changed_system_prompt_or_context_block_leaves_thinking_where_it_is(
    claude: Claude, home: Path, install: Any
) -> None:
    install(
        "weather",
        "words = ['sunny']\n@hookimpl\ndef context_blocks(context): return [ContextBlock('w', 'weather', words[-1])]\n"
        "@hookimpl\ndef commands():\n    def run(work, arguments):\n        words.append('rain')\n        return {}\n"
        "    return [Command('weather', 'Changes it.', {'type': 'object', 'properties': {}}, run)]\n",
    )
    choose(home, "rolling")
    with Host(home) as host:
        session = opened(host, lines=20)
        session.system = "Be brief."
        session.send("One?")
        session.system = "Be long."
        session.send("Two?")
        session.run("weather", {})
        session.send("Three?")
        assert "rain" in json.dumps(claude.answered[-1]["messages"])
        assert breaks(claude) == []
        assert_thinking_stays(claude)
        assert claude.refused == []


def test_changed_tools_take_the_thinking_behind_them_out_and_it_is_back_with_them(claude: Claude, home: Path) -> None:
    choose(home, "rolling")
    with Host(home) as host:
        session = opened(host)
        session.send("One?")
        first = signatures(claude.answered[-1])
        tools = session.tools
        session.tools = (*tools, HostTool("look", "Looks.", SCHEMA, lambda arguments: "nothing"))
        session.send("Two?")
        asked = claude.answered[3:]
        assert signatures(asked[0]) == []
        assert len(signatures(asked[-1])) == 2
        session.tools = tools
        session.send("Three?")
        assert signatures(claude.answered[-1])[: len(first)] == first
        assert not set(signatures(asked[-1])) & set(signatures(claude.answered[-1]))
        assert claude.refused == []
        assert_thinking_stays(claude)


def test_a_collapsed_result_takes_out_the_thinking_behind_it_alone(claude: Claude, home: Path) -> None:
    choose(home, "rolling", "eviction")
    claude.plays(working(5))
    with Host(home) as host:
        session = opened(host, lines=150)
        for n in range(6):
            session.send(f"Question {n}?")
    kept = [(before, after) for before, after in breaks(claude) if signatures(after)]
    assert kept
    for before, after in kept:
        mine, theirs = signatures(after), signatures(before)
        assert mine == theirs[: len(mine)]
    assert claude.refused == []


def test_the_parts_of_an_answer_that_was_cut_are_gone_on_with_and_their_thinking_stays_out(
    claude: Claude, home: Path
) -> None:
    choose(home, "rolling")
    parts = iter([Reply("One, ", stop="max_tokens"), Reply("two."), Reply("Yes."), Reply("Yes.")])
    claude.plays(lambda body: next(parts))
    with Host(home) as host:
        session = opened(host)
        assert session.send("Count to two").text == "One, two."
        session.send("Really?")
        session.send("Really?")
    assert claude.refused == []
    assert [len(signatures(body)) for body in claude.answered] == [0, 0, 0, 1]


def test_thinking_leaves_with_pictures_that_newer_ones_crowd_out(claude: Claude, home: Path) -> None:
    choose(home, "rolling")
    write_models(home, claude, imageLimits={"maxImages": 2}, inputs=["text", "image"])
    claude.plays(working(0))
    with Host(home) as host:
        session = opened(host)
        for n in range(4):
            session.send(f"Picture {n}", [Image.of(pictures.png(n + 1))])
    assert claude.refused == []
    assert [len(signatures(body)) for body in claude.answered] == [0, 1, 0, 0]
    assert ["omitted" in json.dumps(body) for body in claude.answered] == [False, False, True, True]


def test_what_a_server_with_less_room_makes_one_line_takes_thinking_with_it(claude: Claude, home: Path) -> None:
    choose(home, "rolling")
    claude.window = 5_000
    claude.plays(working(8))
    with Host(home) as host:
        session = opened(host)
        for n in range(3):
            session.send(f"Question {n}?")
    assert {words.split(":")[0] for _, words in claude.refused} == {"prompt is too long"}


def test_requests_that_are_counted_before_they_are_sent_hold_no_outdated_thinking(claude: Claude, home: Path) -> None:
    choose(home, "rolling")
    write_models(home, claude)
    file = json.loads((home / "models.json").read_text())
    file["providers"]["local"]["count"] = True
    (home / "models.json").write_text(json.dumps(file))
    with Host(home) as host:
        session = opened(host)
        for n in range(8):
            session.send(f"Question {n}?")
        assert session.record.compactions
    assert len(claude.counted) >= len(claude.answered)
    assert claude.refused == []


# A refusal all the same


def bound(claude: Claude) -> int:
    return sum("bound to a different conversation" in words for _, words in claude.refused)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_refused_item_is_recovered_from_once_and_never_goes_back(claude: Claude, home: Path, strategy: str) -> None:
    choose(home, strategy)
    heard: list[Any] = []
    with Host(home) as host:
        session = opened(host)
        session.send("One?")
        old = set(signatures(claude.answered[-1]))
        claude.forgets()
        assert session.send("Two?", on_event=heard.append).stop == "end"
        assert bound(claude) == 1
        assert "refused thinking of earlier answers" in " ".join(e.text for e in heard if isinstance(e, events.Noticed))
        assert session.context()["compaction"]["facts"]["thinking left out"]
        assert len(signatures(claude.answered[-1])) == 2
        branch = opened(host, session.fork(session.newest_seq()).session)
    with Host(home) as host:
        for each in (opened(host, "s"), opened(host, branch.id)):
            for n in range(6):
                each.send(f"And {n}?")
    assert bound(claude) == len(claude.refused) == 1
    assert not old & {each for body in claude.answered[3:] for each in signatures(body)}


def test_a_fork_before_the_refused_item_keeps_its_own_new_thinking(claude: Claude, home: Path) -> None:
    choose(home, "rolling")
    with Host(home) as host:
        session = opened(host, lines=20)
        for n in range(3):
            session.send(f"Question {n}?")
        claude.forgets()
        session.send("And now?")
        branch = opened(host, session.fork(9).session, lines=20)
        for n in range(3):
            branch.send(f"Instead {n}?")
    assert bound(claude) == 1
    assert len(signatures(claude.answered[-1])) >= 6


def test_a_model_that_binds_under_another_name_is_known_for_it_after_one_refusal(claude: Claude, home: Path) -> None:
    choose(home, "rolling")
    with Host(home) as host:
        session = opened(host, lines=20)
        session.use_model("alias")
        for n in range(30):
            assert session.send(f"Question {n}?").stop == "end"
        assert session.record.compactions >= 2
    assert bound(claude) == len(claude.refused) == 1
    assert max(len(signatures(body)) for body in claude.answered[-12:]) >= 3


def test_models_json_says_that_a_model_binds_its_thinking(claude: Claude, home: Path) -> None:
    choose(home, "rolling")
    write_models(home, claude, boundThinking=True)
    with Host(home) as host:
        session = opened(host, lines=20)
        session.use_model("alias")
        for n in range(20):
            session.send(f"Question {n}?")
        assert session.record.compactions
    assert claude.refused == []
    write_models(home, claude, boundThinking=False)
    with Host(home) as host:
        session = host.new()
        session.tools = (read(20),)
        for n in range(30):
            session.send(f"Question {n}?")
        assert session.record.compactions
    assert bound(claude) == 1


def test_a_second_refusal_in_a_step_is_the_error(claude: Claude, home: Path) -> None:
    choose(home, "rolling")
    with Host(home) as host:
        session = opened(host)
        session.send("One?")

        def refuse(body: Body) -> Reply:
            raise Refused("messages.1.content.0: Invalid `signature` in `thinking` block.")

        claude.plays(refuse)
        with pytest.raises(ProviderError, match="refused thinking of an earlier answer") as raised:
            session.send("Two?")
        assert raised.value.refusal.kind == "opaque_item"
        assert len(claude.refused) == 2


# What outlives a process, and what comes along


def test_thinking_outlives_a_restart_and_comes_along_in_a_fork_and_an_export(
    claude: Claude, home: Path, tmp_path: Path
) -> None:
    choose(home, "rolling")
    with Host(home) as host:
        session = opened(host, lines=20)
        session.system = "Be brief."
        session.send("One?")
        session.send("Two?")
        exported = tmp_path / "s.jsonl"
        exported.write_bytes(b"".join(session.export()))
    with Host(home) as host:
        session = opened(host, "s", lines=20)
        branch = opened(host, session.fork(session.newest_seq()).session, lines=20)
        host.import_file(exported, session="again")
        again = opened(host, "again", lines=20)
        again.system = "Be brief."
        last = claude.answered[-1]
        for each in (session, branch, again):
            each.send("Three?")
            first = claude.answered[-3]
            assert extends(last, first)
            assert len(signatures(first)) == len(signatures(last)) + 1
    assert claude.refused == []


def test_a_compaction_that_the_model_asks_for_inside_a_turn_is_no_reason_for_a_refusal(
    claude: Claude, home: Path
) -> None:
    choose(home, "rolling")
    with Host(home) as host:
        session = opened(host, lines=20)
        for n in range(5):
            session.send(f"Question {n}?")
        script = iter([Reply("", (("toolu_c", "compact_context", {}),)), Reply("Done."), Reply("Yes.")])
        claude.plays(lambda body: next(script))
        assert session.send("Compact, please").text == "Done."
        session.send("Done?")
        assert session.record.compactions == 1
    assert claude.refused == []
    assert [len(signatures(body)) for body in claude.answered[-2:]] == [0, 1]


def test_compact_context_may_come_and_go(claude: Claude, home: Path) -> None:
    choose(home, "rolling")
    settings = json.loads((home / "extensions.json").read_text())
    with Host(home) as host:
        session = opened(host, lines=20)
        session.send("One?")
        kept = signatures(claude.answered[-1])
        (home / "extensions.json").write_text(json.dumps({**settings, "compaction": {"enable": False}}))
        host.reload()
        session.send("Two?")
        assert not set(kept) & set(signatures(claude.answered[-1]))
        (home / "extensions.json").write_text(json.dumps(settings))
        host.reload()
        session.send("Three?")
        assert signatures(claude.answered[-1])[: len(kept)] == kept
    assert claude.refused == []
