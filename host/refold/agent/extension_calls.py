"""What a session asks of one extension outside of a request: a tool, a command, the bytes of a picture."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from attrs import define

from refold.agent.app_input import discard
from refold.prepare.context import BoundContext, View
from refold.prepare.listen import say
from refold.prepare.work import Bench, BoundWork, PictureWork
from refold.registry.answers import checked
from refold.values.errors import NotFound, RefoldError
from refold.values.rows import Image
from refold.values.tools import CallContext


@define(eq=False)
class BoundToolContext(BoundContext):
    """`ToolContext`: the context of an extension's tool, with the call that it answers."""

    running: CallContext

    @property
    def call_id(self) -> str:
        return self.running.call_id

    @property
    def stop(self) -> threading.Event:
        return self.running.stop

    def cancelled(self) -> bool:
        return self.running.cancelled()

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        self.running.progress(done, total, text)


def picture(view: View, bench: Bench, image: Image) -> bytes:
    """The bytes of a picture that an extension makes. Raises NotFound, RefoldError when the extension fails."""
    extension = view.composition.extension(image.owner or "")
    try:
        made = extension.hook.image_bytes(context=PictureWork(view, extension, bench), image=image)
        found = None if made is None else checked(made, bytes)
    except (Exception, SystemExit) as error:
        raise RefoldError(f"{image.owner} could not make the picture {image.key} ({say(error)})") from error
    if found is None:
        raise NotFound(f"{image.owner} has no picture {image.key}")
    return found


def run(view: View, bench: Bench, command: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Runs a command of an enabled extension. Raises NotFound, or what the command raises; RefoldError for an answer
    that is no mapping, such as the coroutine of an async function: commands are plain ones."""
    for extension, offered in view.composition.commands:
        if offered.name == command:
            answer: object = offered.run(BoundWork(view, extension, bench), arguments)
            if isinstance(answer, Mapping):
                return answer
            discard(answer)
            raise RefoldError(f"{extension.id}: the command {command} answered {type(answer).__name__}, not a mapping")
    raise NotFound(f"no enabled extension has a command {command!r}")
