"""`refold snapcompact render SESSION --out DIR`: the pages of the next request, as files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from refold import Command, Refused, Work
from refold_snapcompact_memory import archive as archives

from refold_snapcompact import frames
from refold_snapcompact.layout import Page
from refold_snapcompact.strategy import base_of
from refold_snapcompact.stream import readable
from refold_snapcompact.view import file_name, view


def render(context: Work, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Writes the pages in view for the session's model. Raises Refused when nothing is archived or none can be drawn.

    `tokens` is what the pages cost in a request, `text_tokens` what their text would.
    """
    base = base_of(context)
    if archives.load(context) is not None and not base.archive.parts:
        raise Refused(
            f"folds of other extensions stand for all that is archived of {context.session}; no page is in view and "
            "no file was written"
        )
    if not base.archive.parts:
        raise Refused(
            f"nothing of {context.session} is archived; no file was written; "
            f"'refold compact {context.session} snapcompact' archives what is old"
        )
    try:
        seen = view(context, base.archive, base.rest.range)
        data = (
            []
            if seen is None
            else [frames.load(context, page) or frames.drawn(page.text, page.shape) for page in seen.pages]
        )
    except frames.DrawingFailed as error:
        raise Refused(f"a page could not be drawn ({error}); no file was written") from error
    if seen is None:
        raise Refused(f"{context.model.id} takes no picture that could hold a line; no file was written")
    folder = Path(arguments["out"]).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for page, png in zip(seen.pages, data, strict=True):
            (folder / file_name(page)).write_bytes(png)
    except OSError as error:
        raise Refused(f"{folder} cannot be written ({error}); choose another folder") from error
    pages = [_line(context, page, len(png)) for page, png in zip(seen.pages, data, strict=True)]
    text = readable("".join(page.text for page in seen.pages))
    return {
        "pages": pages,
        "count": len(pages),
        "dropped": seen.dropped,
        "tokens": sum(page["tokens"] for page in pages),
        "text_tokens": context.sizing.text(text),
    }


def _line(context: Work, page: Page, size: int) -> dict[str, Any]:
    return {
        "file": file_name(page),
        "width": page.shape.width,
        "height": page.height,
        "bytes": size,
        "tokens": context.sizing.image(page.shape.width, page.height),
        "characters": len(readable(page.text)),
    }


COMMAND = Command(
    name="snapcompact render",
    summary="Write the archived pages of a session as PNG files; say what they cost, and what their text would.",
    parameters={
        "type": "object",
        "properties": {
            "session": {"type": "string", "description": "the session"},
            "out": {"type": "string", "description": "the folder to write them into"},
        },
        "required": ["out"],
    },
    run=render,
)
