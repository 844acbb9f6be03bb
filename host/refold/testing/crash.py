"""A process that dies without a word: the files of its home as they lie on the disk, opened by another one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from refold.agent.host import Host
from refold.testing import rules
from refold.testing.case import Case
from refold.testing.elsewhere import ready
from refold.testing.looking import look
from refold.testing.summarizer import ScriptedSummarizer
from refold.transcript.rows import RawRow, raw_rows
from refold.values.errors import RefoldError
from refold.values.rows import RowRange

_HOME = ("refold.db", "refold.db-wal", "extensions.json", "installed.json")


def copied(home: Path, target: Path) -> None:
    """The files of a home as they lie on the disk at this instant."""
    target.mkdir(exist_ok=True)
    for name in _HOME:
        (target / name).unlink(missing_ok=True)
        if (home / name).exists():
            shutil.copyfile(home / name, target / name)


def found_after(home: Path, session: str, window: int | None, rows: Sequence[RawRow], case: Case) -> str | None:
    """What is wrong in the home of a process that died while a summary was being written; None: nothing is."""
    try:
        with Host(home, summarizers=[ScriptedSummarizer(case.reply)]) as host:
            with host.database.read() as reader:
                if list(raw_rows(reader, session)) != list(rows):
                    return "rows differ"
            found = ready(host.session(session))
            seen = look(found, window)
            found.prepare(window)
    except RefoldError as error:
        return str(error)
    span = RowRange(session, 0, len(seen.rows))
    return rules.accounted(seen.projection, span) or rules.paired(seen.projection, seen.rows)
