"""A turn from the prompt to the answer, over real HTTP."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from refold import Call, Host, Refused, Session
from refold.agent import events
from refold.agent.tools import HostTool
from refold.agent.turn import HALTED, STOPPED
from refold.providers.failures import ProviderError
from refold.sizing.estimate import tokens

from .wires import Refuse, Say

PROTOCOLS = ["openai-chat", "openai-responses", "anthropic", "gemini"]
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}


def reader(text: str = "def main(): ...", **more: Any) -> HostTool:
    return HostTool("read", "Reads a file.", SCHEMA, lambda arguments: f"{arguments.get('path')}: {text}", **more)


def kinds(session: Session) -> list[str]:
    return [row.kind for row in session.rows()]


def test_an_answer_streams_and_is_one_row(session: Session, model: Any, heard: list[Any]) -> None:
    model.plays(Say("Hello, how are you?", usage=(12, 5)))
    finished = session.send("Hi", on_event=heard.append)
    assert (finished.stop, finished.text) == ("end", "Hello, how are you?")
    pieces = [event.text for event in heard if isinstance(event, events.AnswerText)]
    assert len(pieces) == 3
    assert "".join(pieces) == finished.text
    assert [(row.kind, row.text, row.opens) for row in session.rows()] == [
        ("user", "Hi", True),
        ("assistant", "Hello, how are you?", False),
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_turn_with_parallel_calls_is_answered_on_every_protocol(
    host: Host, model: Any, configure: Any, heard: list[Any], protocol: str
) -> None:
    configure(protocol, window=32_000, maxOutput=1_000)
    session = host.new("s")
    session.system = "You read files."
    session.tools = (reader(),)
    two = (("call_a", "read", {"path": "a.py"}), ("call_b", "read", {"path": "b.py"}))
    model.plays(Say("Let me look.", two, usage=(40, 9)), Say("Both define main.", usage=(70, 6)))
    finished = session.send("What do they define?", on_event=heard.append)
    assert (finished.stop, finished.text) == ("end", "Both define main.")
    rows = session.rows()
    assert [row.kind for row in rows] == ["user", "assistant", "result", "result", "assistant"]
    assert [row.text for row in rows if row.kind == "result"] == ["a.py: def main(): ...", "b.py: def main(): ..."]
    assert [call.name for call in rows[1].calls] == ["read", "read"]
    assert "b.py: def main(): ..." in str(model.asked[1])
    assert [each.model for each in session.requests()] == ["local/m", "local/m"]
    assert [each.tokens for each in session.requests()] == [40, 70]
    usage = [event for event in heard if isinstance(event, events.UsageChanged)]
    assert [(event.used, event.size, event.source) for event in usage] == [
        (49, 32_000, "reported_usage"),
        (76, 32_000, "reported_usage"),
    ]


def test_events_come_in_the_order_of_what_happens(session: Session, model: Any, heard: list[Any]) -> None:
    session.tools = (reader(),)
    model.plays(Say("", (("c", "read", {"path": "a"}),)), Say("Done.", pieces=1))
    session.send("Read a", on_event=heard.append)
    assert [event.name for event in heard] == [
        "rows_appended",
        "rows_appended",
        "usage",
        "call_started",
        "call_finished",
        "rows_appended",
        "answer_text",
        "rows_appended",
        "usage",
        "turn_finished",
    ]
    appended = [ref.seq for event in heard if isinstance(event, events.RowsAppended) for ref in event.refs]
    assert appended == [1, 2, 3, 4]


def test_a_server_that_does_not_stream_is_heard_too(session: Session, model: Any, heard: list[Any]) -> None:
    model.plays(Refuse(200, {"choices": [{"message": {"content": "All at once."}, "finish_reason": "stop"}]}))
    assert session.send("Hi", on_event=heard.append).text == "All at once."
    assert [event.text for event in heard if isinstance(event, events.AnswerText)] == ["All at once."]


def test_a_follow_up_joins_the_turn_before_its_next_request(session: Session, model: Any) -> None:
    def call(arguments: Any) -> str:
        assert session.follow_up("And the tests?")
        return "read"

    session.tools = (HostTool("read", "Reads.", SCHEMA, call),)
    model.plays(Say("", (("c", "read", {}),)), Say("Both are fine."))
    session.send("Look at it")
    rows = session.rows()
    assert [row.kind for row in rows] == ["user", "assistant", "result", "user", "assistant"]
    assert [row.opens for row in rows if row.kind == "user"] == [True, False]
    assert {row.turn for row in rows} == {1}
    assert model.texts()[-1] == ("user", "And the tests?")


def test_a_follow_up_that_comes_with_the_answer_is_answered_in_the_same_turn(session: Session, model: Any) -> None:
    def hear(event: Any) -> None:
        if isinstance(event, events.AnswerText) and event.text == "First.":
            assert session.follow_up("More?")

    model.plays(Say("First.", pieces=1), Say("Second."))
    assert session.send("Go", on_event=hear).text == "Second."
    assert kinds(session) == ["user", "assistant", "user", "assistant"]


def test_words_that_come_when_no_turn_runs_are_not_swallowed(session: Session, model: Any) -> None:
    assert not session.follow_up("too early")
    model.plays(Say("Hi."))
    session.send("Hello")
    assert not session.follow_up("too late")
    assert kinds(session) == ["user", "assistant"]


def test_a_follow_up_of_a_turn_that_fails_is_kept(session: Session, model: Any) -> None:
    def call(arguments: Any) -> str:
        session.follow_up("and mind the tests")
        return "read"

    session.tools = (HostTool("read", "Reads.", SCHEMA, call),)
    model.plays(Say("", (("c", "read", {}),)), Refuse(401, {"error": {"message": "bad key"}}))
    with pytest.raises(ProviderError, match="refused the key"):
        session.send("Look at it")
    assert [row.text for row in session.rows()][-1] == "and mind the tests"


def test_steps_can_be_bounded(session: Session, model: Any) -> None:
    session.tools = (reader(),)
    model.plays(Say("", (("c", "read", {"path": "a"}),)))
    assert session.send("Loop", max_steps=3).stop == "steps"
    assert kinds(session) == ["user", *["assistant", "result"] * 3]


def test_results_are_capped_when_they_are_produced_and_say_so(session: Session, model: Any) -> None:
    session.tools = (
        HostTool("long", "Many lines.", SCHEMA, lambda arguments: "x\n" * 9_999, max_lines=50),
        HostTool("wide", "Many bytes.", SCHEMA, lambda arguments: "y" * 99_999, max_bytes=1_000),
    )
    model.plays(Say("", (("a", "long", {}), ("b", "wide", {}))), Say("Long and wide."))
    session.send("Both")
    long, wide = (row.text for row in session.rows() if row.kind == "result")
    assert "[… 9,950 lines of 10,000 left out …]" in long
    assert "[… 98,999 bytes of 99,999 left out …]" in wide


def test_results_of_one_step_take_their_share_of_a_small_window(session: Session, model: Any, configure: Any) -> None:
    configure(window=8_000, maxOutput=500)
    session.tools = (HostTool("wide", "Much.", SCHEMA, lambda arguments: "some words here " * 9_000),)
    model.plays(Say("", tuple((str(n), "wide", {}) for n in range(4))), Say("Read."), Say("", (("5", "wide", {}),)))
    session.send("All four")
    results = [row.text for row in session.rows() if row.kind == "result"]
    assert all("bytes of 144,000 left out" in text for text in results)
    assert 2_000 < sum(tokens(text) for text in results) < 8_000 * 42 // 100
    assert [each.outcome for each in session.requests()] == ["ok", "ok"]


def test_an_empty_prompt_is_refused_and_nothing_is_kept(session: Session) -> None:
    with pytest.raises(Refused, match="the prompt is empty; nothing was sent"):
        session.send(" \n")
    assert session.rows() == []


def test_an_approval_that_fails_is_an_error_result(session: Session, model: Any) -> None:
    def approve(call: Call) -> bool:
        raise OSError("nobody is there")

    session.tools = (HostTool("write", "Writes.", SCHEMA, lambda arguments: "written", approval=True),)
    session.approve = approve
    model.plays(Say("", (("1", "write", {}),)), Say("I see."))
    assert session.send("Write").text == "I see."
    result = session.rows()[2]
    assert (result.ok, "nobody is there" in result.text) == (False, True)
    assert result.text.startswith("[not executed: ")


FAULTS = [
    ("unknown", {"path": "a"}, "no tool is named 'unknown'; the tools are: compact_context, fails, guarded, leaves"),
    ("read", '{"path": ', 'the arguments are no JSON object: {"path":'),
    ("read", "[1]", "the arguments are no JSON object: [1]"),
    ("fails", {}, "fails failed: no such file"),
    ("leaves", {}, "leaves failed: SystemExit: 3"),
    ("guarded", {}, "[not executed: this call needs approval, and it was not given]"),
]


@pytest.mark.parametrize(("name", "arguments", "says"), FAULTS, ids=[f"{name} {args}" for name, args, _ in FAULTS])
def test_a_call_that_goes_wrong_is_an_error_result_and_the_turn_goes_on(
    session: Session, model: Any, name: str, arguments: Any, says: str
) -> None:
    def fail(given: Any) -> str:
        raise OSError("no such file")

    ran: list[str] = []
    session.tools = (
        reader(),
        HostTool("fails", "Fails.", SCHEMA, fail),
        HostTool("leaves", "Leaves.", SCHEMA, lambda given: sys.exit(3)),
        HostTool("guarded", "Asks first.", SCHEMA, lambda given: ran.append("ran") or "done", approval=True),
    )
    model.plays(Say("", (("c", name, arguments),)), Say("I see."))
    assert session.send("Try").text == "I see."
    result = session.rows()[2]
    assert (result.ok, ran) == (False, [])
    assert result.text.startswith(says)


def test_a_call_waits_for_the_host_apps_approval(session: Session, model: Any) -> None:
    asked: list[Call] = []
    session.tools = (HostTool("write", "Writes.", SCHEMA, lambda arguments: "written", approval=True),)
    session.approve = lambda call: not asked.append(call) and call.arguments["path"] == "a"
    model.plays(Say("", (("1", "write", {"path": "a"}), ("2", "write", {"path": "b"}))), Say("One of two."))
    session.send("Write both")
    assert [call.arguments["path"] for call in asked] == ["a", "b"]
    assert [(row.text, row.ok) for row in session.rows() if row.kind == "result"] == [
        ("written", True),
        ("[not executed: this call needs approval, and it was not given]", False),
    ]


def test_a_read_only_turn_offers_and_runs_read_only_tools_alone(session: Session, model: Any) -> None:
    session.tools = (reader(read_only=True), HostTool("write", "Writes.", SCHEMA, lambda arguments: "written"))
    model.plays(Say("", (("1", "write", {"path": "a"}), ("2", "read", {"path": "a"}))), Say("Read."))
    session.send("Look only", read_only=True)
    offered = {tool["function"]["name"] for tool in model.asked[0]["tools"]}
    assert "read" in offered
    assert not {"write", "compact_context"} & offered
    refused, read = (row for row in session.rows() if row.kind == "result")
    assert refused.text.startswith("no tool is named 'write'; the tools are: ")
    assert read.ok


def test_what_stops_the_program_inside_a_tool_keeps_the_results_that_are_there(session: Session, model: Any) -> None:
    def interrupt(arguments: Any) -> str:
        raise KeyboardInterrupt

    session.tools = (reader(), HostTool("interrupt", "Ctrl-C.", SCHEMA, interrupt))
    model.plays(Say("", (("1", "read", {"path": "a"}), ("2", "interrupt", {}), ("3", "read", {"path": "b"}))))
    with pytest.raises(KeyboardInterrupt):
        session.send("Go")
    assert [row.text for row in session.rows()][2:] == ["a: def main(): ...", HALTED, STOPPED]


def test_a_turn_goes_on_after_a_provider_that_failed(session: Session, model: Any) -> None:
    model.plays(Refuse(401, {"error": {"message": "bad key"}}), Say("Here I am."))
    with pytest.raises(ProviderError):
        session.send("Hello?")
    assert session.resume().text == "Here I am."
    assert kinds(session) == ["user", "assistant"]


def test_a_model_switch_holds_from_the_next_request_on(session: Session, model: Any, configure: Any) -> None:
    configure(window=32_000, models={"local/other": {"window": 16_000}})
    model.plays(Say("Hi.", usage=(500, 1)))
    session.send("Hello")
    assert session.use_model("other") == "local/other"
    session.send("And you?")
    assert [body["model"] for body in model.asked] == ["m", "other"]
    assert session.context()["context_window_tokens"] == 16_000
