"""What a model would read of a request: its text, and the text of its pages of pixels."""

from __future__ import annotations

import re

from refold import Image, Session
from refold.prepare.request import Prepared
from refold.values.messages import AssistantMessage, Message, ResultMessage, UserMessage
from refold_snapcompact.layout import part_cells
from refold_snapcompact.stream import readable, stream, window


def sent_text(prepared: Prepared) -> str:
    """All words of the request, white space evened out: a line that is broken anew is still the line."""
    texts = (prepared.request.system, *(text for each in prepared.request.messages for text in _texts(each)))
    return even("\n".join(texts))


def page_text(session: Session, prepared: Prepared) -> str:
    """The words on the pages in view, before they are drawn.

    The key of such a picture says which cells of the archive it shows; here these are read from the archive's table
    and turned back into text. It is what the drawing gets: whether a model reads it from pixels is not measured.
    """
    images = [image for each in prepared.request.messages for image in _images(each) if image.owner == "snapcompact"]
    if not images:
        return ""
    with session.host.database.read() as reader:
        parts = reader.all("SELECT text FROM snapcompact_archive WHERE session=? ORDER BY part", session.id)
    cells = "".join(part_cells(str(text)) for (text,) in parts)
    spans = ((int(start), int(length)) for start, length in (image.key.split("-")[2:4] for image in images))
    return even("".join(readable(window(cells, start, start + length)) for start, length in spans))


def on_page(mark: str) -> str:
    """A text as pages show it: characters without a glyph stand as their codes."""
    return even(readable(stream(mark)))


def stands(mark: str, text: str) -> bool:
    """Whether it stands in a text, and not as a part of a longer number or word; both evened."""
    return re.search(rf"(?<![0-9A-Za-z]){re.escape(mark)}(?![0-9A-Za-z])", text) is not None


def even(text: str) -> str:
    """The text with every run of white space as one space."""
    return " ".join(text.split())


def _texts(message: Message) -> list[str]:
    match message:
        case UserMessage(text=text) | ResultMessage(text=text):
            return [text]
        case AssistantMessage(text=text, calls=calls):
            return [text, *(str(value) for call in calls for value in call.arguments.values())]
    return []


def _images(message: Message) -> tuple[Image, ...]:
    return message.images if isinstance(message, UserMessage | ResultMessage) else ()
