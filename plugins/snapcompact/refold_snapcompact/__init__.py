"""A refold strategy: older history as pages of pixels, the newest turns verbatim. No model is called to compact."""

from __future__ import annotations

from collections.abc import Sequence

from refold import Command, CompactionStrategy, Image, Manifest, Work, hookimpl
from refold_snapcompact_memory import archive as archives

from refold_snapcompact import frames
from refold_snapcompact.layout import find
from refold_snapcompact.render import COMMAND
from refold_snapcompact.settings import SnapcompactSettings
from refold_snapcompact.strategy import Snapcompact


@hookimpl
def manifest() -> Manifest:
    return Manifest(
        id="snapcompact",
        title="Snapcompact",
        summary="Older history as pages of pixels, the newest turns verbatim; no model is called",
        requires=("snapcompact-memory",),
        uses=("rolling",),
        store="snapcompact",
        settings=SnapcompactSettings,
    )


@hookimpl
def migrations() -> Sequence[str]:
    return frames.MIGRATIONS


@hookimpl
def compaction_strategy() -> CompactionStrategy:
    return Snapcompact()


@hookimpl
def image_bytes(context: Work, image: Image) -> bytes | None:
    """A page by its key: any page of the archive in force, in any model's shape."""
    archive = archives.load(context)
    page = find(context, archive, image.key) if archive is not None else None
    return frames.fetch(context, page) if page is not None else None


@hookimpl
def commands() -> Sequence[Command]:
    return [COMMAND]
