"""What a tool may return, and what the model and the transcript get of it."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import datetime
import decimal
import json
import pathlib
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refold import HostTool, Image, Session, ToolResult
from refold.agent.results import content
from refold.agent.tools import LEAST_BYTES

from tests.pictures import png

from .wires import Say

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
PROTOCOLS = ("anthropic", "gemini", "openai-chat", "openai-responses")


@dataclasses.dataclass
class Point:
    x: int
    at: pathlib.Path


@attrs.frozen
class Found:
    rows: tuple[int, ...]
    names: frozenset[str]


TEXTS: dict[str, tuple[Any, str]] = {
    "text": ("as it is\n", "as it is\n"),
    "nothing": (None, ""),
    "a number": (3, "3"),
    "a yes": (True, "true"),
    "a dict": ({"a": [1, None, "é"], 2: b"bytes"}, '{"a":[1,null,"é"],"2":"bytes"}'),
    "a list": ([1, 2.5, {"x": False}], '[1,2.5,{"x":false}]'),
    "a set": ({"c", "a", "b"}, '["a","b","c"]'),
    "a number beyond 64 bits": ({"n": 2**70}, '{"n":1180591620717411303424}'),
    "a dataclass": (Point(1, pathlib.PurePosixPath("/x")), '{"x":1,"at":"/x"}'),
    "an attrs class": (Found((1, 2), frozenset({"b", "a"})), '{"rows":[1,2],"names":["a","b"]}'),
    "bytes of text": ("grüße".encode(), "grüße"),
    "bytes of nothing": (b"\xff\xfe\x00", "[3 bytes, neither text nor a picture]"),
    "a path": (pathlib.PurePosixPath("/etc"), "/etc"),
    "a date": (datetime.date(2026, 1, 2), "2026-01-02"),
    "a decimal": (decimal.Decimal("1.10"), "1.10"),
    "a result": (ToolResult("words"), "words"),
}


@pytest.mark.parametrize(("value", "text"), TEXTS.values(), ids=list(TEXTS))
def test_a_value_is_told_in_its_own_words(value: Any, text: str) -> None:
    assert content(value) == ToolResult(text)


def circle() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


async def later() -> str:
    return "never"


NOTHINGS: dict[str, tuple[Any, str]] = {
    "an object without words": (object(), "it returned object, which is no result; return a text, JSON values"),
    "a generator": ((n for n in "abc"), "it returned generator, which is no result"),
    "a function": (len, "it returned builtin_function_or_method, which is no result"),
    "a class": (Point, "it returned type, which is no result"),
    "an open file": (open(__file__), "it returned TextIOWrapper, which is no result"),  # noqa: SIM115
    "an object in a list": ([object()], "it returned object, which is no result"),
    "a circle": (circle(), "it returned what no JSON can hold"),
    "a result of no text": (ToolResult(3), "ToolResult.text is int, not str"),  # type: ignore[arg-type]
    "a result of no pictures": (ToolResult("", [1]), "ToolResult.images holds int, not bytes or Image"),  # type: ignore[list-item]
}


@pytest.mark.parametrize(("value", "says"), NOTHINGS.values(), ids=list(NOTHINGS))
def test_what_has_no_words_of_its_own_is_refused_by_its_type(value: Any, says: str) -> None:
    with pytest.raises(TypeError) as raised:
        content(value)
    assert says in str(raised.value)
    assert "0x" not in str(raised.value)
    if hasattr(value, "close"):
        value.close()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.dictionaries(st.text(), JSON) | st.lists(JSON))
def test_json_values_come_back_as_they_were(value: Any) -> None:
    assert json.loads(content(value).text) == value


@pytest.mark.parametrize("asynchronous", [False, True], ids=["plain", "async"])
def test_results_of_every_kind_reach_the_model(session: Session, model: Any, asynchronous: bool) -> None:
    values = {
        "dict": {"rows": [1, 2]},
        "none": None,
        "generator": (n for n in "ab"),
        "fails": ToolResult("no", ok=False),
    }

    def tool(name: str) -> HostTool:
        async def later(arguments: Any) -> Any:
            await asyncio.sleep(0)
            return values[name]

        return HostTool(name, "Gives.", SCHEMA, later if asynchronous else lambda arguments: values[name])

    session.tools = [tool(name) for name in values]  # type: ignore[assignment]
    model.plays(Say("", tuple((name, name, {}) for name in values)), Say("Seen."))
    session.send("All")
    rows = [(row.text, row.ok) for row in session.rows() if row.kind == "result"]
    assert rows[:2] == [('{"rows":[1,2]}', True), ("", True)]
    assert rows[2][0].startswith("generator failed: it returned generator, which is no result")
    assert rows[3] == ("no", False)
    sent = [text for role, text in model.texts() if role == "tool"]
    assert sent[:2] == ['{"rows":[1,2]}', "(no output)"]


# Pictures


def pictured(*images: Any, text: str = "the page") -> HostTool:
    return HostTool("look", "Looks.", SCHEMA, lambda arguments: ToolResult(text, images))


LOOK = Say("", (("c1", "look", {}),))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pictures_of_a_result_are_stored_with_its_row_and_sent(
    session: Session, model: Any, configure: Any, protocol: str
) -> None:
    configure(protocol, window=32_000, maxOutput=1_000)
    session.tools = (pictured(png(3, 2), b"this is no picture"),)
    model.plays(LOOK, Say("Seen."))
    assert session.send("Look").text == "Seen."
    row = next(row for row in session.rows() if row.kind == "result")
    assert row.text == "the page\n[picture 2 left out: its 18 bytes are no picture that can be decoded]"
    (image,) = row.images
    assert (image.key[:7], image.media_type, image.width, image.height) == ("sha256:", "image/png", 3, 2)
    assert session.image_bytes(image) == png(3, 2)
    sent = json.dumps(model.asked[-1])
    assert base64.b64encode(png(3, 2)).decode() in sent
    assert base64.b64encode(b"this is no picture").decode() not in sent


def test_bytes_that_are_a_picture_are_one(session: Session, model: Any, heard: list[Any]) -> None:
    session.tools = (HostTool("look", "Looks.", SCHEMA, lambda arguments: png(4, 4)),)
    model.plays(LOOK, Say("Seen."))
    session.send("Look", on_event=heard.append)
    row = next(row for row in session.rows() if row.kind == "result")
    assert (row.text, [image.width for image in row.images]) == ("", [4])
    assert [event.images for event in heard if event.name == "call_finished"] == [1]


def test_a_picture_by_reference_is_taken_as_it_is(session: Session, model: Any) -> None:
    session.user("Here", [Image.of(png(5, 5))])
    (stored,) = session.rows()[0].images
    session.tools = (pictured(stored),)
    model.plays(LOOK, Say("Seen."))
    session.send("Look")
    assert next(row.images for row in session.rows() if row.kind == "result") == (stored,)


def test_pictures_take_their_share_of_the_window_like_text(session: Session, model: Any, configure: Any) -> None:
    configure(window=8_000, maxOutput=500)
    session.tools = (pictured(*[png(1_024, 1_024)] * 6, text="words " * 9_000),)
    model.plays(LOOK, Say("Seen."))
    assert session.send("Look").text == "Seen."
    row = next(row for row in session.rows() if row.kind == "result")
    left = row.text.count("are more than this result may take]")
    assert 0 < len(row.images) < 6
    assert left == 6 - len(row.images)
    assert "bytes of 54,000 left out" in row.text
    assert len(row.text.encode()) >= LEAST_BYTES
    assert [each.outcome for each in session.requests()] == ["ok", "ok"]


def test_a_result_with_pictures_goes_through_export_and_fork(session: Session, model: Any) -> None:
    session.tools = (pictured(png(3, 2)),)
    model.plays(LOOK, Say("Seen."))
    session.send("Look")
    forked = session.host.session(session.fork(4).session)
    assert forked.rows()[2].images == session.rows()[2].images
    assert forked.image_bytes(forked.rows()[2].images[0]) == png(3, 2)
