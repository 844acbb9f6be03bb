"""`window records` and `window undo`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refold import Command, Refused, Work

from refold_window import store
from refold_window.records import Record


def records(work: Work, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Every record of the session, oldest first."""
    return {"records": [_document(*each) for each in store.listed(work)]}


def undo(work: Work, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Takes the newest active record out of force; the one before it serves again. Raises Refused without one."""
    active = [values["id"] for values, active, _ in store.listed(work) if active]
    if not active:
        raise Refused(f"session {work.session} has no active window record; nothing was changed")
    work.commit(lambda writer: store.undo(writer, work.session, active[-1]))
    return records(work, arguments)


def _document(values: Mapping[str, Any], active: bool, record: Any) -> dict[str, Any]:
    known = record if isinstance(record, Record) else None
    retained = (known.dropped + 1, known.retained) if known and known.dropped < known.retained else (None, None)
    return {
        "id": values["id"],
        "kind": values["kind"],
        "first_seq": known.first if known else None,
        "last_seq": values["cut_seq"],
        "before_tokens": values["before"],
        "after_tokens": values["after"],
        "lossy": known.lossy if known else None,
        "active": active,
        "trigger": values["cause"],
        "reason": values["reason"],
        "cleared": len(known.cleared) if known else None,
        "summary": known.summary is not None if known else None,
        "retained_first_seq": retained[0],
        "retained_last_seq": retained[1],
        "problem": None if known else record.reason,
    }


_NOTHING: Mapping[str, Any] = {"type": "object", "properties": {}}

COMMANDS = (
    Command("window records", "List the checkpoints of a session, oldest first.", _NOTHING, records),
    Command("window undo", "Deactivate the newest checkpoint; the one before it serves again.", _NOTHING, undo),
)
