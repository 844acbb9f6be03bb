"""A turn that is cancelled, broken off or killed loses nothing that was committed, and the next one goes on."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from refold import Host, Refused, Session
from refold.agent import events
from refold.agent.tools import HostTool
from refold.agent.turn import BROKEN, CUT, HALTED, INTERRUPTED, STOPPED
from refold.providers.failures import Interrupted

from .wires import Say

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


def cancel_at_first_text(session: Session) -> Any:
    def hear(event: Any) -> None:
        if isinstance(event, events.AnswerText):
            session.cancel()

    return hear


def test_a_turn_cancelled_in_mid_stream_keeps_what_was_seen_and_goes_on_later(session: Session, model: Any) -> None:
    model.plays(Say("I was about to say", end="hang"), Say("Again, then."))
    finished = session.send("Tell me", on_event=cancel_at_first_text(session))
    assert finished.stop == "cancelled"
    assert finished.text
    assert "I was about to say".startswith(finished.text)
    assert [row.text for row in session.rows()] == ["Tell me", f"{finished.text}\n{CUT}"]
    assert [each.outcome for each in session.requests()] == ["cancelled"]
    assert model.hung_up.wait(5)
    assert session.send("Go on").text == "Again, then."
    assert model.texts()[-2:] == [("assistant", f"{finished.text}\n{CUT}"), ("user", "Go on")]


def test_a_turn_cancelled_in_a_tool_answers_every_call(session: Session, model: Any) -> None:
    def stop(arguments: Any) -> str:
        session.cancel()
        return "the first one ran"

    session.tools = (HostTool("work", "Works.", SCHEMA, stop),)
    model.plays(Say("", (("1", "work", {}), ("2", "work", {}))))
    assert session.send("Work").stop == "cancelled"
    assert [row.text for row in session.rows()][2:] == ["the first one ran", STOPPED]
    assert len(model.asked) == 1


def test_a_cancel_stops_only_what_runs(session: Session, model: Any) -> None:
    session.cancel()
    model.plays(Say("Hi."))
    assert session.send("Hello").stop == "end"


def test_a_follow_up_of_a_cancelled_turn_is_kept(session: Session, model: Any) -> None:
    def hear(event: Any) -> None:
        if isinstance(event, events.AnswerText):
            session.follow_up("one more thing")
            session.cancel()

    model.plays(Say("Well", end="hang", pieces=1))
    session.send("Tell me", on_event=hear)
    assert [row.text for row in session.rows()] == ["Tell me", f"Well\n{CUT}", "one more thing"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, GeneratorExit])
def test_a_call_that_was_running_when_everything_stopped_may_have_had_effects(
    session: Session, model: Any, stop: type[BaseException]
) -> None:
    def work(arguments: Any) -> str:
        if arguments:
            raise stop
        return "done"

    session.tools = (HostTool("work", "Works.", SCHEMA, work),)
    model.plays(Say("", (("1", "work", {}), ("2", "work", {"now": True}), ("3", "work", {}))), Say("I see."))
    with pytest.raises(stop):
        session.send("Work")
    assert [row.text for row in session.rows()][2:] == ["done", HALTED, STOPPED]
    assert session.resume().text == "I see."


def test_a_stream_that_breaks_off_is_an_error_and_what_came_stays_with_a_mark(session: Session, model: Any) -> None:
    model.plays(Say("Half of it", end="cut"), Say("The whole of it."))
    with pytest.raises(Interrupted, match="the text that came of it is kept"):
        session.send("Tell me")
    assert [row.text for row in session.rows()] == ["Tell me", f"Half of it\n{BROKEN}"]
    assert len(model.asked) == 1
    assert session.resume().text == "The whole of it."
    assert [role for role, _ in model.texts()[-3:]] == ["user", "assistant", "user"]


def test_an_answer_of_nothing_is_told(session: Session, model: Any, heard: list[Any]) -> None:
    model.plays(Say(""))
    assert session.send("Hello", on_event=heard.append).stop == "end"
    assert [event.text for event in heard if isinstance(event, events.Noticed)] == ["the model answered nothing"]


def test_a_session_that_is_being_answered_is_busy_for_others(session: Session, model: Any, home: Path) -> None:
    from refold import Busy

    model.plays(Say("Slowly", end="hang"))
    turn = threading.Thread(target=session.send, args=("Tell me",), daemon=True)
    turn.start()
    assert model.begun.wait(10)
    with Host(home) as other, pytest.raises(Busy, match="is held by process"):
        other.session("s").send("Me too")
    session.cancel()
    turn.join(10)
    assert not turn.is_alive()


# Events as an iterator


def test_a_stream_of_events_ends_with_the_turn(session: Session, model: Any) -> None:
    model.plays(Say("Hi there."))
    heard = list(session.stream("Hello"))
    assert isinstance(heard[-1], events.TurnFinished)
    assert "".join(event.text for event in heard if isinstance(event, events.AnswerText)) == "Hi there."


def test_ending_the_iteration_cancels_the_turn(session: Session, model: Any) -> None:
    model.plays(Say("Hi there.", end="hang"))
    for event in session.stream("Hello"):
        if isinstance(event, events.AnswerText):
            break
    assert session.rows()[-1].text.endswith(CUT)


def test_an_error_of_the_turn_is_raised_behind_its_events(session: Session, model: Any) -> None:
    model.plays(Say("Half", end="cut"))
    heard = []
    with pytest.raises(Interrupted):
        heard.extend(session.stream("Hello"))
    assert session.rows()[-1].text == f"Half\n{BROKEN}"


def test_turns_run_under_asyncio_side_by_side(host: Host, session: Session, model: Any) -> None:
    async def both() -> list[str]:
        other = host.new("other")
        first, second = await asyncio.gather(session.asend("Hello"), other.asend("Hello"))
        return [first.text, second.text]

    model.plays(Say("Hi."))
    assert asyncio.run(both()) == ["Hi.", "Hi."]


def test_events_come_under_asyncio_in_order(session: Session, model: Any) -> None:
    async def names() -> list[str]:
        return [event.name async for event in session.astream("Hello")]

    model.plays(Say("Hi there.", pieces=1))
    assert asyncio.run(names()) == ["rows_appended", "answer_text", "rows_appended", "usage", "turn_finished"]


def test_cancelling_the_task_cancels_the_turn_and_waits_for_it(session: Session, model: Any) -> None:
    async def main() -> None:
        turn = asyncio.create_task(session.asend("Hello"))
        await asyncio.to_thread(model.begun.wait, 10)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn

    model.plays(Say("Hi there", end="hang"))
    asyncio.run(main())
    assert session.rows()[-1].text == f"Hi there\n{CUT}"


def test_a_task_cancelled_before_its_thread_began_sends_nothing_more(session: Session, model: Any) -> None:
    async def main() -> None:
        turn = asyncio.create_task(session.asend("Hello"))
        await asyncio.sleep(0)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn

    model.plays(Say("Hi there", end="hang"))
    asyncio.run(main())
    assert all(row.kind == "user" for row in session.rows())


def test_leaving_an_async_iteration_cancels_the_turn(session: Session, model: Any) -> None:
    async def main() -> None:
        turn = session.astream("Hello")
        async for event in turn:
            if isinstance(event, events.AnswerText):
                break
        await turn.aclose()

    model.plays(Say("Hi there", end="hang"))
    asyncio.run(main())
    assert session.rows()[-1].text.endswith(CUT)


# A process that is killed

PROGRAM = """
import sys, time
from refold import Host
from refold.agent.tools import HostTool

def slow(arguments):
    print("in the tool", flush=True)
    time.sleep(60)

with Host(sys.argv[1]) as host:
    session = host.session("s")
    session.tools = (HostTool("slow", "Sleeps.", {"type": "object", "properties": {}}, slow),)
    session.send("Do it", on_event=lambda event: print(event.name, flush=True))
"""


def killed_at(home: Path, line: str) -> None:
    words = [sys.executable, "-c", PROGRAM, str(home)]
    env = {**os.environ, "NO_PROXY": "127.0.0.1"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        for said in process.stdout:
            if said.strip() == line:
                break
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        assert process.returncode == -signal.SIGKILL


def test_a_process_killed_while_an_answer_streams_leaves_the_prompt(session: Session, model: Any, home: Path) -> None:
    model.plays(Say("I was about to", end="hang"), Say("Fresh."))
    killed_at(home, "answer_text")
    assert [row.text for row in session.rows()] == ["Do it"]
    assert [each.outcome for each in session.requests()] == ["sent"]
    assert session.send("Still there?").text == "Fresh."  # the dead holder's lease is taken over
    assert model.texts()[-1] == ("user", "Do it\n\nStill there?")


def test_a_process_killed_in_a_tool_leaves_an_open_call_that_the_next_turn_closes(
    session: Session, model: Any, home: Path
) -> None:
    model.plays(Say("On it.", (("c1", "slow", {}), ("c2", "slow", {})), usage=(30, 5)), Say("What happened?"))
    killed_at(home, "in the tool")
    assert [row.kind for row in session.rows()] == ["user", "assistant"]
    session.send("And?")
    rows = session.rows()
    assert [row.kind for row in rows] == ["user", "assistant", "result", "result", "user", "assistant"]
    assert [(row.text, row.ok) for row in rows[2:4]] == [(INTERRUPTED, False)] * 2
    assert rows[2].turn == rows[1].turn == 1
    assert json.dumps(model.asked[-1]).count(INTERRUPTED) == 2


def test_a_cancelled_summary_leaves_the_turn_cancelled_and_nothing_folded(
    session: Session, model: Any, configure: Any, talk: Any
) -> None:
    configure(window=8_000, maxOutput=500)
    talk(session, 20)

    def hear(event: Any) -> None:
        if isinstance(event, events.CompactionStarted):
            session.cancel()

    model.plays(Say("Hi."))
    before = time.monotonic()
    told: list[Any] = []
    assert session.send("And now?", on_event=lambda event: (told.append(event), hear(event))).stop == "cancelled"
    [over] = [event for event in told if isinstance(event, events.CompactionFinished)]
    assert over.stopped
    assert not [event for event in told if isinstance(event, events.Noticed)]
    assert session.requests() == []
    assert time.monotonic() - before < 10
    assert model.asked == []
    assert session.record.compactions == 0


def test_a_request_that_never_left_is_not_in_the_record(
    session: Session, home: Path, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = json.loads((home / "models.json").read_text())
    file["providers"]["local"]["keyEnv"] = "A_KEY_THAT_NOBODY_SET"
    (home / "models.json").write_text(json.dumps(file))
    monkeypatch.delenv("A_KEY_THAT_NOBODY_SET", raising=False)
    with pytest.raises(Refused, match="A_KEY_THAT_NOBODY_SET"):
        session.send("Hello")
    assert session.requests() == []
    assert model.asked == []
