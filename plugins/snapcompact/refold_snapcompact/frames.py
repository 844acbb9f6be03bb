"""The pixels of pages: drawn when they are first needed, kept in memory for a while and in a table for good.

The table `snapcompact_frames` caches by geometry and content. A page that is lost from it is drawn again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from refold import Context, RefoldError, Work, Writer

from refold_snapcompact.layout import Page
from refold_snapcompact.png import png
from refold_snapcompact.raster import raster
from refold_snapcompact.shapes import Shape

MIGRATIONS = (
    """
    CREATE TABLE snapcompact_frames(
        session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        digest TEXT NOT NULL,  -- of geometry and text
        png BLOB NOT NULL,
        PRIMARY KEY (session, digest)
    )
    """,
)


class DrawingFailed(Exception):
    """A page could not be drawn; the words say why."""


@lru_cache(maxsize=96)  # a request's pages, between the projection that measures them and the encoding that sends them
def drawn(text: str, shape: Shape) -> bytes:
    """The PNG of a page. Raises DrawingFailed, whatever went wrong: a page must never cost a turn."""
    try:
        return png(raster(text, shape))
    except Exception as error:
        raise DrawingFailed(f"{type(error).__name__}: {error}") from error


def probe() -> None:
    """Raises DrawingFailed where no page at all could be drawn: a session that has no page yet must know it too."""
    try:
        _least()
    except Exception as error:
        raise DrawingFailed(f"{type(error).__name__}: {error}") from error


@cache
def _least() -> bytes:
    shape = Shape(8, 22, 64, 1)
    return png(raster("x", shape))


def sizes(context: Context, pages: Sequence[Page]) -> Mapping[str, int]:
    """Bytes of each page's PNG by digest; those that are not in the table are drawn. Raises DrawingFailed."""
    stored = context.read("SELECT digest, length(png) FROM snapcompact_frames WHERE session=?", context.session)
    known: dict[str, int] = dict(stored)
    return {page.digest: known.get(page.digest) or len(drawn(page.text, page.shape)) for page in pages}


def load(context: Context, page: Page) -> bytes | None:
    """The stored PNG of a page."""
    found = context.read(
        "SELECT png FROM snapcompact_frames WHERE session=? AND digest=?", context.session, page.digest
    )
    return found[0][0] if found else None


def fetch(context: Work, page: Page) -> bytes:
    """The PNG of a page, from the table or drawn and then put there. Raises DrawingFailed."""
    stored = load(context, page)
    if stored is not None:
        return stored
    data = drawn(page.text, page.shape)
    try:
        context.commit(lambda writer: _insert(writer, context.session, page, data))
    except RefoldError:  # a cache that cannot be written, busy say, must not keep the picture from its request
        return data
    return data


def replace(context: Work, writer: Writer, pages: Sequence[Page]) -> None:
    """Leaves these pages in the table, and no others: what a compaction showed before may never be asked for again.

    Pages that are stored already stay as they are, byte for byte.
    """
    kept = {page.digest for page in pages}
    stored = {
        digest for (digest,) in context.read("SELECT digest FROM snapcompact_frames WHERE session=?", context.session)
    }
    for digest in sorted(stored - kept):
        writer.execute("DELETE FROM snapcompact_frames WHERE session=? AND digest=?", context.session, digest)
    for page in pages:
        if page.digest not in stored:
            _insert(writer, context.session, page, drawn(page.text, page.shape))


def _insert(writer: Writer, session: str, page: Page, data: bytes) -> None:
    writer.execute("INSERT OR IGNORE INTO snapcompact_frames VALUES(?, ?, ?)", session, page.digest, data)
