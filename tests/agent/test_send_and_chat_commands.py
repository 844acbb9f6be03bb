"""`refold send` as a process, and the console of `refold chat` on a real terminal of its own."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from refold import Call, Nothing, RowRange, Session
from refold.agent import events
from refold.agent.turn import CUT
from refold.cli import main as entry
from refold.cli.screen import Line, Screen
from refold.values.outcome import Applied

from .terminal import Terminal
from .wires import Refuse, Say, too_large


def here(home: Path, *words: str, stdin: str = "") -> tuple[int, str, str]:
    """Runs the command in this process: exit code, standard output and standard error."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2))
    kept, sys.stdin = sys.stdin, io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = entry.run([*words, "--home", str(home)])
    finally:
        sys.stdin = kept
    printed, said = (stream.buffer.getvalue().decode() for stream in (out, err))
    return code, printed, said


def refold(home: Path, *words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "REFOLD_HOME": str(home), "NO_PROXY": "127.0.0.1", "COLUMNS": "80"}
    command = [sys.executable, "-m", "refold", *words]
    return subprocess.run(command, env=env, input=stdin, capture_output=True, text=True, timeout=60, check=False)


# send


def test_send_prints_the_answer_and_what_was_asked_as_one_document(session: Session, model: Any, home: Path) -> None:
    model.plays(Say("Hello, you.", usage=(40, 4), cached=8))
    done = refold(home, "send", "s", "Hi", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "answer": "Hello, you.",
        "stop": "end",
        "requests": [
            {
                "kind": "answer",
                "model": "local/m",
                "input_tokens": 40,
                "cached_tokens": 8,
                "output_tokens": 4,
                "outcome": "ok",
                "replaced": False,
            }
        ],
    }
    assert [row.text for row in session.rows()] == ["Hi", "Hello, you."]


def test_send_streams_text_that_cannot_act_on_a_terminal(session: Session, model: Any, home: Path) -> None:
    model.plays(Say("one\n\x1b[31mtwo"))
    assert here(home, "send", "s", "-", stdin="Hi from a pipe") == (0, "one\n\\x1b[31mtwo\n", "")
    assert session.rows()[0].text == "Hi from a pipe"


def test_send_tells_of_compaction_and_recovery_beside_the_answer(
    session: Session, model: Any, configure: Any, talk: Any, home: Path
) -> None:
    configure(window=200_000, maxOutput=500)
    talk(session, 20)
    model.plays(too_large(6_000, 12_000), Say("Fine."))
    _, out, err = here(home, "send", "s", "And now?", "--json")
    document = json.loads(out)
    assert document["answer"] == "Fine."
    answers = [each for each in document["requests"] if each["kind"] == "answer"]
    assert [(each["outcome"], each["replaced"]) for each in answers] == [("too_large", True), ("ok", False)]
    assert {each["kind"] for each in document["requests"]} == {"answer", "summary"}
    assert "compacted on the way" in err
    assert "the provider refused the request as too large" in err


FAILURES = [
    (Refuse(401, {"error": {"message": "bad key"}}), "provider_failed", "refused the key"),
    (too_large(10, 500), "context_overflow", "the provider counted"),
]


@pytest.mark.parametrize(("refusal", "code", "says"), FAILURES, ids=["auth", "overflow"])
def test_a_send_that_fails_is_one_line_and_one_document(
    session: Session, model: Any, home: Path, refusal: Refuse, code: str, says: str
) -> None:
    model.plays(refusal)
    exit, out, err = here(home, "send", "s", "Hi", "--json")
    assert exit == 1
    assert json.loads(out)["error"]["code"] == code
    assert err.splitlines()[-1].startswith("refold: error: ")
    assert says in err.splitlines()[-1]
    assert [row.text for row in session.rows()] == ["Hi"]


def test_an_interrupted_send_keeps_what_was_seen(session: Session, model: Any, home: Path) -> None:
    model.plays(Say("I was about to say", end="hang"))
    env = {**os.environ, "REFOLD_HOME": str(home), "NO_PROXY": "127.0.0.1"}
    command = [sys.executable, "-m", "refold", "send", "s", "Hi"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert model.begun.wait(20)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err.strip() == "refold: error: interrupted; what was committed is kept"
    assert session.rows()[-1].text == f"I was about to say\n{CUT}"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_send_that_is_asked_to_end_keeps_what_was_seen(
    session: Session, model: Any, home: Path, number: signal.Signals
) -> None:
    model.plays(Say("I was about to say", end="hang"))
    env = {**os.environ, "REFOLD_HOME": str(home), "NO_PROXY": "127.0.0.1"}
    command = [sys.executable, "-m", "refold", "send", "s", "Hi"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert model.begun.wait(20)
        time.sleep(0.3)
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert out == "I was about to say\n"
    assert "the turn ended early: cancelled; what came is kept" in err
    assert session.rows()[-1].text == f"I was about to say\n{CUT}"


def test_a_send_that_breaks_off_ends_its_line(session: Session, model: Any, home: Path) -> None:
    model.plays(Say("Half of it", end="cut"))
    code, out, err = here(home, "send", "s", "Hi")
    assert (code, out) == (1, "Half of it\n")
    assert err.startswith("refold: error: provider local broke off its answer; the text that came of it is kept")


# chat


def test_chat_says_what_it_needs(session: Session, home: Path) -> None:
    told = refold(home, "chat", "s").stderr
    assert "needs a terminal; nothing was started; in a script use '" in told
    assert "refold send'" in told
    hidden = (
        "import sys; sys.modules['prompt_toolkit'] = None; from refold.cli.main import run; sys.exit(run(['chat']))"
    )
    env = {**os.environ, "REFOLD_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", hidden], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'refold[chat]'" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture
def terminal(session: Session, home: Path) -> Iterator[Terminal]:
    made = Terminal(home, "s")
    yield made
    if made.pid:
        os.kill(made.pid, signal.SIGKILL)
        os.waitpid(made.pid, 0)
    os.close(made.end)


def test_a_talk_in_the_console(terminal: Terminal, session: Session, model: Any) -> None:
    model.plays(Say("Hello, you.", usage=(3_200, 4)), Say("I am going to", end="hang", pieces=1), Say("Here again."))
    terminal.until("session s; Ctrl-C stops a turn")
    terminal.until("% of 32,000 (estimated)")
    terminal.types("Hi\r")
    terminal.until("Hello, you.")
    terminal.commands("/model", "* local/m  32,000 tokens")
    terminal.types("Go on\r")
    terminal.until("I am going to")
    terminal.types("by the way\r")  # joins the turn that runs
    terminal.until("by the way")
    time.sleep(0.2)
    terminal.types("\x03")
    terminal.until("stopped; what came is kept")
    terminal.commands("/nope", "there is no command /nope")
    terminal.types("Still there?\r")
    terminal.until("Here again.")
    terminal.types("\x04")
    assert terminal.leaves(again="\x04") == 0
    texts = [(row.kind, row.text, row.opens) for row in session.rows()]
    assert texts == [
        ("user", "Hi", True),
        ("assistant", "Hello, you.", False),
        ("user", "Go on", True),
        ("assistant", f"I am going to\n{CUT}", False),
        ("user", "by the way", False),
        ("user", "Still there?", True),
        ("assistant", "Here again.", False),
    ]


def test_leaving_while_an_answer_comes_keeps_what_came(terminal: Terminal, session: Session, model: Any) -> None:
    model.plays(Say("I am going to", end="hang", pieces=1))
    terminal.until("session s;")
    terminal.types("Hi\r")
    terminal.until("I am going to")
    terminal.types("\x04")
    assert terminal.leaves() == 0
    assert session.rows()[-1].text == f"I am going to\n{CUT}"


def test_a_console_that_is_asked_to_end_keeps_what_came(terminal: Terminal, session: Session, model: Any) -> None:
    model.plays(Say("I am going to", end="hang", pieces=1))
    terminal.until("session s;")
    terminal.types("Hi\r")
    terminal.until("I am going to")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.leaves() == 0
    assert session.rows()[-1].text == f"I am going to\n{CUT}"


def test_commands_that_change_nothing_run_beside_a_turn(terminal: Terminal, session: Session, model: Any) -> None:
    model.plays(Say("I am going to", end="hang", pieces=1))
    terminal.until("session s;")
    terminal.types("Hi\r")
    terminal.until("I am going to")
    terminal.types("/tree\r")
    terminal.until("* s")
    terminal.types("/extensions\r")
    terminal.until("rolling")
    terminal.types("/fork\r")
    terminal.until("something runs; Ctrl-C stops it, or wait")
    terminal.until("context ")  # the prompt is back
    time.sleep(0.2)
    terminal.types("\x04")
    assert terminal.leaves() == 0


def test_commands_complete_from_the_front_of_the_line(session: Session) -> None:
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput
    from refold.cli.console import Console

    async def completions(typed: str) -> list[str]:
        with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
            console = Console(session)
            pipe.send_text("\x04")
            await console.run()
            completer = console._prompt.completer
            return [each.text for each in completer.get_completions(Document(typed), CompleteEvent())]

    assert asyncio.run(completions("/co"))[:2] == ["compact", "context"]
    assert asyncio.run(completions("see /co")) == []


# What is shown of events


def shown(*heard: Any) -> tuple[list[Line], Screen]:
    screen = Screen()
    return [line for event in heard for line in screen.hear(event)], screen


def test_an_answer_stays_line_by_line_and_its_last_line_lives_until_it_is_over() -> None:
    lines, screen = shown(events.AnswerText("one\ntw"), events.AnswerText("o"))
    assert (lines, screen.answer) == ([Line("answer", "one")], "two")
    assert screen.hear(events.RowsAppended(())) == [Line("answer", "two")]
    assert screen.answer == ""


def test_calls_are_lines_and_hostile_text_is_escaped() -> None:
    lines, _ = shown(
        events.CallStarted(Call("c", "read\x1b", {"path": "a\x1b[2J"})),
        events.CallFinished(Call("c", "read", {}), "one\ntwo", True),
        events.CallFinished(Call("c", "read", {}), "read failed: \x1b]0;x\x07", False),
    )
    assert [line.style for line in lines] == ["call", "result", "error"]
    assert lines[1].text == "2 lines"
    assert not any("\x1b" in line.text for line in lines)


def test_a_compaction_is_one_live_row_and_then_one_line() -> None:
    screen = Screen()
    assert screen.hear(events.CompactionStarted("automatic", 9_000, RowRange("s", 0, 12), 7_500)) == []
    assert screen.status == "compacting rows 1-12, 7,500 tokens"
    screen.hear(events.CompactionPass(2, 7))
    assert screen.status == "compacting: pass 3 of 7"
    screen.hear(events.CompactionPass(7, 7))
    assert screen.status == "compacting: pass 7 of 7"
    done = Applied(RowRange("s", 0, 12))
    assert screen.hear(events.CompactionFinished(done, 9_000, 2_000)) == [
        Line("note", "compacted: 12 rows, 9,000 -> 2,000 tokens")
    ]
    assert screen.status == ""
    [nothing] = screen.hear(events.CompactionFinished(Nothing("all is new"), 9, 9))
    assert nothing == Line("note", "nothing was compacted: all is new")
    [failed] = screen.hear(events.CompactionFinished(None, 9, 9, "no key"))
    assert failed == Line("error", "no key")
    assert screen.hear(events.CompactionFinished(None, 9, 9, "cancelled", stopped=True)) == []


FOOTERS = [
    (events.UsageChanged(500, 2_000, "reported_usage"), "context 25 % of 2,000 (as the provider reported)"),
    (events.UsageChanged(500, 2_000, "count_endpoint"), "context 25 % of 2,000 (counted by the provider)"),
    (events.UsageChanged(500, None, "estimate"), "context 500 tokens, window unknown (estimated)"),
]


@pytest.mark.parametrize(("event", "footer"), FOOTERS)
def test_the_footer_says_how_full_the_context_is_and_who_counted(event: Any, footer: str) -> None:
    assert Screen().usage == "context not measured yet"
    assert shown(event)[1].usage == footer


# compact


def test_compact_takes_a_model_and_a_level_for_its_summary(
    session: Session, model: Any, configure: Any, talk: Any, home: Path
) -> None:
    configure(window=8_000, models={"local/sum": {"window": 4_000}})
    talk(session, 20)
    model.summaries[:] = [Say("They went through part1, part2, part3, part5, part7 and part9. " * 3)]
    code, out, _ = here(home, "compact", "s", "-m", "SUM", "-r", "high", "--json")
    document = json.loads(out)
    assert (code, document["state"], document["summarizer"]) == (0, "compacted", "local/sum")
    assert {(body["model"], body["reasoning_effort"]) for body in model.summarized} == {("sum", "high")}
