from __future__ import annotations

import hashlib
import struct
import zlib

import pytest
from refold import Image, NotFound, Refused, SourceRef
from refold.transcript.deletion import delete
from refold.transcript.fork import fork
from refold.transcript.image_header import read_header
from refold.transcript.images import data_url, load_image
from refold.transcript.rows import last_seq, source


def png(width: int, height: int) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    pixels = zlib.compress(b"".join(b"\0" + b"\1\2\3" * width for _ in range(height)))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


JPEG = b"\xff\xd8\xff\xe1\x00\x08Exif\0\0\xff\xff\xdb\x00\x04ab\xff\xc2\x00\x11\x08\x01\x02\x03\x04" + bytes(20)
WEBP = b"RIFF\0\0\0\0WEBP"
LOSSY = WEBP + b"VP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 300 | 0x4000, 200)
LOSSLESS = WEBP + b"VP8L\0\0\0\0\x2f" + struct.pack("<I", (300 - 1) | (200 - 1) << 14)
EXTENDED = WEBP + b"VP8X\0\0\0\0\0\0\0\0" + (299).to_bytes(3, "little") + (199).to_bytes(3, "little")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (png(7, 5), ("image/png", 7, 5)),
        (b"GIF89a" + struct.pack("<HH", 300, 200), ("image/gif", 300, 200)),
        (JPEG, ("image/jpeg", 0x304, 0x102)),
        (LOSSY, ("image/webp", 300, 200)),
        (LOSSLESS, ("image/webp", 300, 200)),
        (EXTENDED, ("image/webp", 300, 200)),
    ],
)
def test_a_header_tells_type_and_size_and_a_broken_one_nothing(data, expected):
    header = read_header(data)
    assert header is not None
    assert (header.media_type, header.width, header.height) == expected
    for length in range(min(len(data), 60)):
        read_header(data[:length])  # never raises


@pytest.mark.parametrize("data", [b"", b"BM..", b"\xff\xd8" + b"\xff" * 50, b"\xff\xd8" + b"\0" * 50, b"RIFF....WEBP"])
def test_other_bytes_have_no_header(data):
    assert read_header(data) is None


def test_bytes_are_stored_once_and_measured(database, row, fill):
    url = data_url(png(7, 5), "image/jpeg")
    fill("s", row("user", images=(Image(url, "image/jpeg", 0, 0), Image(url, "", 70, 50))))
    fill("t", row("user", images=(Image(url, "image/png", 0, 0),)))
    key = "sha256:" + hashlib.sha256(png(7, 5)).hexdigest()
    with database.read() as reader:
        first, second = source(reader, SourceRef("s", 1)).images
        assert first == Image(key, "image/png", 7, 5)
        assert second == Image(key, "image/png", 70, 50)
        stored = load_image(reader, key)
        assert (stored.data, stored.media_type, stored.width, stored.height) == (png(7, 5), "image/png", 7, 5)
        assert reader.one("SELECT count(*) FROM refold_image") == (1,)


@pytest.mark.parametrize(
    ("key", "data"),
    [
        ("data:image/x-odd;base64,AQID", b"\1\2\3"),
        ("data:image/x-odd;name=a;base64,AQI\nD", b"\1\2\3"),
        ("data:image/x-odd;base64,-_8", b"\xfb\xff"),
        ("data:image/x-odd,%01%02", b"\1\2"),
    ],
)
def test_data_urls_of_every_form_are_read(database, row, fill, key, data):
    fill("s", row("user", images=(Image(key, "", 0, 0),)))
    with database.read() as reader:
        (image,) = source(reader, SourceRef("s", 1)).images
        assert (image.media_type, image.width, image.height) == ("image/x-odd", 0, 0)
        assert load_image(reader, image.key).data == data


def test_a_data_url_that_cannot_be_read_says_so_in_its_key(database, row, fill):
    keys = (
        "data:image/png;base64,!\ud800",
        "data:no comma",
        "data:image/png;base64,A",
        "data:image/png;base64,",
        "data:image/png;base64,==",
        "data:image/png;base64, \n",
        "data:image/png;base64,!!!!",
        "data:image/png;base64,AAAA!BBBB",
        "data:image/svg+xml,",
        "data:image/svg+xml,\ud800",
    )
    fill("s", row("user", images=tuple(Image(key, "image/png", 0, 0) for key in keys)))
    with database.read() as reader:
        images = source(reader, SourceRef("s", 1)).images
        assert all(image.key.startswith("unreadable:") for image in images)
        with pytest.raises(NotFound):
            load_image(reader, images[0].key)


@pytest.mark.parametrize("text", ["-_8", "-_8=", "+/8=", " -_\r\n8=\n", "%2B/8%3D"])
def test_base64_is_read_in_either_alphabet_in_many_lines_and_with_or_without_its_padding(database, row, fill, text):
    fill("s", row("user", images=(Image(f"data:image/x-odd;base64,{text}", "", 0, 0),)))
    with database.read() as reader:
        (image,) = source(reader, SourceRef("s", 1)).images
        assert load_image(reader, image.key).data == b"\xfb\xff"


@pytest.mark.parametrize("size", [-1, 2**32, 10**30, True, 1.5, "a", None])
@pytest.mark.parametrize("edge", ["width", "height"])
def test_a_size_that_no_picture_has_is_refused(database, row, fill, size, edge):
    fill("s", row("user"))
    picture = Image("https://example.org/a.png", "image/png", **{"width": 0, "height": 2**32 - 1, edge: size})
    with pytest.raises(Refused, match="nothing was appended") as caught:
        fill("s", row("user"), row("user", images=(picture,)))
    assert "\n" not in str(caught.value)
    with database.read() as reader:
        assert last_seq(reader, "s") == 1


def test_a_link_and_a_picture_of_an_extension_stay_as_they_are(database, row, fill):
    images = (Image("https://example.org/a.png", "image/png", 3, 4), Image("page-1", "image/png", 5, 6, "snapcompact"))
    fill("s", row("user", images=images))
    with database.read() as reader:
        assert source(reader, SourceRef("s", 1)).images == images


def test_bytes_go_with_the_last_row_that_shows_them(database, row, fill):
    shared, own = data_url(png(2, 2), ""), data_url(png(3, 3), "")
    fill("s", row("user", images=(Image(shared, "", 0, 0),)), row("user", images=(Image(own, "", 0, 0),)))
    fork(database, "s", 1, "branch")
    with database.read() as reader:
        assert source(reader, SourceRef("branch", 1)).images == source(reader, SourceRef("s", 1)).images
    delete(database, "s")
    with database.read() as reader:
        assert reader.all("SELECT width FROM refold_image") == [(2,)]
    delete(database, "branch")
    with database.read() as reader:
        assert reader.one("SELECT (SELECT count(*) FROM refold_image) + (SELECT count(*) FROM refold_picture)") == (0,)
