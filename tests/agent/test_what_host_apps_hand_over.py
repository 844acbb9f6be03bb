"""What a host app sets or hands over is checked at that moment: one line says what is wrong, nothing was changed."""

from __future__ import annotations

import asyncio
import functools
import io
import threading
from pathlib import Path
from typing import Any

import pytest
from refold import Host, HostTool, Refused, Session, events
from refold.summarize.reply import Reply

from tests.pictures import png

from .wires import Say

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


def work(arguments: Any) -> str:
    return "done"


async def later(event: Any) -> None:
    """An async function where a plain one is asked for."""


class Later:
    async def __call__(self, event: Any) -> None:
        """The same, as an object."""


READ = HostTool("read", "Reads.", SCHEMA, work)

SETTINGS: dict[str, tuple[str, Any, str]] = {
    "approve: a word": (
        "approve",
        "yes",
        "approve must be a function of a Call, or None, not str; nothing was changed",
    ),
    "approve: True": ("approve", True, "approve must be a function of a Call, or None, not bool"),
    "system: a list": ("system", ["You are"], "system must be a text or None, not list; nothing was changed"),
    "tools: one tool": ("tools", READ, "tools must be a list of HostTool, not HostTool; nothing was changed"),
    "tools: a mapping": ("tools", {"read": READ}, "tools must be a list of HostTool, not dict"),
    "tools: a function": ("tools", [READ, work], "tools holds function, not a HostTool; nothing was changed"),
    "tools: two of one name": ("tools", [READ, READ], "tools holds two tools named 'read'; nothing was changed"),
}


@pytest.mark.parametrize(("name", "value", "says"), SETTINGS.values(), ids=list(SETTINGS))
def test_a_setting_that_cannot_be_is_refused_when_it_is_set(session: Session, name: str, value: Any, says: str) -> None:
    before = getattr(session, name)
    with pytest.raises(Refused) as raised:
        setattr(session, name, value)
    assert str(raised.value).startswith(says)
    assert getattr(session, name) is before


def test_tools_may_come_in_any_list_and_be_set_again(session: Session) -> None:
    session.tools = [READ]  # type: ignore[assignment]
    assert session.tools == (READ,)
    session.tools = (each for each in (READ,))  # type: ignore[assignment]
    assert session.tools == (READ,)
    session.approve, session.system = work, "You read."
    session.approve = session.system = None


TOOLS: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"name": ""}, "name is empty"),
    "a name that is none": ({"name": 3}, "name is int, not a text"),
    "no description": ({"description": None}, "description is NoneType, not a text"),
    "a schema that is none": ({"parameters": "object"}, "parameters is str, not a JSON schema"),
    "a schema that is no JSON": ({"parameters": {"type": object()}}, "parameters is no JSON"),
    "no function": ({"call": None}, "give it either call(arguments) or run(context, arguments)"),
    "two functions": ({"run": work}, "give it either call(arguments) or run(context, arguments)"),
    "a word for a function": ({"call": "work"}, "call is str, not a function"),
    "a word for run": ({"call": None, "run": "work"}, "run is str, not a function"),
    "traits that are none": ({"traits": {"reads": "path"}}, "traits is dict, not ToolTraits"),
    "a word for read_only": ({"read_only": "no"}, "read_only is 'no', not True or False"),
    "a word for approval": ({"approval": "yes"}, "approval is 'yes', not True or False"),
    "no lines": ({"max_lines": 0}, "max_lines is 0, not a whole number from 1"),
    "half a byte": ({"max_bytes": 0.5}, "max_bytes is 0.5, not a whole number from 1"),
}


@pytest.mark.parametrize(("wrong", "says"), TOOLS.values(), ids=list(TOOLS))
def test_a_tool_that_cannot_be_one_is_not_made(wrong: dict[str, Any], says: str) -> None:
    fields = {"name": "read", "description": "Reads.", "parameters": SCHEMA, "call": work}
    with pytest.raises(Refused) as raised:
        HostTool(**{**fields, **wrong})
    assert str(raised.value).startswith("no tool was made of ")
    assert says in str(raised.value)


def test_a_tool_with_many_mistakes_names_all_of_them() -> None:
    with pytest.raises(Refused) as raised:
        HostTool("", None, "object", "work", read_only=1, max_lines=-1)  # type: ignore[arg-type]
    assert len(str(raised.value).split("; ")) == 6


OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "a listener that is none": ({"on_event": "print"}, "on_event must be a function, not str; nothing was done"),
    "an async listener": ({"on_event": later}, "on_event must be a plain function, not an async one: nobody would"),
    "an async object": ({"on_event": Later()}, "on_event must be a plain function, not an async one"),
    "a part of one": ({"on_event": functools.partial(later)}, "on_event must be a plain function, not an async one"),
    "no steps": ({"max_steps": 0}, "max_steps must be a whole number from 1, not 0; nothing was sent"),
    "a word for steps": ({"max_steps": "3"}, "max_steps must be a whole number from 1, not '3'; nothing was sent"),
    "a yes for steps": ({"max_steps": True}, "max_steps must be a whole number from 1, not True; nothing was sent"),
    "a word for read_only": ({"read_only": "no"}, "read_only must be True or False, not str; nothing was sent"),
    "a stop that is none": ({"stop": True}, "stop must be a threading.Event, not bool; nothing was done"),
    "a loop that is none": ({"loop": asyncio}, "loop must be an event loop of asyncio, not module; nothing was sent"),
}


@pytest.mark.parametrize("way", ["send", "resume", "asend"])
@pytest.mark.parametrize(("options", "says"), OPTIONS.values(), ids=list(OPTIONS))
def test_an_option_that_cannot_be_is_refused_before_anything_is_kept(
    session: Session, options: dict[str, Any], says: str, way: str
) -> None:
    ways = {
        "send": lambda: session.send("Hello", **options),
        "resume": lambda: session.resume(**options),
        "asend": lambda: asyncio.run(session.asend("Hello", **options)),
    }
    with pytest.raises(Refused) as raised:
        ways[way]()
    assert str(raised.value).startswith(says)
    assert session.rows() == []


PROMPTS: dict[str, tuple[Any, Any, str]] = {
    "no text": (3, (), "the prompt must be a text, not int; nothing was sent"),
    "blank": (" \n", (), "the prompt is empty; nothing was sent"),
    "bytes for an image": ("Look", [png()], "images must be a list of Image; Image.of(data) makes one of bytes"),
    "one image": ("Look", png(), "images must be a list of Image"),
}


@pytest.mark.parametrize(("text", "images", "says"), PROMPTS.values(), ids=list(PROMPTS))
def test_a_prompt_that_cannot_be_is_refused_before_anything_is_kept(
    session: Session, text: Any, images: Any, says: str
) -> None:
    for say in (session.send, session.follow_up):
        with pytest.raises(Refused) as raised:
            say(text, images)
        assert str(raised.value).startswith(says)
    assert session.rows() == []


def test_a_listener_that_gives_back_a_coroutine_is_told_so(session: Session, model: Any) -> None:
    model.plays(Say("Hi."))
    with pytest.raises(Refused, match="on_event gave back a coroutine, which nobody awaits; iterate over astream"):
        session.send("Hello", on_event=lambda event: later(event))
    assert session.resume().text == "Hi."


def test_a_listener_of_a_compaction_is_checked_too(session: Session, talk: Any) -> None:
    talk(session, 3)
    with pytest.raises(Refused, match="on_event must be a plain function"):
        session.compact(on_event=later)
    with pytest.raises(Refused, match=r"stop must be a threading.Event, not str; nothing was done"):
        session.compact(stop="now")  # type: ignore[arg-type]


def test_a_progress_callback_that_cannot_be_one_is_refused_before_the_import(host: Host) -> None:
    with pytest.raises(Refused, match="progress must be a plain function, not an async one"):
        host.import_file(io.BytesIO(b"{}"), progress=later)  # type: ignore[arg-type]
    with pytest.raises(Refused, match="progress must be a function, not int"):
        host.import_file(io.BytesIO(b"{}"), progress=3)  # type: ignore[arg-type]


class Writer:
    """A summarizer of a host app; `reply` makes what it answers."""

    window: Any = 100_000

    def __init__(self, reply: Any, name: Any = "mine") -> None:
        self.reply, self.name = reply, name

    def complete(self, prompt: Any, limit: int, deadline: Any) -> Any:
        return self.reply()


class AsyncWriter(Writer):
    async def complete(self, prompt: Any, limit: int, deadline: Any) -> Any:
        return self.reply()


SUMMARIZERS: dict[str, tuple[Any, str]] = {
    "a function": ([print], "a summarizer must have a name, a text; builtin_function_or_method has none"),
    "one of them": (Writer(None), "summarizers must be a list of Summarizer, not Writer; nothing was opened"),
    "an async one": ([AsyncWriter(None)], "summarizer mine: complete must be a plain function, not an async one"),
    "a name that is none": ([Writer(None, 3)], "a summarizer must have a name, a text; Writer has none"),
}


@pytest.mark.parametrize(("given", "says"), SUMMARIZERS.values(), ids=list(SUMMARIZERS))
def test_a_summarizer_that_cannot_be_one_is_refused_when_the_host_is_made(
    tmp_path: Path, given: Any, says: str
) -> None:
    with pytest.raises(Refused) as raised:
        Host(tmp_path / "none", summarizers=given)
    assert str(raised.value).startswith(says)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("reply", ["a text", None, {"text": "a summary"}], ids=str)
def test_a_reply_that_is_none_gives_way_to_the_next_summarizer(
    home: Path, configure: Any, talk: Any, reply: Any
) -> None:
    configure(window=32_000)
    summary = "They talked about what each part of the program returns, and found that part n returns n. " * 3
    good = Writer(lambda: Reply(summary, "end", "second"), "second")
    with Host(home, summarizers=[Writer(lambda: reply), good]) as host:
        session = host.new()
        talk(session, 30)
        outcome = session.compact(window=8_000).attempted.outcome
    assert outcome.summary.model == "second"


def test_a_summarizer_that_answers_wrongly_alone_is_named(home: Path, configure: Any, talk: Any) -> None:
    configure(window=32_000)
    with Host(home, summarizers=[Writer(lambda: "a text")]) as host:
        session = host.new()
        talk(session, 30)
        with pytest.raises(Exception, match="mine answered str, not a Reply"):
            session.compact(window=8_000)


# Steps

LOOP = Say("", (("c", "read", {}),))


def noticed(heard: list[Any]) -> list[str]:
    return [event.text for event in heard if isinstance(event, events.Noticed)]


def test_a_turn_has_a_bound_of_steps_says_so_and_goes_on(session: Session, model: Any, heard: list[Any]) -> None:
    session.tools = (READ,)
    model.plays(LOOP)
    assert session.send("Loop", on_event=heard.append).stop == "steps"
    assert len(model.asked) == 100
    (told,) = noticed(heard)
    assert told.startswith("the turn took all of its 100 steps (max_steps, or maxSteps in models.json, says how many)")
    assert told.endswith("; the prompt is kept: 'refold resume s' answers it")
    model.plays(Say("Done."))
    assert session.resume().text == "Done."


def test_steps_are_bounded_by_the_argument_else_by_the_file(
    session: Session, model: Any, configure: Any, home: Path
) -> None:
    session.tools = (READ,)
    file = (home / "models.json").read_text()
    (home / "models.json").write_text(file.replace('"default"', '"maxSteps": 4, "default"'))
    model.plays(LOOP)
    assert session.send("Loop").stop == "steps"
    assert len(model.asked) == 4
    assert session.resume(max_steps=2).stop == "steps"
    assert len(model.asked) == 6


@pytest.mark.parametrize("steps", ['"many"', "0", "2.5", "true"])
def test_a_bound_that_cannot_be_is_a_fault_of_the_file_and_the_usual_one_serves(
    session: Session, home: Path, steps: str
) -> None:
    file = (home / "models.json").read_text()
    (home / "models.json").write_text(file.replace('"default"', f'"maxSteps": {steps}, "default"'))
    found = session.host.models.file()
    assert found.max_steps is None
    assert found.default == "local/m"
    assert [fault for fault in found.faults if "maxSteps" in fault]


def test_a_stop_that_is_set_already_sends_nothing(session: Session, model: Any) -> None:
    stop = threading.Event()
    stop.set()
    assert session.send("Hello", stop=stop).stop == "cancelled"
    assert model.asked == []
