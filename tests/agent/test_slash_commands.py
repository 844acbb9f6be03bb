"""Slash commands as people type them, run on a real session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from refold import Host, NotFound, RefoldError, Refused, Session
from refold.agent.arguments import parse_arguments
from refold.agent.commands import HOST, commands_of, run_command, split_command

from .wires import Refuse, Say

PROSE = "They went through part0, part1, part2, part3 and so on, one by one, and noted what each returns. "

SPLITS = {
    "/compact": ("compact", ""),
    "  /compact  ": ("compact", ""),
    "/compact keep  the\n\nids": ("compact", "keep  the\n\nids"),
    "/compact\tkeep": ("compact", "keep"),
    "/compacted": ("compacted", ""),
    "/lcm tree --depth 2": ("lcm", "tree --depth 2"),
    "hello /compact": None,
    "/etc/hosts is empty": None,
    "/": None,
    "/ compact": None,
    "//compact": None,
    "": None,
}


@pytest.mark.parametrize("text", SPLITS)
def test_a_command_is_a_slash_and_one_word_at_the_very_front(text: str) -> None:
    assert split_command(text) == SPLITS[text]


def events_of(session: Session) -> list[tuple[str, str]]:
    return [(row.event, row.text) for row in session.rows() if row.kind == "event"]


@pytest.fixture
def long(session: Session, configure: Any, talk: Any) -> Session:
    configure(window=8_000, maxOutput=500, models={"local/sum": {"window": 4_000}})
    talk(session, 20)
    return session


# /compact


def test_compact_folds_and_stands_with_its_reply_as_one_event_row(long: Session, model: Any, heard: list[Any]) -> None:
    model.summaries[:] = [Say(PROSE * 4)]
    reply = run_command(long, "/compact -m SUM keep the  figures", heard.append).text
    assert reply.startswith("Context compacted: ")
    assert "Summarizer: local/sum." in reply
    assert "so it was folded in" in reply
    assert "\n" not in reply
    assert events_of(long) == [("command", f"/compact -m SUM keep the  figures\n{reply}")]
    assert "keep the  figures" in model.summarized[0]["messages"][0]["content"]
    assert [event.name for event in heard][:2] == ["compaction_started", "compaction_pass"]
    model.plays(Say("Hi."))
    long.send("Hello")
    assert "/compact" not in str(model.asked[0])  # event rows are never sent


def test_compact_with_nothing_to_fold_says_so(session: Session, model: Any) -> None:
    reply = run_command(session, "/compact").text
    assert reply.startswith("Nothing was compacted: ")
    assert events_of(session) == [("command", f"/compact\n{reply}")]


MISTAKES = {
    "/compact --fast --model": "Unknown option: --fast. --model needs a model id. Usage: /compact",
    "/compact -m nope": "unknown model 'nope' (configured: local/m, local/sum)",
    "/compact -r ultra": "reasoning 'ultra' is not offered",
    "/compact -s nope": "nope is no installed strategy (installed: ",
    "/fork x": "usage: /fork [SEQ]",
    "/tree x": "usage: /tree",
    "/context tail x": "usage: /context [SECTION [PAGE]]",
    "/extensions enable": "usage: /extensions [enable|disable|inherit NAME]",
    "/extensions enable ghost": "no extension ghost is installed",
    "/model nope": "unknown model 'nope'",
    "/reload now": "usage: /reload",
    "/nope": "there is no command /nope; nothing was done; commands: /compact, /context",
    "no command": "'no command' is no command",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_one_line_and_changes_nothing(long: Session, model: Any, text: str) -> None:
    with pytest.raises(RefoldError) as caught:
        run_command(long, text)
    assert MISTAKES[text] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert events_of(long) == []
    assert model.summarized == []


def test_a_compaction_that_fails_is_an_error_and_stands_nowhere(long: Session, model: Any) -> None:
    model.summaries[:] = [Refuse(401, {"error": {"message": "no"}})]
    with pytest.raises(RefoldError, match="provider local refused the key"):
        run_command(long, "/compact")
    assert (events_of(long), long.record.compactions) == ([], 0)


def test_with_compaction_off_the_command_is_refused_and_not_offered(long: Session, model: Any, home: Path) -> None:
    (home / "extensions.json").write_text('{"compaction": {"enable": false}}')
    long.host.reload()
    with pytest.raises(Refused, match="Compaction is disabled"):
        run_command(long, "/compact")
    assert "compact" not in commands_of(long)


STRATEGY = """
class Last:
    def project(self, context):
        rows = context.history.range
        tail = (Section("tail", "all of it", "tail", (Rows(rows),)),) if len(rows) else ()
        return Projection(tail, None, Observation("whole", "everything"))
    def compact(self, work, demand): return Nothing("it never folds")
@hookimpl
def compaction_strategy(): return Last()
@hookimpl
def commands():
    schema = {"type": "object", "properties": {"times": {"type": "integer"}, "session": {"type": "string"}}}
    def say(work, given): return {"said": "hi " * given.get("times", 1), "of": given["session"], "list": [{"a": 1}]}
    return [Command("last say", "Says it.", schema, say)]
"""


@pytest.fixture
def with_last(home: Path, model: Any, configure: Any, install: Any) -> Any:
    configure(window=8_000)
    install("last", STRATEGY, default=False)
    with Host(home) as host:
        yield host.new("s")


def test_a_strategy_named_first_becomes_the_sessions_own(with_last: Session) -> None:
    assert run_command(with_last, "/compact last").text == "Nothing was compacted: it never folds."
    assert with_last.host.extensions("s").strategy == "last"
    assert with_last.host.extensions().strategy != "last"


def test_commands_of_extensions_run_with_their_options(with_last: Session) -> None:
    with pytest.raises(NotFound, match="there is no command /last"):
        run_command(with_last, "/last say")
    run_command(with_last, "/extensions enable last")
    assert commands_of(with_last)["last say"] == "Says it."
    assert run_command(with_last, "/last say --times=2").text == "said: hi hi \nof: s\nlist:\n  a 1"


# The others


def test_context_shows_the_last_request_and_pages_of_its_sections(session: Session, model: Any) -> None:
    assert "No request was prepared" in run_command(session, "/context").text
    model.plays(Say("Hi.", usage=(700, 2)))
    session.send("Hello there")
    text = run_command(session, "/context").text
    assert "window      32,000 tokens (models.json)" in text
    assert "estimated here" in text
    assert "provider    counted 700 tokens" in text
    section = session.context()["sections"][0]["id"]
    assert "[user]\nHello there" in run_command(session, f"/context {section} 0").text
    with pytest.raises(NotFound, match="context section not found"):
        run_command(session, "/context nope")


def test_extensions_are_listed_and_switched_for_this_session(session: Session) -> None:
    assert "rolling 0.1.0: in force." in run_command(session, "/extensions").text
    reply = run_command(session, "/extensions enable rolling").text
    assert reply == "Strategy rolling is in force for this session."
    assert "in force, chosen for this session" in run_command(session, "/extensions").text


def test_a_fork_goes_on_with_the_same_tools(long: Session) -> None:
    long.system = "You are careful."
    reply = run_command(long, "/fork 8")
    assert reply.session is not None
    assert reply.session.id != long.id
    assert (reply.session.system, len(reply.session.rows())) == ("You are careful.", 8)
    assert events_of(long) == [("command", f"/fork 8\n{reply.text}")]
    tree = run_command(reply.session, "/tree").text.splitlines()
    assert tree[0] == "- s"
    assert tree[1].startswith(f"  * {reply.session.id} (forked at 8)")


def test_models_are_listed_and_chosen(long: Session, model: Any) -> None:
    assert run_command(long, "/model").text.splitlines() == [
        "* local/m  8,000 tokens (models.json)",
        "  local/sum  4,000 tokens (models.json)",
    ]
    assert run_command(long, "/model sum").text == "Model local/sum answers from the next request on."
    assert run_command(long, "/model").text.splitlines()[1].startswith("* local/sum")


def test_a_reload_says_what_it_found(session: Session) -> None:
    assert run_command(session, "/reload").text.startswith("Reloaded: nothing changed.")


def test_every_command_of_the_host_is_offered_for_completion(session: Session) -> None:
    assert list(commands_of(session))[: len(HOST)] == list(HOST)
    assert set(HOST) == {"compact", "context", "extensions", "fork", "model", "reload", "resume", "tree"}


SCHEMA = {
    "properties": {
        "depth": {"type": "integer"},
        "share_of": {"type": "number"},
        "all": {"type": "boolean"},
        "kind": {"enum": ["a", "b"]},
        "ids": {"type": "array", "items": {"type": "integer"}},
        "where": {"type": "object"},
    },
    "required": ["depth"],
}


def test_arguments_are_read_by_their_schema() -> None:
    text = """--depth 2 --share-of=0.5 --all --kind a --ids 1 --ids 2 --where '{"x": 1}'"""
    assert parse_arguments(SCHEMA, text) == {
        "depth": 2,
        "share_of": 0.5,
        "all": True,
        "kind": "a",
        "ids": [1, 2],
        "where": {"x": 1},
    }
    assert parse_arguments(SCHEMA, "--depth 2 --all=no")["all"] is False


def test_all_mistakes_in_arguments_are_named_at_once() -> None:
    with pytest.raises(Refused) as caught:
        parse_arguments(SCHEMA, "--depht 2 --kind c word --share-of")
    for words in ["unknown option --depht", "'c' is no", "'word' stands behind no option", "--share-of needs a value"]:
        assert words in str(caught.value)
    assert "--depth is missing" in str(caught.value)
    with pytest.raises(Refused, match="quotes stand in pairs"):
        parse_arguments(SCHEMA, "--depth '2")


@pytest.mark.parametrize("kind", ["async def", "def"])
def test_a_command_of_an_extension_that_answers_no_mapping_is_one_error(
    session: Session, install: Any, kind: str
) -> None:
    install(
        "odd",
        f"{kind} run(context, arguments): return 'a text'\n"
        "@hookimpl\ndef commands(): return [Command('odd do', 'Does.', {}, run)]\n",
    )
    session.host.reload()
    with pytest.raises(RefoldError, match=r"odd: the command odd do answered (coroutine|str), not a mapping"):
        run_command(session, "/odd do")
