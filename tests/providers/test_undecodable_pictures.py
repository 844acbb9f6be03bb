"""A picture that no model could see becomes a line of text, since a provider would refuse the whole request."""

from __future__ import annotations

import base64
import io
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow
from refold import Image, Model
from refold.providers.decodable import media_type
from refold.providers.protocols import PROTOCOLS, codec
from refold.values.messages import AssistantMessage, Request, ResultMessage, UserMessage
from refold.values.rows import Call

from tests.pictures import png

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "png": ("image/png", {}),
    "png packed well": ("image/png", {"optimize": True}),
    "jpeg": ("image/jpeg", {}),
    "progressive jpeg": ("image/jpeg", {"progressive": True, "exif": b"Exif\0\0" + b"\xff\xd9" * 9}),
    "gif": ("image/gif", {}),
    "lossy webp": ("image/webp", {}),
    "lossless webp": ("image/webp", {"lossless": True}),
}


def drawn(kind: str, mode: str = "RGB") -> bytes:
    """A picture of that kind as a well-known library writes it."""
    format, options = KINDS[kind]
    noise = Pillow.frombytes("RGB", (60, 40), random.Random(kind).randbytes(60 * 40 * 3)).convert(mode)
    written = io.BytesIO()
    noise.save(written, format.removeprefix("image/").upper(), **options)
    return written.getvalue()


def heic(*kinds: bytes) -> bytes:
    boxes = [(8 + len(body)).to_bytes(4, "big") + kind + body for kind, body in ((each, b"body") for each in kinds)]
    return (20).to_bytes(4, "big") + b"ftypheic\0\0\0\0mif1" + b"".join(boxes)


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_picture_is_known_by_its_type(kind: str) -> None:
    assert media_type(drawn(kind)) == KINDS[kind][0]


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16"])
def test_png_of_every_kind_of_pixels_is_taken(mode: str) -> None:
    assert media_type(drawn("png", mode)) == "image/png"


@pytest.mark.parametrize("kind", KINDS)
def test_one_that_breaks_off_anywhere_is_told_by_what_a_decoder_makes_of_it(kind: str) -> None:
    whole = drawn(kind)
    for end in range(0, len(whole) - 20, max(1, len(whole) // 90)):
        part = whole[:end]
        try:
            Pillow.open(io.BytesIO(part)).load()
        except Exception:  # whatever a decoder stumbles over
            assert media_type(part) is None, end
        else:
            assert media_type(part) == KINDS[kind][0], end


BROKEN = {
    "no bytes of a picture": b"this is no picture",
    "a web page": b"<!doctype html><title>not found</title>",
    "a header alone": png()[:33],
    "half of a png": drawn("png")[: len(drawn("png")) // 2],
    "half of a jpeg": drawn("jpeg")[: len(drawn("jpeg")) // 2],
    "half of a webp": drawn("lossy webp")[: len(drawn("lossy webp")) // 2],
    "half of a gif": drawn("gif")[: len(drawn("gif")) // 2],
    "pixels that are none": png(pixels=b"not compressed at all"),
    "pixels that end early": png(20, 20, pixels=b"x\x9cc`"),
    "a wrong check sum": png()[:-16] + b"\0\0\0\0" + png()[-12:],
    "a png without an end": png()[:-12],
    "a bitmap": b"BM" + bytes(60),
    "a tiff": b"II*\0" + bytes(60),
    "a vector picture": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "a jpeg without a picture": b"\xff\xd8\xff\xe0\0\4ab\xff\xd9",
    "a gif without a picture": b"GIF89a" + bytes([2, 0, 1, 0, 0, 0, 0]) + b";",
    "half of a heic": heic(b"meta"),
}


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
@pytest.mark.parametrize("broken", BROKEN)
def test_a_picture_that_cannot_be_decoded_becomes_a_line_wherever_it_stands(broken: str, protocol: str) -> None:
    images = (Image("broken", "image/png", 64, 48), Image("sound", "image/png", 1, 1))
    messages = (
        UserMessage("look", images),
        AssistantMessage("", (Call("a", "shot", {}),)),
        ResultMessage("a", "shot", "", images=images),
    )
    request = Request(Model("m", protocol, "me"), "", (), messages)
    sound = png(3, 5)
    wire = codec(protocol).encode(request, lambda image: BROKEN[broken] if image.key == "broken" else sound)
    text = json.dumps(wire)
    assert text.count("[image image/png 64x48 omitted: its bytes are no picture that can be decoded]") == 2
    assert text.count(base64.b64encode(sound).decode()) == 2
    assert base64.b64encode(BROKEN[broken]).decode() not in text


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "gif"])
def test_a_sound_picture_goes_out_byte_for_byte_under_the_type_that_it_has(kind: str, protocol: str) -> None:
    data = drawn(kind)
    request = Request(Model("m", protocol, "me"), "", (), (UserMessage("", (Image("k", "image/png", 60, 40),)),))
    text = json.dumps(codec(protocol).encode(request, lambda image: data))
    assert base64.b64encode(data).decode() in text
    assert text.count("image/") == text.count(KINDS[kind][0]) == 1


def test_a_type_that_only_the_bytes_tell_is_refused_as_if_it_had_been_said() -> None:
    request = Request(Model("m", "gemini", "me"), "", (), (UserMessage("", (Image("k", "image/png", 60, 40),)),))
    (content,) = codec("gemini").encode(request, lambda image: drawn("gif"))["contents"]
    assert content["parts"] == [{"text": "[image image/png 60x40 omitted: the provider does not take this type]"}]


@pytest.mark.parametrize("said", ["image/heic", "image/heif"])
def test_gemini_takes_what_telephones_write(said: str) -> None:
    request = Request(Model("m", "gemini", "me"), "", (), (UserMessage("", (Image("k", said, 0, 0),)),))
    (content,) = codec("gemini").encode(request, lambda image: heic(b"meta", b"mdat"))["contents"]
    assert content["parts"][0]["inlineData"]["mimeType"] == said
    request = Request(Model("m", "anthropic", "me"), "", (), (UserMessage("", (Image("k", "image/png", 0, 0),)),))
    wire = codec("anthropic").encode(request, lambda image: heic(b"meta", b"mdat"))
    assert "the provider does not take this type" in json.dumps(wire)


@given(
    st.binary(max_size=200), st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8", b"GIF89a", b"RIFF", png()[:40]])
)
def test_no_bytes_whatever_raise(data: bytes, begun: bytes) -> None:
    media_type(begun + data)
