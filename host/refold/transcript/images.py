"""Pictures: stored once by the digest of their bytes, named `sha256:<hex>`."""

from __future__ import annotations

import base64
import hashlib
import re
import urllib.parse

from attrs import frozen

from refold.transcript.database import Reader, Writer
from refold.transcript.image_header import read_header
from refold.values.errors import NotFound
from refold.values.rows import Image

PREFIX = "sha256:"
_ONE_ALPHABET = bytes.maketrans(b"-_", b"+/")
_DATA_URL = re.compile(r"data:([^,;]*)((?:;[^,;]*)*),", re.IGNORECASE)


@frozen
class StoredImage:
    """A picture with its bytes. Sizes are pixels; 0 by 0: its header could not be read."""

    key: str
    media_type: str
    width: int
    height: int
    data: bytes


def data_url(data: bytes, media_type: str) -> str:
    """The key by which bytes travel into the transcript.

    >>> data_url(b"GIF", "image/gif")
    'data:image/gif;base64,R0lG'
    """
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def stored_key(image: Image) -> str:
    """The key under which `store_image` keeps a picture; nothing is stored."""
    if image.owner is not None or image.key[:5].lower() != "data:":
        return image.key
    return _key(image.key, _bytes(image.key))


def store_image(writer: Writer, image: Image) -> Image:
    """Stores the bytes of a picture that travels as a `data:` URL and returns it by its digest; any other as it is.

    Type and size are read from the bytes; a size that the picture already carries is kept. A URL that cannot be read
    or that holds none becomes the key `unreadable:<digest of the URL>`, without bytes.
    """
    if image.owner is not None or image.key[:5].lower() != "data:":
        return image
    data = _bytes(image.key)
    key = _key(image.key, data)
    if data is None:
        return Image(key, image.media_type, image.width, image.height)
    header = read_header(data)
    named = _DATA_URL.match(image.key)
    media_type = header.media_type if header else image.media_type or (named[1] if named else "")
    width, height = (header.width, header.height) if header else (0, 0)
    writer.execute(
        "INSERT INTO refold_image(digest, type, width, height, data) VALUES(?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        key.removeprefix(PREFIX),
        media_type,
        width,
        height,
        data,
    )
    if image.width > 0 and image.height > 0:
        width, height = image.width, image.height
    return Image(key, media_type, width, height)


def load_image(reader: Reader, key: str) -> StoredImage:
    """The picture named `sha256:<hex>`. Raises NotFound when the transcript does not hold its bytes."""
    found = reader.one("SELECT type, width, height, data FROM refold_image WHERE digest=?", key.removeprefix(PREFIX))
    if found is None or not key.startswith(PREFIX):
        raise NotFound(f"the transcript holds no bytes of picture {key[:80]!r}")
    return StoredImage(key, *found)


def drop_unused(writer: Writer, keys: set[str]) -> int:
    """Removes the bytes of those pictures that no row shows any more; returns how many."""
    unused = [key for key in sorted(keys) if not writer.one("SELECT 1 FROM refold_picture WHERE key=? LIMIT 1", key)]
    for key in unused:
        writer.execute("DELETE FROM refold_image WHERE digest=?", key.removeprefix(PREFIX))
    return len(unused)


def _key(url: str, data: bytes | None) -> str:
    if data is None:
        return "unreadable:" + hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()
    return PREFIX + hashlib.sha256(data).hexdigest()


def _bytes(url: str) -> bytes | None:
    head = _DATA_URL.match(url)
    if head is None:
        return None
    try:
        payload = urllib.parse.unquote_to_bytes(url[head.end() :])
        if head[2].lower().endswith(";base64"):
            payload = _from_base64(payload)
    except ValueError:  # no base64, or a lone surrogate
        return None
    return payload or None


def _from_base64(text: bytes) -> bytes:
    """Bytes from either alphabet, padded or not, in one line or in many. Raises ValueError for anything else."""
    plain = text.translate(_ONE_ALPHABET, b" \t\r\n").rstrip(b"=")
    return base64.b64decode(plain + b"=" * (-len(plain) % 4), validate=True)
