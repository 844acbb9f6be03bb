"""A turn ends when it is asked to, whatever its tools do; what comes of them later is told, and progress is heard."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field
from refold import Call, CallContext, Host, HostTool, Session, ToolResult, events
from refold.agent.calls import HALTED, LATE_BYTES, LATE_LINES, LEFT, STOPPED
from refold.cli.screen import Screen

from .wires import Say

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
WORK = Say("", (("c1", "work", {}),))


@define
class Stuck:
    """A function that hangs, whatever it is told, until the test lets it go."""

    value: Any = "done at last"
    begun: threading.Event = field(factory=threading.Event)
    free: threading.Event = field(factory=threading.Event)
    over: threading.Event = field(factory=threading.Event)

    def __call__(self, *given: Any) -> Any:
        self.begun.set()
        assert self.free.wait(60)
        self.over.set()
        return self.value


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    made = Stuck()
    yield made
    made.free.set()


def cancelled_when(session: Session, begun: threading.Event) -> threading.Thread:
    """Cancels the turn once something has begun."""
    thread = threading.Thread(target=lambda: begun.wait(60) and session.cancel())
    thread.start()
    return thread


def told_late(session: Session, count: int = 1) -> list[str]:
    """The texts of the notices that come when calls end that were left running."""
    for _ in range(600):
        texts = [row.text for row in session.rows() if row.event == "notice"]
        if len(texts) >= count:
            return texts
        threading.Event().wait(0.05)
    raise AssertionError("nothing was told")


def test_a_turn_ends_while_its_tool_hangs_and_the_late_result_is_told(
    session: Session, model: Any, stuck: Stuck
) -> None:
    session.tools = (HostTool("work", "Works.", SCHEMA, stuck),)
    model.plays(Say("", (("c1", "work", {}), ("c2", "work", {}))), Say("What happened?"))
    cancelled_when(session, stuck.begun)
    assert session.send("Work").stop == "cancelled"
    assert [(row.text, row.ok) for row in session.rows()[2:]] == [(LEFT, False), (STOPPED, False)]

    assert session.send("And now?").text == "What happened?"  # the next turn waits for nothing
    assert json.dumps(model.asked[-1]).count(LEFT) == 1
    stuck.free.set()
    assert told_late(session) == [
        "work (call c1) was left running when its turn was stopped; it has ended:\ndone at last"
    ]
    model.plays(Say("I see."))
    session.send("Well?")
    assert "done at last" not in json.dumps(model.asked[-1])  # an event row is never sent


def test_a_late_result_is_told_in_few_words_also_when_it_failed(session: Session, model: Any, stuck: Stuck) -> None:
    stuck.value = "a line\n" * 50_000
    session.tools = (HostTool("work", "Works.", SCHEMA, stuck, max_lines=99_999, max_bytes=999_999),)
    model.plays(WORK)
    cancelled_when(session, stuck.begun)
    session.send("Work")
    stuck.free.set()
    (told,) = told_late(session)
    assert told.count("\n") <= LATE_LINES + 2
    assert len(told) < LATE_BYTES + 200

    failing = Stuck(ToolResult("no such thing", ok=False))
    session.tools = (HostTool("work", "Works.", SCHEMA, failing),)
    cancelled_when(session, failing.begun)
    session.send("Work")
    failing.free.set()
    assert told_late(session, 2)[1].endswith("it has ended:\nno such thing")


def test_a_late_result_of_a_session_that_is_gone_is_not_told_in_one_that_bears_its_name(
    host: Host, session: Session, model: Any, stuck: Stuck
) -> None:
    session.tools = (HostTool("work", "Works.", SCHEMA, stuck),)
    model.plays(WORK)
    cancelled_when(session, stuck.begun)
    session.send("Work")
    session.delete()
    again = host.new("s")
    stuck.free.set()
    for thread in threading.enumerate():
        if thread.name == "tools of s":
            thread.join(60)
    assert stuck.over.is_set()
    assert again.rows() == []


def test_a_tool_that_heeds_the_stop_ends_by_itself_and_its_result_counts(session: Session, model: Any) -> None:
    begun = threading.Event()

    def work(context: CallContext, arguments: Any) -> str:
        begun.set()
        assert context.stop.wait(60)
        return f"stopped half way: {context.cancelled()}"

    session.tools = (HostTool("work", "Works.", SCHEMA, run=work),)
    model.plays(WORK)
    cancelled_when(session, begun)
    assert session.send("Work").stop == "cancelled"
    assert [(row.text, row.ok) for row in session.rows()[2:]] == [("stopped half way: True", True)]


def test_an_async_tool_is_cancelled_and_cleans_up(session: Session, model: Any) -> None:
    begun, cleaned = threading.Event(), threading.Event()

    async def work(arguments: Any) -> str:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.set()
        return "never"

    session.tools = (HostTool("work", "Works.", SCHEMA, work),)
    model.plays(WORK)
    cancelled_when(session, begun)
    assert session.send("Work").stop == "cancelled"
    assert cleaned.is_set()
    assert [(row.text, row.ok) for row in session.rows()[2:]] == [(HALTED, False)]


def test_an_async_tool_that_clings_on_is_left_behind_too(session: Session, model: Any, stuck: Stuck) -> None:
    async def work(arguments: Any) -> Any:
        try:
            stuck.begun.set()
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return stuck()  # blocks its loop
        return "never"

    session.tools = (HostTool("work", "Works.", SCHEMA, work),)
    model.plays(WORK)
    cancelled_when(session, stuck.begun)
    assert session.send("Work").stop == "cancelled"
    assert session.rows()[-1].text == LEFT
    stuck.free.set()
    assert told_late(session)[0].endswith("done at last")


def test_a_call_context_names_session_and_call(session: Session, model: Any) -> None:
    def work(context: CallContext, arguments: Any) -> str:
        return f"{context.session} {context.call_id} {context.cancelled()} {dict(arguments)}"

    session.tools = (HostTool("work", "Works.", SCHEMA, run=work),)
    model.plays(Say("", (("c1", "work", {"a": 1}),)), Say("Done."))
    session.send("Work")
    assert session.rows()[2].text == "s c1 False {'a': 1}"


def test_a_stop_ends_what_the_tool_has_begun_with_it(host: Host, session: Session, model: Any) -> None:
    """A sub-agent is a tool that sends to another session."""
    helper = host.new("helper")

    def hear(event: Any) -> None:
        if isinstance(event, events.AnswerText):
            session.cancel()

    def work(context: CallContext, arguments: Any) -> str:
        return helper.send("Help", stop=context.stop, on_event=hear).stop

    session.tools = (HostTool("work", "Asks.", SCHEMA, run=work),)
    model.plays(WORK, Say("I am thinking", end="hang"))
    assert session.send("Work").stop == "cancelled"
    assert session.rows()[-1].text == "cancelled"


# Approvals


def test_an_approval_that_never_comes_ends_with_the_turn_and_one_that_comes_late_approves_nothing(
    session: Session, model: Any, stuck: Stuck
) -> None:
    ran: list[Any] = []
    stuck.value = True
    session.tools = (HostTool("work", "Works.", SCHEMA, ran.append, approval=True),)
    session.approve = stuck
    model.plays(WORK)
    cancelled_when(session, stuck.begun)
    assert session.send("Work").stop == "cancelled"
    assert session.rows()[-1].text == STOPPED
    stuck.free.set()
    assert stuck.over.wait(60)
    session.approve = None
    model.plays(Say("Fine."))
    session.send("And now?")
    assert ran == []
    assert [row.event for row in session.rows() if row.event] == []


def test_an_approval_that_comes_with_the_stop_runs_nothing(session: Session, model: Any) -> None:
    def approve(call: Call) -> bool:
        session.cancel()
        return True

    ran: list[Any] = []
    session.tools = (HostTool("work", "Works.", SCHEMA, ran.append, approval=True),)
    session.approve = approve
    model.plays(WORK)
    assert session.send("Work").stop == "cancelled"
    assert (session.rows()[-1].text, ran) == (STOPPED, [])


# Progress


def progress(heard: list[Any]) -> list[tuple[float, float | None, str]]:
    return [(event.done, event.total, event.text) for event in heard if isinstance(event, events.CallProgress)]


def test_progress_is_heard_in_the_turns_own_thread_before_the_call_ends(session: Session, model: Any) -> None:
    threads: list[tuple[str, int]] = []
    told = threading.Event()

    def work(context: CallContext, arguments: Any) -> str:
        context.progress(1, 3, "compiling")
        assert told.wait(60)
        context.progress(2.5)
        return "built"

    def hear(event: Any) -> None:
        heard.append(event)
        threads.append((event.name, threading.get_ident()))
        if isinstance(event, events.CallProgress):
            told.set()

    heard: list[Any] = []
    session.tools = (HostTool("work", "Works.", SCHEMA, run=work),)
    model.plays(WORK, Say("Done."))
    session.send("Work", on_event=hear)
    assert progress(heard) == [(1, 3, "compiling"), (2.5, None, "")]
    assert {thread for _, thread in threads} == {threading.get_ident()}
    names = [name for name, _ in threads]
    assert names.index("call_started") < names.index("call_progress") < names.index("call_finished")


def test_progress_that_comes_faster_than_it_is_heard_is_told_by_its_newest(session: Session, model: Any) -> None:
    slow, many = threading.Event(), 10_000

    def work(context: CallContext, arguments: Any) -> str:
        for n in range(many + 1):
            context.progress(n, many)
        slow.set()
        return "built"

    def hear(event: Any) -> None:
        heard.append(event)
        if isinstance(event, events.CallProgress):
            assert slow.wait(60)

    heard: list[Any] = []
    session.tools = (HostTool("work", "Works.", SCHEMA, run=work),)
    model.plays(WORK, Say("Done."))
    session.send("Work", on_event=hear)
    told = progress(heard)
    assert len(told) <= 2
    assert told[-1] == (many, many, "")


def test_progress_that_is_none_is_an_error_result(session: Session, model: Any) -> None:
    session.tools = (HostTool("work", "Works.", SCHEMA, run=lambda context, given: context.progress("half")),)
    model.plays(WORK, Say("I see."))
    session.send("Work")
    assert session.rows()[2].text == "work failed: progress takes numbers, not 'half'"


def test_a_console_shows_progress_that_cannot_act_on_the_terminal() -> None:
    screen = Screen()
    call = Call("c1", "build", {})
    shown = []
    for event in (
        events.CallProgress(call, 1, 3, "compiling\x1b[31m"),
        events.CallProgress(call, 2_000, None, ""),
        events.CallProgress(call, 0.5, 1, ""),
    ):
        assert screen.hear(event) == []
        shown.append(screen.status)
    assert shown == ["build: 1 of 3, compiling\\x1b[31m", "build: 2,000", "build: 0.5 of 1"]


# Tools of extensions

EXTENSION = """
import asyncio, threading
free = threading.Event()

def sync(context, arguments):
    context.progress(len(list(context.history.rows())), None, context.call_id)
    return {"session": context.session, "asked": context.cancelled()}

async def later(context, arguments):
    await asyncio.sleep(0)
    return [row.text for row in context.history.rows()]

def stuck(context, arguments):
    context.progress(0)
    free.wait(60)
    return "done at last"

SCHEMA = {"type": "object", "properties": {}}
@hookimpl
def tools(): return [Tool(each.__name__, "Does.", SCHEMA, each) for each in (sync, later, stuck)]
"""


def test_tools_of_extensions_have_a_call_context_and_may_be_async(
    session: Session, model: Any, install: Any, heard: list[Any]
) -> None:
    install("able", EXTENSION)
    session.host.reload()
    model.plays(Say("", (("c1", "sync", {}), ("c2", "later", {}))), Say("Done."))
    session.send("Work", on_event=heard.append)
    assert progress(heard) == [(2, None, "c1")]
    results = [row.text for row in session.rows() if row.kind == "result"]
    assert results == ['{"session":"s","asked":false}', '["Work",""]']


def test_a_turn_ends_while_the_tool_of_an_extension_hangs(session: Session, model: Any, install: Any) -> None:
    install("able", EXTENSION)
    session.host.reload()

    def hear(event: Any) -> None:
        if isinstance(event, events.CallProgress):
            session.cancel()

    model.plays(Say("", (("c1", "stuck", {}),)), Say("I see."))
    assert session.send("Work", on_event=hear).stop == "cancelled"
    assert session.rows()[-1].text == LEFT
    (extension,) = [each for each in session.host.composition().extensions if each.id == "able"]
    extension.tools[2].call.__globals__["free"].set()
    assert told_late(session)[0].endswith("it has ended:\ndone at last")


# The end of the program

PROGRAM = """
import signal, sys, threading, time
from refold import Host, HostTool

def work(context, arguments):
    print("in the tool", flush=True)
    while not context.cancelled():
        time.sleep(0.01)
    told.set()
    time.sleep(600)

told = threading.Event()

with Host(sys.argv[1]) as host:
    session = host.session("s")
    session.tools = (HostTool("work", "Works.", {"type": "object", "properties": {}}, run=work),)
    try:
        session.send("Work")
    except KeyboardInterrupt:
        print([row.text for row in session.rows()][-1], "told to stop:", told.wait(30), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there a signal ends the process at once")
def test_ctrl_c_ends_the_program_while_a_tool_hangs(session: Session, model: Any, home: Path) -> None:
    model.plays(WORK)
    words = [sys.executable, "-c", PROGRAM, str(home)]
    env = {**os.environ, "NO_PROXY": "127.0.0.1"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in the tool\n"
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert said == f"{HALTED} told to stop: True\n"
    assert process.returncode == 0
