"""Which thread and which loop run the functions of a host app: tools and approvals, plain and async."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Coroutine
from functools import partial
from typing import Any

import pytest
from refold import Call, HostTool, Refused, Session, events

from .wires import Say

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
TWO = Say("", (("1", "work", {}), ("2", "work", {})))


class Places:
    """Notes where it is called."""

    def __init__(self) -> None:
        self.threads: list[int] = []
        self.loops: list[asyncio.AbstractEventLoop] = []

    def plain(self, arguments: Any) -> str:
        self.threads.append(threading.get_ident())
        return "plain"

    async def later(self, given: Any) -> Any:
        self.threads.append(threading.get_ident())
        self.loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return True if isinstance(given, Call) else "later"


@pytest.fixture
def places() -> Places:
    return Places()


def results(session: Session) -> list[tuple[str, bool]]:
    return [(row.text, row.ok) for row in session.rows() if row.kind == "result"]


def test_plain_tools_run_in_one_thread_of_the_turn_beside_it(session: Session, model: Any, places: Places) -> None:
    session.tools = (HostTool("work", "Works.", SCHEMA, places.plain),)
    model.plays(TWO, Say("Done."))
    session.send("Work")
    assert len(set(places.threads)) == 1
    assert threading.get_ident() not in places.threads


def test_async_tools_and_approvals_of_a_turn_share_a_private_loop_that_ends_with_it(
    session: Session, model: Any, places: Places
) -> None:
    session.tools = (HostTool("work", "Works.", SCHEMA, places.later, approval=True),)
    session.approve = places.later
    model.plays(TWO, Say("Done."))
    session.send("Work")
    assert results(session) == [("later", True)] * 2
    assert len(places.loops) == 4
    assert len(set(places.loops)) == 1
    assert places.loops[0].is_closed()


def turns_of_a_loop(session: Session) -> dict[str, Any]:
    """How a turn is begun from a running loop."""

    async def streamed() -> Any:
        return [event async for event in session.astream("Work")][-1]

    async def resumed() -> Any:
        session.user("Work")
        return await session.aresume()

    async def threaded() -> Any:
        here = asyncio.get_running_loop()
        return await asyncio.to_thread(partial(session.send, "Work", loop=here))

    return {
        "asend": lambda: session.asend("Work"),
        "astream": streamed,
        "aresume": resumed,
        "send in a thread": threaded,
    }


@pytest.mark.parametrize("way", ["asend", "astream", "aresume", "send in a thread"])
def test_a_turn_begun_from_a_loop_runs_async_functions_on_that_loop(
    session: Session, model: Any, places: Places, way: str
) -> None:
    async def main() -> tuple[asyncio.AbstractEventLoop, Any]:
        begin = turns_of_a_loop(session)[way]
        return asyncio.get_running_loop(), await begin()

    session.tools = (HostTool("work", "Works.", SCHEMA, places.later, approval=True),)
    session.approve = places.later
    model.plays(TWO, Say("Done."))
    loop, finished = asyncio.run(main())
    assert (finished.stop, finished.text) == ("end", "Done.")
    assert results(session) == [("later", True)] * 2
    assert set(places.loops) == {loop}
    assert set(places.threads) == {threading.get_ident()}


def test_an_async_tool_may_use_what_belongs_to_the_loop(session: Session, model: Any) -> None:
    """Such as a client's connection, or a queue that a task of the app fills."""

    async def main() -> str:
        words: asyncio.Queue[str] = asyncio.Queue()

        async def work(arguments: Any) -> str:
            return await words.get()

        session.tools = (HostTool("work", "Works.", SCHEMA, work),)
        turn = asyncio.create_task(session.asend("Work"))
        for word in ("one", "two"):
            await asyncio.sleep(0)
            words.put_nowait(word)
        return (await turn).text

    model.plays(TWO, Say("Done."))
    assert asyncio.run(main()) == "Done."
    assert results(session) == [("one", True), ("two", True)]


def test_a_send_inside_a_coroutine_runs_async_tools_privately_and_never_waits_for_itself(
    session: Session, model: Any, places: Places
) -> None:
    async def main() -> asyncio.AbstractEventLoop:
        session.send("Work")
        return asyncio.get_running_loop()

    session.tools = (HostTool("work", "Works.", SCHEMA, places.later),)
    model.plays(TWO, Say("Done."))
    loop = asyncio.run(main())
    assert results(session) == [("later", True)] * 2
    assert loop not in places.loops


def test_a_send_that_would_wait_for_its_own_loop_is_refused(session: Session) -> None:
    async def main() -> None:
        session.send("Work", loop=asyncio.get_running_loop())

    with pytest.raises(Refused, match="send would wait for its own event loop; nothing was sent; use `await"):
        asyncio.run(main())
    assert session.rows() == []


def test_a_loop_that_is_closed_costs_one_result(session: Session, model: Any, places: Places) -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    session.tools = (HostTool("work", "Works.", SCHEMA, places.later),)
    model.plays(TWO, Say("I see."))
    assert session.send("Work", loop=loop).text == "I see."
    assert results(session) == [("work failed: Event loop is closed", False)] * 2
    assert places.loops == []


def test_cancelling_the_task_cancels_the_async_tool_on_its_loop(session: Session, model: Any) -> None:
    said: list[str] = []

    async def main() -> None:
        begun = asyncio.Event()

        async def work(arguments: Any) -> str:
            begun.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                said.append("cleaned up")
                raise
            return "never"

        session.tools = (HostTool("work", "Works.", SCHEMA, work),)
        turn = asyncio.create_task(session.asend("Work"))
        await begun.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn

    model.plays(TWO)
    asyncio.run(main())
    assert said == ["cleaned up"]
    assert [row.kind for row in session.rows()] == ["user", "assistant", "result", "result"]


def test_many_turns_of_one_loop_run_their_tools_side_by_side(session: Session, model: Any) -> None:
    """Each waits for the other: one after the other they would never end."""

    async def main() -> list[str]:
        barrier = asyncio.Barrier(2)

        async def work(arguments: Any) -> str:
            await barrier.wait()
            return "met"

        others = [session.host.new(name) for name in ("a", "b")]
        for each in others:
            each.tools = (HostTool("work", "Works.", SCHEMA, work),)
        return [turn.text for turn in await asyncio.gather(*(each.asend("Work") for each in others))]

    def answer(body: Any) -> Say:
        return Say("Done.") if body["messages"][-1]["role"] == "tool" else Say("", (("1", "work", {}),))

    model.plays(answer)
    assert asyncio.run(main()) == ["Done.", "Done."]


def test_what_stops_a_program_stops_no_loop_of_the_host_app(session: Session, model: Any) -> None:
    async def leave(arguments: Any) -> str:
        raise SystemExit(3)

    async def main() -> str:
        return (await session.asend("Work")).text

    session.tools = (HostTool("work", "Leaves.", SCHEMA, leave),)
    model.plays(TWO, Say("I see."))
    assert asyncio.run(main()) == "I see."
    assert results(session) == [("work failed: SystemExit: 3", False)] * 2


def test_a_tool_that_cancels_itself_is_an_error_result(session: Session, model: Any) -> None:
    async def work(arguments: Any) -> str:
        raise asyncio.CancelledError

    session.tools = (HostTool("work", "Works.", SCHEMA, work),)
    model.plays(TWO, Say("I see."))
    assert session.send("Work").text == "I see."
    assert results(session) == [("work failed: it was cancelled", False)] * 2


WORD: contextvars.ContextVar[str] = contextvars.ContextVar("WORD", default="unset")


def test_context_variables_of_whoever_sends_reach_tools_and_approvals(session: Session, model: Any) -> None:
    def approve(call: Call) -> bool:
        return WORD.get() == "set"

    async def later(arguments: Any) -> str:
        return f"later {WORD.get()}"

    async def main() -> None:
        WORD.set("set")
        await session.asend("Work")

    session.tools = (
        HostTool("plain", "Says.", SCHEMA, lambda given: f"plain {WORD.get()}", approval=True),
        HostTool("later", "Says.", SCHEMA, later),
    )
    session.approve = approve
    model.plays(Say("", (("1", "plain", {}), ("2", "later", {}))), Say("Done."))
    asyncio.run(main())
    assert results(session) == [("plain set", True), ("later set", True)]


def test_an_awaitable_that_is_no_coroutine_is_awaited_too(session: Session, model: Any) -> None:
    class Promise:
        def __init__(self, value: str) -> None:
            self.value = value

        def __await__(self) -> Any:
            yield from asyncio.sleep(0).__await__()
            return self.value

    session.tools = (HostTool("work", "Works.", SCHEMA, lambda given: Promise("kept")),)
    model.plays(TWO, Say("Done."))
    session.send("Work")
    assert results(session) == [("kept", True)] * 2


def test_a_stream_is_asked_for_its_events_and_takes_a_stop(session: Session, model: Any) -> None:
    stop = threading.Event()
    model.plays(Say("I was about", end="hang", pieces=1), Say("Again.", end="hang", pieces=1))
    for event in session.stream("Hello", stop=stop):
        if isinstance(event, events.AnswerText):
            stop.set()
    assert isinstance(event, events.TurnFinished)
    assert event.stop == "cancelled"

    async def main() -> Any:
        halt = threading.Event()
        async for event in session.astream("Hello", stop=halt):
            if isinstance(event, events.AnswerText):
                halt.set()
        return event

    assert asyncio.run(main()).stop == "cancelled"
    with pytest.raises(Refused, match="stream and astream give the events themselves; nothing was sent"):
        next(session.stream("Hello", on_event=print))

    async def heard_twice() -> None:
        async for _ in session.astream("Hello", on_event=print):
            pass

    with pytest.raises(Refused, match="stream and astream give the events themselves; nothing was sent"):
        asyncio.run(heard_twice())


def test_a_coroutine_that_nobody_would_await_is_closed(session: Session, model: Any) -> None:
    """Else Python warns of it, at any later time: a warning fails this suite."""

    async def work(arguments: Any) -> str:
        return "never"

    made: list[Coroutine[Any, Any, str]] = []

    def begin(arguments: Any) -> Any:
        made.append(work(arguments))
        return made[-1]

    loop = asyncio.new_event_loop()
    loop.close()
    session.tools = (HostTool("work", "Works.", SCHEMA, begin),)
    model.plays(TWO, Say("I see."))
    session.send("Work", loop=loop)
    assert [coroutine.cr_frame for coroutine in made] == [None, None]
