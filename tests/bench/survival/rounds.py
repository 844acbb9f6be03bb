"""One session: planted rows, then work until it was compacted often enough; what stands after each compaction."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import evolve, field, frozen
from refold import Applied, CompactionFailed, Host, Row, Session, SourceRef
from refold.prepare.request import Prepared

from .filler import Work
from .planted import Planted, group
from .standing import even, on_page, page_text, sent_text, stands

ROUNDS = 10
_NEW = SourceRef("", 0)
_PATIENCE = 400
"""Turns of work without a compaction after which a run is given up: then the strategy is not due any more."""


@frozen
class Watched:
    """A planted row and the compactions it has lived through."""

    planted: Planted
    since: int


@frozen
class Tally:
    """Of planted rows by (kind, round): how many there were, stood as text, stood on a page only."""

    planted: Counter[tuple[str, int]] = field(factory=Counter)
    text: Counter[tuple[str, int]] = field(factory=Counter)
    pages: Counter[tuple[str, int]] = field(factory=Counter)
    kinds: Counter[str] = field(factory=Counter)
    """Compactions by what they were: `summary`, `pages`, `microcompact`."""
    faults: list[str] = field(factory=list)

    def add(self, other: Tally) -> None:
        """Takes in the figures of another session."""
        for mine, theirs in (
            (self.planted, other.planted),
            (self.text, other.text),
            (self.pages, other.pages),
            (self.kinds, other.kinds),
        ):
            mine.update(theirs)
        self.faults.extend(other.faults)


def survive(strategy: str, window: int, number: int, home: Path | None = None, rounds: int = ROUNDS) -> Tally:
    """Runs session `number` under a strategy.

    `home` is a folder with `models.json` and `extensions.json`; None: summaries are made offline.
    """
    with TemporaryDirectory() as folder:
        if home is not None:
            for name in ("models.json", "extensions.json"):
                if (home / name).is_file():
                    shutil.copy(home / name, Path(folder) / name)
        with Host(folder) as host:
            session = host.new()
            host.choose(strategy, True, session=session.id)
            return _Run(session, window, rounds, Work(f"filler {number}")).run(group(number))


class _Run:
    def __init__(self, session: Session, window: int, rounds: int, work: Work) -> None:
        self._session = session
        self._window = window
        self._rounds = rounds
        self._work = work
        self._turn = min(max(window // 3, 2_000), 16_000)  # characters: some thirty turns fill a window
        self._watched: list[Watched] = []
        self._done = 0  # compactions
        self._tally = Tally()

    def run(self, planted: list[Planted]) -> Tally:
        for at, each in enumerate(planted):
            self._watched.append(Watched(each, self._done))
            self._append(self._plant(each, at))
        last, idle = self._done, 0
        while self._done < last + self._rounds and idle < _PATIENCE:
            before = self._done
            self._append(self._work.turn(self._turn))
            idle = 0 if self._done > before else idle + 1
        if idle == _PATIENCE:
            self._tally.faults.append(f"no compaction in {idle} turns after {self._done}")
        return self._tally

    def _plant(self, each: Planted, at: int) -> list[Row]:
        """The row in its turn. Every fifth prompt comes with a pasted log, every fourth result stands inside a log."""
        work = self._work
        answer = Row(_NEW, "assistant", 0, 0, text=work.answer())
        if each.role == "user":
            paste = work.log(25) if at % 5 == 0 else ""
            text = (f"{paste}\n\n{each.text}" if at % 2 else f"{each.text}\n\n{paste}") if paste else each.text
            step = work.step("bash", "git status --short", work.log(4))
            return [Row(_NEW, "user", 0, 0, opens=True, text=text), *step, answer]
        prompt = Row(_NEW, "user", 0, 0, opens=True, text=work.prompt())
        if each.tool is None:
            return [prompt, *work.step("bash", "git log -3 --oneline", work.log(6)), evolve(answer, text=each.text)]
        text = f"{work.log(20)}\n{each.text}\n{work.log(20)}" if at % 4 == 0 else each.text
        return [prompt, *work.step(*each.tool, text), answer]

    def _append(self, rows: list[Row]) -> None:
        """Appends a turn, and compacts behind it when that is due, as before the next call of a model."""
        self._session.append(rows)
        if not self._session.check(self._window).due:
            return
        prepared = self._session.prepare(self._window)
        if not _applied(prepared):
            try:
                prepared = self._session.compact(self._window)
            except CompactionFailed as error:
                self._tally.faults.append(str(error))
                return
        if _applied(prepared):
            self._count(prepared)

    def _count(self, prepared: Prepared) -> None:
        assert prepared.attempted is not None
        assert isinstance(prepared.attempted.outcome, Applied)
        self._done += 1
        self._tally.kinds[prepared.attempted.outcome.kind] += 1
        text, pages = sent_text(prepared), page_text(self._session, prepared)
        for each in self._watched:
            age = self._done - each.since
            if age > self._rounds:
                continue
            key = (each.planted.kind, age)
            self._tally.planted[key] += 1
            if stands(even(each.planted.mark), text):
                self._tally.text[key] += 1
            elif stands(on_page(each.planted.mark), pages):
                self._tally.pages[key] += 1


def _applied(prepared: Prepared) -> bool:
    return prepared.attempted is not None and isinstance(prepared.attempted.outcome, Applied)
