"""What is chosen while a turn runs holds from the next turn on; a turn keeps the extensions that it began with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from refold import Host, HostTool, Image, Session

from .wires import Say

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


@pytest.fixture
def compacted(session: Session, talk: Any) -> Session:
    """A session of which the strategy shows a summary and the newest turns."""
    talk(session, 30)
    session.compact(window=8_000)
    return session


def sizes(model: Any) -> list[int]:
    """How many messages each request held."""
    return [len(body["messages"]) for body in model.asked]


WHOLE = """
class Whole:
    def project(self, context):
        rows = Section("all", "all", "tail", (Rows(context.history.range),))
        return Projection((rows,), None, Observation("whole", "test"))
    def compact(self, context, demand): return Nothing("never")
@hookimpl
def compaction_strategy(): return Whole()
"""


def test_a_strategy_chosen_during_a_turn_serves_from_the_next_one_on(
    host: Host, compacted: Session, model: Any, install: Any
) -> None:
    install("whole", WHOLE, default=False)
    host.reload()
    compacted.tools = (HostTool("switch", "Off.", SCHEMA, lambda given: host.choose("whole", True, "s").strategy),)
    model.plays(Say("", (("1", "switch", {}),)), Say("", (("2", "switch", {}),)), Say("Done."), Say("All of it."))
    compacted.send("Switch")
    assert [row.text for row in compacted.rows()[-4:] if row.kind == "result"] == ["whole"] * 2
    first, second, third = sizes(model)
    assert (second, third) == (first + 2, first + 4)
    assert model.asked[1]["messages"][:first] == model.asked[0]["messages"]
    assert model.asked[2]["tools"] == model.asked[0]["tools"]
    compacted.send("And now?")
    assert sizes(model)[3] > 100  # the whole history


def test_a_tool_switched_off_during_a_turn_can_be_called_to_its_end(
    host: Host, session: Session, model: Any, install: Any
) -> None:
    install("talk", "@hookimpl\ndef tools(): return [Tool('say', 'Says.', {}, lambda context, given: 'a word')]\n")
    host.reload()
    session.tools = (HostTool("switch", "Off.", SCHEMA, lambda given: host.choose("talk", False) and "off"),)
    model.plays(Say("", (("1", "switch", {}),)), Say("", (("2", "say", {}),)), Say("Done."))
    session.send("Go")
    assert [row.text for row in session.rows() if row.kind == "result"] == ["off", "a word"]
    session.send("And now?")
    offered = [{tool["function"]["name"] for tool in body["tools"]} for body in model.asked]
    assert ["say" in names for names in offered] == [True, True, True, False]


def test_settings_changed_during_a_turn_hold_from_the_next_turn_on(
    host: Host, session: Session, model: Any, home: Path, talk: Any
) -> None:
    def widen(given: Any) -> str:
        sections = json.loads((home / "extensions.json").read_text())
        (home / "extensions.json").write_text(json.dumps({**sections, "rolling": {"contextWindowTokens": 9_000}}))
        return "set"

    session.tools = (HostTool("widen", "Sets a window.", SCHEMA, widen),)
    talk(session, 8)
    model.plays(Say("", (("1", "widen", {}),)), Say("Done."))
    session.send("Set it")
    assert session.context()["context_window_tokens"] == 32_000
    session.send("And now?")
    assert session.context()["context_window_tokens"] == 9_000


def test_a_model_that_is_chosen_during_a_turn_answers_its_next_request(
    session: Session, model: Any, configure: Any
) -> None:
    configure(window=32_000, models={"local/other": {"window": 16_000}})
    session.tools = (HostTool("switch", "Switches.", SCHEMA, lambda given: session.use_model("other")),)
    model.plays(Say("", (("1", "switch", {}),)), Say("Done."))
    session.send("Switch")
    assert [body["model"] for body in model.asked] == ["m", "other"]


def test_pictures_of_an_extension_that_is_switched_off_during_a_turn_are_still_sent(
    host: Host, session: Session, model: Any, install: Any
) -> None:
    dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    body = f"import base64\n@hookimpl\ndef image_bytes(context, image): return base64.b64decode({dot!r})\n"
    install("paint", body)
    host.reload()
    session.tools = (HostTool("switch", "Off.", SCHEMA, lambda given: host.choose("paint", False) and "off"),)
    model.plays(Say("", (("1", "switch", {}),)), Say("Done."))
    session.send("Look", images=[Image("dot", "image/png", 1, 1, owner="paint")])
    shown = [[part["type"] for part in body["messages"][0]["content"]] for body in model.asked]
    assert shown == [["text", "image_url"]] * 2
