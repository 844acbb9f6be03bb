"""What a message shows: words for a blank text, and which pictures go out as pixels and which as a line of text."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable

from attrs import define, frozen

from refold.providers.decodable import media_type
from refold.values.errors import NotFound
from refold.values.messages import Message, Request, ResultMessage, UserMessage
from refold.values.rows import Image

ImageBytes = Callable[[Image], bytes]
"""The bytes of a picture, from the transcript or from the extension that owns it. Raises NotFound."""

EMPTY = "(empty)"
"""A blank message of the user: no provider takes one."""

NO_OUTPUT = "(no output)"
"""A blank result."""

NOT_TAKEN = "the provider does not take this type"


@frozen
class Picture:
    """A picture as it is sent: its media type, and its bytes as base64 text."""

    media_type: str
    base64: str

    @property
    def data_url(self) -> str:
        """The picture as a `data:` URL."""
        return f"data:{self.media_type};base64,{self.base64}"


Look = Callable[[Image], Picture]
"""A picture as it is sent. Raises NotFound when nobody has its bytes, Undecodable when no model could see it."""


class Undecodable(Exception):
    """The bytes are no picture, or one that breaks off: a provider would refuse the whole request."""


_KNOWN = 4_096
_types: dict[tuple[int, int], str | None] = {}
"""What was found in bytes, by their length and hash: most pictures are sent again with every request."""


def looking(image_bytes: ImageBytes) -> Look:
    """Pictures as they are sent, each under the type that its bytes have, whatever it was said to be."""

    def look(image: Image) -> Picture:
        data = image_bytes(image)
        if not data:
            raise NotFound(f"there are no bytes of picture {image.key[:80]!r}")
        found = _type(data)
        if found is None:
            raise Undecodable
        same = {found, image.media_type} == {"image/heic", "image/heif"}
        return Picture(image.media_type if same else found, b64encode(data).decode("ascii"))

    return look


def _type(data: bytes) -> str | None:
    key = (len(data), hash(data))
    if key not in _types:
        if len(_types) >= _KNOWN:
            _types.clear()
        return _types.setdefault(key, media_type(data))
    return _types[key]


@define
class Pictures:
    """The pictures of one request, asked for in the order in which they stand in it.

    A picture becomes a line of text when the model reads no images, when the provider does not take its media type,
    when nobody has its bytes or they cannot be decoded, or when newer pictures fill the model's number of images. In
    the last case the oldest leave by a quarter of that number at a time: each leaving changes bytes that were sent
    before, so a few at once keep the prompt cache longer.
    """

    media_types: frozenset[str]
    look: Look
    reads: bool
    most: int | None
    crowded_out: int
    _taken: int = 0

    def show(self, text: str, images: tuple[Image, ...]) -> tuple[str, list[Picture]]:
        """The text with a line for each picture that stays out, "" when it is blank; and the pictures to send."""
        if not images:
            return ("" if text.isspace() else text), []
        shown: list[Picture] = []
        lines = [text] if text and not text.isspace() else []
        for image in images:
            found = self._omitted(image) or self._look(image)
            if isinstance(found, Picture):
                shown.append(found)
            else:
                lines.append(_line(image, found))
        return "\n".join(lines), shown

    def _look(self, image: Image) -> Picture | str:
        """The picture, or why it stays out; the words around it are still worth sending."""
        try:
            picture = self.look(image)
        except NotFound:  # a link, say, or an extension that is gone
            return f"its bytes are not in {'the transcript' if image.owner is None else image.owner}"
        except Undecodable:
            return "its bytes are no picture that can be decoded"
        return picture if picture.media_type in self.media_types else NOT_TAKEN

    def _omitted(self, image: Image) -> str | None:
        if not self.reads:
            return "the model reads text only"
        if image.media_type not in self.media_types:
            return NOT_TAKEN
        self._taken += 1
        if self._taken <= self.crowded_out:
            return f"the model takes {self.most} images, newer ones are shown"
        return None


def pictures(request: Request, media_types: frozenset[str], look: Look) -> Pictures:
    """The pictures of a request for a protocol that takes these media types."""
    model = request.model
    reads = model.inputs is None or "image" in model.inputs
    crowded_out = 0
    if reads and model.max_images is not None:
        count = sum(_count(message, media_types) for message in request.messages)
        if count > model.max_images:
            batch = max(1, model.max_images // 4)
            crowded_out = min(count, -(-(count - model.max_images) // batch) * batch)
    return Pictures(media_types, look, reads, model.max_images, crowded_out)


def _count(message: Message, media_types: frozenset[str]) -> int:
    if isinstance(message, (UserMessage, ResultMessage)):
        return sum(image.media_type in media_types for image in message.images)
    return 0


def _line(image: Image, reason: str) -> str:
    size = f"{image.width}x{image.height}" if image.width > 0 and image.height > 0 else "of unknown size"
    return f"[image {image.media_type} {size} omitted: {reason}]"
