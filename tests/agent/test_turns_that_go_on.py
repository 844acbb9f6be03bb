"""What can be told before a prompt is kept is told before; what fails later keeps it, says so, and goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from refold import Busy, Host, HostTool, RefoldError, Refused, Row, Session, SourceRef, events
from refold.agent.commands import run_command
from refold.agent.turn import CUT
from refold.transcript.leases import lease

from .test_send_and_chat_commands import here
from .wires import Refuse, Say, too_large

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
SERVER = {"protocol": "openai-chat", "baseUrl": "http://127.0.0.1:9"}

MISTAKES: dict[str, tuple[Any, str]] = {
    "no file": (None, "no model is chosen; nothing was sent; name a default in"),
    "a broken file": ("{", "no model is chosen; nothing was sent"),
    "no default": ({"providers": {"local": SERVER}}, "no model is chosen; nothing was sent"),
    "an unknown provider": ({"default": "gone/m"}, "no provider that can be used is named 'gone'"),
    "an unknown protocol": (
        {"providers": {"local": {**SERVER, "protocol": "telepathy"}}, "default": "local/m"},
        "must be one of openai-chat",
    ),
    "no key": (
        {"providers": {"local": {**SERVER, "keyEnv": "A_KEY_THAT_NOBODY_SET"}}, "default": "local/m"},
        "A_KEY_THAT_NOBODY_SET, which holds the key of provider local, is not set; nothing was sent",
    ),
    "a key that is none": (
        {"providers": {"local": {**SERVER, "keyEnv": "A_KEY_WITH_A_BELL"}}, "default": "local/m"},
        "holds characters that no key has; nothing was sent",
    ),
}


@pytest.fixture(params=MISTAKES.values(), ids=list(MISTAKES))
def mistaken(request: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A home with a mistake in its models.json, and words of what is said of it."""
    file, says = request.param
    monkeypatch.setenv("A_KEY_WITH_A_BELL", "key\a")
    home.mkdir()
    if file is not None:
        (home / "models.json").write_text(file if isinstance(file, str) else json.dumps(file))
    return str(says)


def test_a_mistake_that_can_be_seen_first_leaves_no_prompt(home: Path, mistaken: str) -> None:
    with Host(home) as host:
        session = host.new("s")
        for _ in range(4):
            with pytest.raises(RefoldError) as raised:
                session.send("Hello?")
            assert mistaken in str(raised.value)
            assert "is kept" not in str(raised.value)
        assert session.rows() == []


def test_a_model_that_only_the_session_names_is_seen_first_too(host: Host, session: Session) -> None:
    other = host.new("other", model="gone/m")
    with pytest.raises(RefoldError, match=r"no model 'gone/m'.*; nothing was sent"):
        other.send("Hello?")
    assert other.rows() == []


def test_a_turn_that_cannot_go_on_leaves_its_open_calls_open(session: Session, home: Path) -> None:
    from refold import Call

    session.user("Look")
    session.assistant("", [Call("1", "look", {})])
    (home / "models.json").unlink()
    with pytest.raises(Refused, match="no model is chosen"):
        session.resume()
    assert [row.kind for row in session.rows()] == ["user", "assistant"]


FAILURES = {
    "a key": Refuse(401, {"error": {"message": "bad key"}}),
    "the window": too_large(10, 500),
    "the stream": Say("Half of it", end="cut"),
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=list(FAILURES))
def test_what_fails_later_keeps_the_prompt_says_so_and_goes_on(
    session: Session, model: Any, home: Path, failure: Any
) -> None:
    model.plays(failure)
    code, out, err = here(home, "send", "s", "Hello?", "--json")
    said = json.loads(out)["error"]["message"]
    assert code == 1
    assert said.endswith("(the prompt is kept: 'refold resume s' answers it)")
    assert err.splitlines()[-1] == f"refold: error: {said}"

    model.plays(Say("Here I am.", usage=(20, 4)))
    code, out, err = here(home, "resume", "--json")
    document = json.loads(out)
    assert (code, document["answer"], document["stop"]) == (0, "Here I am.", "end")
    assert [each["outcome"] for each in document["requests"]] == ["ok"]
    assert [row.text for row in session.rows() if row.kind == "user"] == ["Hello?"]


def test_one_prompt_is_kept_however_often_it_is_resumed(session: Session, model: Any) -> None:
    model.plays(*[Refuse(401, {"error": {"message": "bad key"}})] * 3, Say("Here I am."))
    for turn in (lambda: session.send("Hello?"), session.resume, session.resume):
        with pytest.raises(RefoldError, match=r"bad key \(the prompt is kept: 'refold resume s' answers it\)$"):
            turn()
    assert [row.text for row in session.rows()] == ["Hello?"]
    assert session.resume().text == "Here I am."


def test_a_turn_stopped_for_its_steps_goes_on_where_it_stopped(session: Session, model: Any, home: Path) -> None:
    session.tools = (HostTool("look", "Looks.", SCHEMA, lambda given: "a line"),)
    model.plays(Say("", (("1", "look", {}),)), Say("Seen."))
    assert session.send("Look", max_steps=1).stop == "steps"
    assert session.resume().text == "Seen."
    assert [row.kind for row in session.rows()] == ["user", "assistant", "result", "assistant"]


def test_a_turn_that_was_cancelled_goes_on_where_it_stopped(session: Session, model: Any) -> None:
    def stop(event: Any) -> None:
        if isinstance(event, events.AnswerText):
            session.cancel()

    model.plays(Say("I was about", end="hang", pieces=1), Say("to say this."))
    assert session.send("Tell me", on_event=stop).stop == "cancelled"
    assert session.resume().text == "to say this."
    assert [row.text for row in session.rows()] == ["Tell me", f"I was about\n{CUT}", "to say this."]


def test_a_session_that_ends_with_words_of_the_user_is_answered(session: Session, model: Any) -> None:
    session.user("Imported, and never answered.")
    session.append([Row(SourceRef("", 0), "event", 0, 0, event="notice", text="somebody looked at it")])
    model.plays(Say("Now it is."))
    assert session.resume().text == "Now it is."


def test_nothing_is_asked_when_nothing_waits_for_an_answer(session: Session, model: Any, home: Path) -> None:
    with pytest.raises(Refused, match="nothing in this session waits for an answer; nothing was sent"):
        session.resume()
    model.plays(Say("Hi."))
    session.send("Hello")
    code, out, err = here(home, "resume", "s")
    assert (code, out) == (1, "")
    assert err == "refold: error: nothing in this session waits for an answer; nothing was sent; send a prompt\n"
    assert len(model.asked) == 1


def test_a_session_that_is_held_keeps_no_prompt(host: Host, session: Session) -> None:
    with lease(host.database, "s", "send"), pytest.raises(Busy) as raised:
        session.send("Hello?")
    assert "is kept" not in str(raised.value)
    assert session.rows() == []


def test_a_console_goes_on_with_a_turn_too(session: Session, model: Any, heard: list[Any]) -> None:
    model.plays(Refuse(401, {"error": {"message": "bad key"}}), Say("Here I am."), Say("And here."))
    with pytest.raises(RefoldError, match="the prompt is kept"):
        session.send("Hello?")
    assert run_command(session, "/resume", heard.append).text == ""  # it was heard
    assert "".join(event.text for event in heard if isinstance(event, events.AnswerText)) == "Here I am."
    session.user("More?")
    assert run_command(session, "/resume").text == "And here."
    with pytest.raises(Refused, match="usage: /resume"):
        run_command(session, "/resume the first one")
