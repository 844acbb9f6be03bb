"""The texts that rolling puts in front of the tail. Equal arguments give equal bytes."""

from __future__ import annotations

from collections.abc import Iterable

from refold import Row

from refold_rolling.graphemes import boundary

SUMMARY_OPENS = "[older conversation summary; model-generated]"
EXTRACT_OPENS = "[older conversation summary; extracted without a model]"
SUMMARY_ENDS = "[end older conversation summary]"
RECAP_OPENS = "[recent user excerpts; verbatim and possibly truncated]"
RECAP_ENDS = "[end recent user excerpts]"
EXCERPT = "--- user excerpt ---"
EXTRACT = "offline"
"""What `Summary.model` names where no model wrote it."""

IMAGE = "[image omitted from recap]"

EXCERPT_CHARACTERS = 400
EXCERPTS = 3

_MARKERS = (SUMMARY_OPENS, EXTRACT_OPENS, SUMMARY_ENDS, RECAP_OPENS, RECAP_ENDS, EXCERPT)


def summary_text(summary: str, model: str) -> str:
    """The summary between its markers, which say who wrote it."""
    return f"{EXTRACT_OPENS if model == EXTRACT else SUMMARY_OPENS}\n{_inert(summary)}\n{SUMMARY_ENDS}"


def recap_text(rows: Iterable[Row]) -> str:
    """Excerpts of user rows between markers, oldest first: at most 400 characters each, pictures named only."""
    excerpts = []
    for row in rows:
        lines = [_inert(excerpt(row.text))] if row.text.strip() else []
        excerpts.append("\n".join(lines + [IMAGE] * len(row.images)))
    return f"\n{EXCERPT}\n".join([RECAP_OPENS, *excerpts]) + f"\n{RECAP_ENDS}"


def excerpt(text: str) -> str:
    """The text, cut to 400 characters and an ellipsis. What a reader sees as one character is never cut apart."""
    if len(text) <= EXCERPT_CHARACTERS:
        return text
    end = boundary(text, EXCERPT_CHARACTERS)
    return text[: end or EXCERPT_CHARACTERS].rstrip() + "…"


def _inert(text: str) -> str:
    """Text from the transcript cannot close or open a part: a marker inside it loses its bracket."""
    for marker in _MARKERS:
        text = text.replace(marker, f"({marker[1:-1]})" if marker.startswith("[") else marker.replace("---", "—"))
    return text
