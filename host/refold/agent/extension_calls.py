"""What a session asks of one extension outside of a request: a command, the bytes of a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refold.prepare.context import View
from refold.prepare.work import Bench, BoundWork, PictureWork
from refold.values.errors import NotFound
from refold.values.rows import Image


def picture(view: View, bench: Bench, image: Image) -> bytes:
    """The bytes of a picture that an extension makes. Raises NotFound."""
    extension = view.composition.extension(image.owner or "")
    made: bytes | None = extension.hook.image_bytes(context=PictureWork(view, extension, bench), image=image)
    if made is None:
        raise NotFound(f"{image.owner} has no picture {image.key}")
    return made


def run(view: View, bench: Bench, command: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Runs a command of an enabled extension. Raises NotFound, or what the command raises."""
    for extension, offered in view.composition.commands:
        if offered.name == command:
            return offered.run(BoundWork(view, extension, bench), arguments)
    raise NotFound(f"no enabled extension has a command {command!r}")
