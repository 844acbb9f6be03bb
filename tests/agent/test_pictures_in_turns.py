"""Pictures that host apps send, and what goes out of them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from refold import Image, Session

from tests.pictures import png

from .wires import Refuse, Say

PAGE = (Path(__file__).parents[2] / "docs" / "turns.md").read_text()
PROTOCOLS = ("anthropic", "gemini", "openai-chat", "openai-responses")


def strict(body: dict[str, Any]) -> Any:
    """Refuses a request with a picture that is none, as providers do."""
    text = json.dumps(body)
    if base64.b64encode(b"this is no picture").decode() in text:
        return Refuse(400, {"error": {"message": "Could not process image", "type": "invalid_request_error"}})
    return Say("Seen.")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_picture_that_is_none_never_blocks_a_session(
    session: Session, configure: Any, model: Any, protocol: str
) -> None:
    configure(protocol, window=32_000, maxOutput=1_000)
    model.plays(strict)
    for _ in range(3):
        assert session.send("What is this?", [Image.of(b"this is no picture", "image/png")]).text == "Seen."
    assert session.send("And this?", [Image.of(png(3, 2))]).text == "Seen."
    assert json.dumps(model.asked[-1]).count("omitted: its bytes are no picture that can be decoded") == 3
    assert base64.b64encode(png(3, 2)).decode() in json.dumps(model.asked[-1])


def test_a_picture_by_its_bytes_is_stored_once_with_its_type_and_size(session: Session, model: Any) -> None:
    model.plays(Say("Seen."))
    for _ in range(2):
        session.send("What is this?", [Image.of(png(3, 2))])
    (first,), (second,) = (row.images for row in session.rows() if row.images)
    assert first == second
    assert (first.media_type, first.width, first.height) == ("image/png", 3, 2)
    assert session.image_bytes(first) == png(3, 2)


def test_what_the_page_says_of_pictures_is_so(
    session: Session, model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program,) = [each for each in PAGE.split("```") if each.startswith("python") and "Image.of" in each]
    (tmp_path / "page.png").write_bytes(png(4, 4))
    monkeypatch.chdir(tmp_path)
    model.plays(Say("Nothing."))
    exec(program.removeprefix("python"), {"session": session})
    assert base64.b64encode(png(4, 4)).decode() in json.dumps(model.asked[0])
