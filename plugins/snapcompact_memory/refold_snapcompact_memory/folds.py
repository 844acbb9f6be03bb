"""The archive as folds: each part is the text of a range of rows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from refold import Context, Fold, History

from refold_snapcompact_memory.archive import Part, load

HEAD = "[rows {first}-{last} of this conversation, written out; transcript_read {first} reads them word for word]"

_CONTINUED = re.compile(r"\n(?!¶)")


class ArchiveFolds:
    """The parts of the archive from the first row of a history up to the archive's cut."""

    owner = "snapcompact"

    def folds(self, context: Context, history: History) -> Sequence[Fold]:
        archive = load(context)
        if archive is None or archive.cut.seq <= history.range.after:
            return ()
        offered = archive.behind(history.range.after)
        parts = offered.parts
        texts = offered.texts(context, parts[0].number, parts[-1].number)
        return [_fold(part, text) for part, text in zip(parts, texts, strict=True)]


def _fold(part: Part, text: str) -> Fold:
    first, last = part.covers.after + 1, part.covers.upto
    head = HEAD.format(first=first, last=last)
    # Indented, a line of a row can pass neither for an entry nor for a mark of whoever reads the fold.
    inert = _CONTINUED.sub("\n ", text)
    return Fold("snapcompact", f"rows-{first}-{last}", f"archived rows {first}-{last}", f"{head}\n{inert}", part.covers)
