"""An extension is upgraded and removed with real pip while turns of a living process run, against a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.conftest import Model, serving
from tests.agent.wires import Say

from .conftest import source
from .test_reload_with_pip import wheel

HOST = """
import builtins, threading
from pathlib import Path
from refold import Host, HostTool

host = builtins.host = Host(Path(HOME))
builtins.waits, builtins.goes_on, builtins.turns = threading.Event(), threading.Event(), {}

def wait(arguments):
    waits.set()
    goes_on.wait(60)
    return "waited"

def begin(name):
    session = host.new(name)
    session.tools = (HostTool("wait", "Waits.", {"type": "object", "properties": {}}, wait),)
    turns[name] = threading.Thread(target=session.send, args=(f"Go, {name}",))
    turns[name].start()

builtins.begin = begin
"""

RESULTS = "answer = [row.text for row in host.session({!r}).rows() if row.kind == 'result']"


def talking(word: str, *, late: str = "", migrations: tuple[str, ...] = ()) -> str:
    """An extension whose tool answers the word, from a table of its own when there is one."""
    table = 'context.read("SELECT word FROM talk_words")[0][0]' if migrations else repr(word)
    body = f"""
        @hookimpl
        def migrations(): return {migrations!r}
        def say(context, arguments):
            {late or "pass"}
            return {table}
        @hookimpl
        def tools(): return [Tool("say", "Says.", {{"type": "object", "properties": {{}}}}, say)]
    """
    return source("talk", body, default=True, title=word)


@pytest.fixture
def model() -> Iterator[Model]:
    with serving() as made:
        yield made
    assert made.faults == []


@pytest.fixture
def child(living, home: Path, model: Model):
    """Starts a living process with a Host whose model is the scripted one."""
    provider = {"protocol": "openai-chat", "baseUrl": model.url}
    entry = {"window": 32_000, "maxOutput": 1_000}
    file = {"providers": {"local": provider}, "models": {"local/m": entry}, "default": "local/m"}
    (home / "models.json").write_text(json.dumps(file))

    def start() -> Any:
        process = living(NO_PROXY="127.0.0.1")
        process.python(f"HOME = {str(home)!r}\n{HOST}")
        return process

    return start


def calls(name: str) -> Say:
    return Say("", ((f"call-{name}", name, {}),))


def test_a_running_turn_keeps_the_code_it_began_with_beside_turns_with_the_new_code(
    environment, child, model: Model, tmp_path: Path
) -> None:
    environment.pip("install", wheel(tmp_path / "1", "talk", talking("one"), "1"))
    process = child()
    # The old turn waits, is upgraded beside, sees a new turn from its beginning to its end, and then says its word.
    model.plays(calls("wait"), calls("say"), Say("New."), calls("say"), Say("Old."))
    process.python("begin('old'); waits.wait(60)")
    environment.pip("install", wheel(tmp_path / "2", "talk", talking("two"), "2"))
    assert process.python("answer = list(host.reload().changed)") == ["talk"]
    process.python("begin('new'); turns['new'].join(60)")
    assert process.python(RESULTS.format("new")) == ["two"]
    environment.pip("uninstall", "-y", "refold-talk")
    assert process.python("answer = list(host.reload().removed)") == ["talk"]
    assert process.python("answer = [each.id for each in host.extensions().extensions]") == []
    process.python("goes_on.set(); turns['old'].join(60); turns.clear()")
    assert process.python(RESULTS.format("old")) == ["waited", "one"]
    offered = [{tool["function"]["name"] for tool in body["tools"]} for body in model.asked]
    assert all({"say", "wait"} <= names for names in offered)
    assert process.alive("t_talk") == 0


def test_a_late_import_in_an_old_turn_finds_the_new_files_and_costs_one_result(
    environment, child, model: Model, tmp_path: Path
) -> None:
    environment.pip("install", wheel(tmp_path / "1", "talk", talking("one", late="from t_talk import ONE"), "1"))
    process = child()
    model.plays(calls("wait"), calls("say"), Say("I see."))
    process.python("begin('old'); waits.wait(60)")
    environment.pip("install", wheel(tmp_path / "2", "talk", talking("two"), "2"))
    process.python("host.reload(); goes_on.set(); turns['old'].join(60)")
    waited, said = process.python(RESULTS.format("old"))
    assert waited == "waited"
    assert said.startswith("say failed: cannot import name 'ONE' from 't_talk'")
    assert process.python("answer = host.session('old').rows()[-1].text") == "I see."


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ("ALTER TABLE talk_words ADD COLUMN line TEXT; UPDATE talk_words SET word='two'", "two"),
        (
            "DROP TABLE talk_words; CREATE TABLE talk_lines(line TEXT)",
            "say failed: no such table: talk_words",
        ),
    ],
    ids=["added to", "dropped"],
)
def test_an_old_turn_meets_the_tables_of_the_new_release(
    environment, child, model: Model, tmp_path: Path, then: str, said: str
) -> None:
    first = "CREATE TABLE talk_words(word TEXT); INSERT INTO talk_words VALUES('one')"
    environment.pip("install", wheel(tmp_path / "1", "talk", talking("one", migrations=(first,)), "1"))
    process = child()
    model.plays(calls("wait"), calls("say"), Say("I see."))
    process.python("begin('old'); waits.wait(60)")
    environment.pip("install", wheel(tmp_path / "2", "talk", talking("two", migrations=(first, then)), "2"))
    process.python("host.reload(); goes_on.set(); turns['old'].join(60)")
    results = process.python(RESULTS.format("old"))
    assert results[0] == "waited"
    assert results[1].startswith(said)
    assert process.python("answer = host.session('old').rows()[-1].text") == "I see."
