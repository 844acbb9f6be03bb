"""The compactions that were applied, each recorded in the transaction of its first commit."""

from __future__ import annotations

from refold.transcript.database import Reader, Writer
from refold.transcript.sessions import count_compaction
from refold.values.outcome import DemandKind
from refold.values.rows import RowRange


def record(writer: Writer, session: str, strategy: str, demand: DemandKind, rows: RowRange) -> int:
    """Records one more applied compaction that folded `rows`; returns how many there are now."""
    number = count_compaction(writer, session)
    writer.execute(
        "INSERT INTO refold_compaction(session, n, strategy, demand, after, upto) VALUES(?, ?, ?, ?, ?, ?)",
        session,
        number,
        strategy,
        demand,
        rows.after,
        rows.upto,
    )
    return number


def asked_upto(reader: Reader, session: str) -> int:
    """The last row that a `manual` or `model` compaction folded; 0: none."""
    found = reader.one(
        "SELECT max(upto) FROM refold_compaction WHERE session=? AND demand IN ('manual', 'model')",
        session,
    )
    return int(found[0] or 0) if found else 0
