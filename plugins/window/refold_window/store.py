"""The table of window records. Rows are added and switched off, never rewritten."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from refold import Context, Cut, Fork, Writer

from refold_window.records import Record, Unreadable, fault

FORMAT = 1

MIGRATIONS = (
    """
    CREATE TABLE window_record(
        session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        id INTEGER NOT NULL,            -- 1, 2, 3 in its session
        format INTEGER NOT NULL,
        active INTEGER NOT NULL CHECK (active IN (0, 1)),  -- 0: undone
        kind TEXT NOT NULL,             -- microcompact, collapse, summary, drop
        base INTEGER NOT NULL,          -- the last row that folds of other extensions stood for
        summarized INTEGER NOT NULL,    -- the last row that the summary stands for; base: none
        dropped INTEGER NOT NULL,       -- the last row that left without one; summarized: none
        cut_seq INTEGER NOT NULL,       -- the last row that was rewritten
        cut_tokens INTEGER NOT NULL,    -- the running total at that row, as a check
        retained INTEGER NOT NULL,      -- the newest row when the record was written
        before INTEGER NOT NULL,        -- tokens of the request
        after INTEGER NOT NULL,
        cause TEXT NOT NULL,            -- automatic, manual, overflow, model
        reason TEXT NOT NULL,
        summary TEXT,
        model TEXT NOT NULL,
        cleared TEXT NOT NULL,          -- JSON: row to receipt
        run INTEGER NOT NULL,           -- summaries in a row without a request that fitted
        told INTEGER NOT NULL,
        PRIMARY KEY (session, id)
    )
    """,
)

_COLUMNS = (
    "id, format, active, kind, base, summarized, dropped, cut_seq, cut_tokens, retained, before, after, cause, reason,"
    " summary, model, cleared, run, told"
)


def serving(context: Context) -> Iterator[Record | Unreadable]:
    """The records that are not undone, newest first, each looked up when it is asked for.

    One that is not admitted comes as `Unreadable`, and the one before it follows.
    """
    below = 2**62
    while found := context.read(
        f"SELECT {_COLUMNS} FROM window_record WHERE session=? AND active=1 AND id<? ORDER BY id DESC LIMIT 1",
        context.session,
        below,
    ):
        below = found[0][0]
        yield _admitted(context, found[0])


def listed(context: Context) -> list[tuple[Mapping[str, Any], bool, Record | Unreadable]]:
    """Every record, oldest first: its columns, whether it is active (not undone, and admitted), what it became."""
    found = context.read(f"SELECT {_COLUMNS} FROM window_record WHERE session=? ORDER BY id", context.session)
    names = _COLUMNS.split(", ")
    every: list[tuple[Mapping[str, Any], bool, Record | Unreadable]] = []
    for values in found:
        record = _admitted(context, values)
        every.append((dict(zip(names, values, strict=True)), bool(values[2]) and isinstance(record, Record), record))
    return every


def next_id(context: Context) -> int:
    """The id of the next record."""
    found = context.read("SELECT max(id) FROM window_record WHERE session=?", context.session)
    return int(found[0][0] or 0) + 1


def add(writer: Writer, session: str, record: Record) -> None:
    """Puts a record in force."""
    writer.execute(
        f"INSERT INTO window_record(session, {_COLUMNS}) VALUES(?{', ?' * 19})",
        session,
        record.id,
        FORMAT,
        1,
        record.kind,
        record.base,
        record.summarized,
        record.dropped,
        record.cut.seq,
        record.cut.tokens,
        record.retained,
        record.before,
        record.after,
        record.trigger,
        record.reason,
        record.summary,
        record.model,
        json.dumps({str(seq): line for seq, line in sorted(record.cleared.items())}),
        record.run,
        int(record.told),
    )


def undo(writer: Writer, session: str, id: int) -> None:
    """Takes a record out of force; it stays listed."""
    writer.execute("UPDATE window_record SET active=0 WHERE session=? AND id=?", session, id)


def copy(fork: Fork) -> None:
    """Takes along the records whose range lies before the point of the fork. The others stay with the source alone.

    A record stands for whole turns, so a row must follow them: else the branch would begin with its newest turn folded.
    """
    fork.write.execute(
        f"INSERT INTO window_record(session, {_COLUMNS})"
        " SELECT ?, id, format, active, kind, base, summarized, dropped, cut_seq, cut_tokens, min(retained, ?), before,"
        " after, cause, reason, summary, model, cleared, run, told FROM window_record"
        " WHERE session=? AND cut_seq<=? AND dropped<?",
        fork.target,
        fork.at,
        fork.source,
        fork.at,
        fork.at,
    )


def _admitted(context: Context, values: tuple[Any, ...]) -> Record | Unreadable:
    id, format = values[0], values[1]
    if format != FORMAT:
        return Unreadable(id, f"it was written in format {format}, this version reads {FORMAT}")
    try:
        record = _record(values)
        reason = fault(record, holds=context.history.holds(record.cut))
    except (TypeError, ValueError, AttributeError):
        return Unreadable(id, "its columns are damaged")
    return record if reason is None else Unreadable(id, reason)


def _record(values: tuple[Any, ...]) -> Record:
    (
        id, _, _, kind, base, summarized, dropped, seq, tokens, retained,
        before, after, cause, reason, summary, model, cleared, run, told,
    ) = values  # fmt: skip
    lines = {int(key): str(line) for key, line in json.loads(cleared).items()}
    return Record(
        id=id,
        kind=kind,
        base=base,
        summarized=summarized,
        dropped=dropped,
        cut=Cut(seq, tokens),
        retained=retained,
        before=before,
        after=after,
        trigger=cause,
        reason=reason,
        summary=summary,
        model=model,
        cleared=lines,
        run=run,
        told=bool(told),
    )
