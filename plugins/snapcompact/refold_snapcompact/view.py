"""What a request shows of an archive: its pages for the model at hand, within every budget."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from refold import Context, Fact, Note, RowRange, Section
from refold_snapcompact_memory.archive import Archive

from refold_snapcompact import captions, frames
from refold_snapcompact.layout import Page, Span, page, spans
from refold_snapcompact.plan import INLINE_BYTES, Budget, Selection, budget, crowded, selections
from refold_snapcompact.settings import SnapcompactSettings
from refold_snapcompact.shapes import Shape, affordable, shape_for


@frozen
class View:
    """Pages in view, oldest first, of `count`. `dropped` cells are on pages that no budget has room for; `crowded`
    pages stand back for the pictures of the newest turns."""

    shape: Shape
    pages: tuple[Page, ...]
    count: int
    dropped: int
    first_shown: bool
    crowded: int
    limits: Budget
    bytes: int


def view(context: Context, archive: Archive, tail: RowRange) -> View | None:
    """The view of an archive beside the rows of `tail`; None when the model takes no picture that could hold a row.

    Raises DrawingFailed.
    """
    shape = shape_for(context.model)
    if shape is None:
        return None
    settings = context.settings(SnapcompactSettings)
    shape = affordable(shape, context.window.share(settings.archive_percent), context.sizing.image)
    full = context.sizing.image(shape.width, shape.height(shape.rows))
    limits = budget(context.model, context.window, settings, full)
    all_spans = spans(archive, shape)
    known: dict[int, Page] = {}
    for selection in selections(len(all_spans), limits.pages):
        for at in selection.pages:
            if at not in known:
                known[at] = page(context, archive, shape, at + 1, all_spans[at])
        pages = [known[at] for at in selection.pages]
        sizes = frames.sizes(context, pages)
        total = sum(sizes[each.digest] for each in pages)
        if sum(base64_bytes(sizes[each.digest]) for each in pages) <= INLINE_BYTES:
            break
    away = crowded(len(pages), len(context.history.images(tail)), limits)
    shown = _without(pages, away, selection.first)
    return View(
        shape, tuple(shown), len(all_spans), _dropped(all_spans, selection), selection.first, away, limits, total
    )


def base64_bytes(size: int) -> int:
    """Bytes of that many bytes as base64.

    >>> base64_bytes(3), base64_bytes(4)
    (4, 8)
    """
    return -(-size // 3) * 4


def section(seen: View, covers: RowRange) -> Section:
    """The pages with the words around them. An archive without a word has no page, and says nothing."""
    inputs: tuple[Note, ...] = ()
    if seen.count:
        first = Note(captions.caption(seen.dropped, seen.first_shown), tuple(each.image for each in seen.pages))
        inputs = (first, Note(captions.ending(seen.crowded)))
    rows = f"rows {covers.after + 1}-{covers.upto}"
    count = len(seen.pages)
    label = f"archived {rows} as {count} {'page' if count == 1 else 'pages'}"
    return Section("frames", label, "frames", inputs, covers)


def facts(context: Context, seen: View) -> tuple[Fact, ...]:
    """Lines for `/context`: the numbers, and where each page is to be seen."""
    command = f"refold snapcompact render {context.session} --out DIR"
    lines = [
        Fact("pages shown", f"{len(seen.pages)} of {seen.count} ({seen.bytes:,} bytes)"),
        Fact("page budget", f"{seen.limits.pages} by {seen.limits.source}"),
    ]
    if seen.dropped:
        lines.append(Fact("cells not shown", f"{seen.dropped:,}; kept in the archive"))
    if seen.crowded:
        lines.append(Fact("pages behind other pictures", str(seen.crowded)))
    for each in seen.pages:
        size = f"{each.shape.width}x{each.height}"
        rows = f"rows {each.rows.after + 1}-{each.rows.upto}"
        lines.append(Fact(f"page {each.number}", f"{rows} · {size} · {file_name(each)} of '{command}'"))
    return tuple(lines)


def file_name(shown: Page) -> str:
    """The name of a page's file."""
    return f"page-{shown.number:04}.png"


def _without(pages: Sequence[Page], away: int, first: bool) -> Sequence[Page]:
    """The pages but for `away` of them, the oldest behind the first page; that one leaves last."""
    if away >= len(pages):
        return ()
    keep = 1 if first else 0
    return [*pages[:keep], *pages[keep + away :]]


def _dropped(all_spans: Sequence[Span], selection: Selection) -> int:
    start = 1 if selection.first else 0
    return sum(span.length for span in all_spans[start : selection.after])
