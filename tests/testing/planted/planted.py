"""Strategies with one fault each, and one without: what a conformance suite must tell apart."""

from __future__ import annotations

import random
from collections.abc import Sequence
from time import strftime

import apsw
from attrs import define
from refold import (
    Applied,
    Context,
    Cut,
    Demand,
    Manifest,
    Note,
    Nothing,
    Observation,
    Outcome,
    Projection,
    RowRange,
    Rows,
    Section,
    Work,
    hookimpl,
)


@define
class Honest:
    """One summary and the newest turns."""

    table: str = ""

    def project(self, context: Context) -> Projection:
        return Projection(self.sections(context), context.window.share(80), Observation("whole", "planted"))

    def sections(self, context: Context) -> tuple[Section, ...]:
        found = self.state(context)
        rows = context.history.range
        if found is None:
            return self.shown(context, rows)
        text, cut = found
        summary = Section("summary", "summary", "summary", (Note(text),), RowRange(rows.session, 0, cut.seq))
        return (summary, *self.shown(context, context.history.since(cut.seq).range))

    def state(self, context: Context) -> tuple[str, Cut] | None:
        found = context.read(f"SELECT text, seq, tokens FROM {self.table} WHERE session=?", context.session)
        if not found or not context.history.holds(Cut(*found[0][1:])):
            return None
        return found[0][0], Cut(*found[0][1:])

    def shown(self, context: Context, rows: RowRange) -> tuple[Section, ...]:
        return (Section("tail", "newest turns", "tail", (Rows(rows),)),) if len(rows) else ()

    def cut(self, context: Work, after: int) -> int | None:
        rest = context.history.since(after)
        return rest.tail(min(context.window.tokens or rest.size(), rest.size()) // 4)

    def text(self, context: Work, rows: RowRange, previous: str) -> str:
        return context.summarize(rows, previous=previous).text

    def compact(self, context: Work, demand: Demand) -> Outcome:
        text, after = self.state(context) or ("", Cut(0, 0))
        upto = self.cut(context, after.seq)
        if upto is None or upto <= after.seq:
            return Nothing("nothing is older than the newest turn")
        rows = RowRange(context.session, after.seq, upto)
        context.begin(rows)
        text = self.text(context, rows, text)
        cut = context.history.cut(upto)
        context.commit(
            lambda writer: writer.execute(
                f"INSERT OR REPLACE INTO {self.table} VALUES(?, ?, ?, ?)", context.session, text, cut.seq, cut.tokens
            )
        )
        return Applied(rows)


class LosesARow(Honest):
    def shown(self, context: Context, rows: RowRange) -> tuple[Section, ...]:
        return super().shown(context, RowRange(rows.session, min(rows.upto, rows.after + rows.after // 4), rows.upto))


class PartsCallAndResult(Honest):
    def cut(self, context: Work, after: int) -> int | None:
        upto = super().cut(context, after)
        rows = list(context.history.rows())
        results = [row.ref.seq for row in rows[: upto or 0] if row.kind == "result" and row.ref.seq > after + 1]
        return results[-1] - 1 if results else upto


class DropsThePrompt(Honest):
    def cut(self, context: Work, after: int) -> int | None:
        return context.history.range.upto


class WritesInProject(Honest):
    def project(self, context: Context) -> Projection:
        file = context.view.reader._connection.filename
        with apsw.Connection(file) as own:
            own.execute(f"INSERT OR REPLACE INTO {self.table} VALUES(?, 'seen', 0, 1)", (context.session,))
        return super().project(context)


class LooksAtTheClock(Honest):
    def text(self, context: Work, rows: RowRange, previous: str) -> str:
        return f"{strftime('%Y-%m-%d')}: {super().text(context, rows, previous)}"


class RollsDice(Honest):
    def text(self, context: Work, rows: RowRange, previous: str) -> str:
        return f"{random.random()}: {super().text(context, rows, previous)}"


class NeverTwiceTheSame(Honest):
    def sections(self, context: Context) -> tuple[Section, ...]:
        note = Section("mood", "mood", "summary", (Note(f"mood {random.random()}"),))
        return (*super().sections(context), note)


class CountsInFront(Honest):
    def sections(self, context: Context) -> tuple[Section, ...]:
        note = Section("count", "count", "summary", (Note(f"{len(context.history.range)} rows so far"),))
        return (note, *super().sections(context))


class Sulks(Honest):
    """A failure leaves a mark on what it shows."""

    failed = False

    def text(self, context: Work, rows: RowRange, previous: str) -> str:
        type(self).failed = True
        text = super().text(context, rows, previous)
        type(self).failed = False
        return text

    def sections(self, context: Context) -> tuple[Section, ...]:
        if not self.failed:
            return super().sections(context)
        return (Section("sulk", "sulk", "summary", (Note("the last compaction failed"),)), *super().sections(context))


class RemembersInMemory(Honest):
    """What it shows depends on what this process has seen."""

    seen: frozenset[str] = frozenset()

    def text(self, context: Work, rows: RowRange, previous: str) -> str:
        type(self).seen |= {context.session}
        return super().text(context, rows, previous)

    def sections(self, context: Context) -> tuple[Section, ...]:
        sections = super().sections(context)
        if context.session not in self.seen:
            return sections
        return (*sections, Section("own", "own", "summary", (Note("I remember"),)))


class OrdersByHash(Honest):
    def sections(self, context: Context) -> tuple[Section, ...]:
        words = " ".join({"apples", "pears", "plums", "quinces", "cherries", "figs", "grapes", "limes"})
        return (*super().sections(context), Section("fruit", "fruit", "summary", (Note(words),)))


class Stumbles(Honest):
    def text(self, context: Work, rows: RowRange, previous: str) -> str:
        return super().text(context, rows, previous) + str(1 // (len(rows) - len(rows)))


class LosesWords(Honest):
    """It lets rows go without a summary, and nobody is told."""

    def text(self, context: Work, rows: RowRange, previous: str) -> str:
        return "(older rows were dropped)"

    def compact(self, context: Work, demand: Demand) -> Outcome:
        outcome = super().compact(context, demand)
        return Applied(outcome.covers, "drop", lossy=True) if isinstance(outcome, Applied) else outcome


class KeepsAHalf(Honest):
    """Its first commit is no complete state: a crash before the second loses rows."""

    def compact(self, context: Work, demand: Demand) -> Outcome:
        text, after = self.state(context) or ("", Cut(0, 0))
        upto = self.cut(context, after.seq)
        if upto is None or upto <= after.seq:
            return Nothing("nothing is older than the newest turn")
        rows = RowRange(context.session, after.seq, upto)
        context.begin(rows)
        self.put(context, "", upto)
        self.put(context, self.text(context, rows, text), upto)
        return Applied(rows)

    def put(self, context: Work, text: str, upto: int) -> None:
        cut = context.history.cut(upto)
        values = (context.session, text, cut.seq, cut.tokens)
        context.commit(
            lambda writer: writer.execute(f"INSERT OR REPLACE INTO {self.table} VALUES(?, ?, ?, ?)", *values)
        )

    def sections(self, context: Context) -> tuple[Section, ...]:
        found = self.state(context)
        if found is None or found[0]:
            return super().sections(context)
        return self.shown(context, context.history.since(found[1].seq).range)


class Extension:
    """One strategy as an extension."""

    def __init__(self, id: str, strategy: Honest) -> None:
        self.id, self.strategy = id, strategy
        strategy.table = f"{id.replace('-', '_')}_state"

    @hookimpl
    def manifest(self) -> Manifest:
        return Manifest(id=self.id, title=self.id, summary="planted")

    @hookimpl
    def migrations(self) -> Sequence[str]:
        script = (
            f"CREATE TABLE {self.strategy.table}(session TEXT NOT NULL PRIMARY KEY REFERENCES sessions(id)"
            " ON DELETE CASCADE, text TEXT NOT NULL, seq INTEGER NOT NULL, tokens INTEGER NOT NULL)"
        )
        return [script]

    @hookimpl
    def compaction_strategy(self) -> Honest:
        return self.strategy


EXTENSIONS = {
    "honest": Honest(),
    "loses-a-row": LosesARow(),
    "parts-call-and-result": PartsCallAndResult(),
    "drops-the-prompt": DropsThePrompt(),
    "writes-in-project": WritesInProject(),
    "looks-at-the-clock": LooksAtTheClock(),
    "rolls-dice": RollsDice(),
    "never-twice-the-same": NeverTwiceTheSame(),
    "counts-in-front": CountsInFront(),
    "sulks": Sulks(),
    "remembers-in-memory": RemembersInMemory(),
    "orders-by-hash": OrdersByHash(),
    "stumbles": Stumbles(),
    "loses-words": LosesWords(),
    "keeps-a-half": KeepsAHalf(),
}
for _id, _strategy in EXTENSIONS.items():
    globals()[_id.replace("-", "_")] = Extension(_id, _strategy)
