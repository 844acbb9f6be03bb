"""Shows the newest turns; a notice stands for the others."""

from attrs import field, frozen, validators

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


@frozen
class Settings:
    trigger_percent: int = field(default=80, validator=[validators.ge(1), validators.le(100)])
    tail_percent: int = field(default=20, validator=[validators.ge(1), validators.le(100)])


class KeepLast:
    def project(self, context: Context) -> Projection:
        history, session = context.history, context.session
        found = context.read("SELECT seq, tokens FROM keep_last_cut WHERE session=?", session)
        cut = Cut(*found[0]) if found else None
        after = cut.seq if cut and history.holds(cut) else 0
        left = Note(f"[rows 1-{after} are not shown and were not summarized]")
        notice = Section("left", "rows that left", "notice", (left,), RowRange(session, 0, after))
        tail = Section("tail", "newest turns", "tail", (Rows(RowRange(session, after, history.range.upto)),))
        trigger = context.window.share(context.settings(Settings).trigger_percent)
        observation = Observation("compacted" if after else "whole", "the newest turns")
        return Projection((notice, tail) if after else (tail,), trigger, observation)

    def compact(self, context: Work, demand: Demand) -> Outcome:
        window = min(demand.size, context.window.tokens or demand.size, demand.limit or demand.size)
        budget = window * context.settings(Settings).tail_percent // 100
        upto = context.history.tail(budget, demand.protect)
        found = context.read("SELECT seq FROM keep_last_cut WHERE session=?", context.session)
        after = found[0][0] if found else 0
        if upto is None or upto <= after:
            return Nothing("only the newest turns are shown already")
        rows, cut = RowRange(context.session, after, upto), context.history.cut(upto)
        context.begin(rows)
        values = (context.session, cut.seq, cut.tokens)
        context.commit(lambda writer: writer.execute("REPLACE INTO keep_last_cut VALUES(?, ?, ?)", *values))
        return Applied(rows, kind="drop", lossy=True)


@hookimpl
def manifest() -> Manifest:
    return Manifest(id="keep-last", title="Keep last", summary="Shows the newest turns only", settings=Settings)


@hookimpl
def compaction_strategy() -> KeepLast:
    return KeepLast()


@hookimpl
def migrations() -> list[str]:
    return [
        """
        CREATE TABLE keep_last_cut(
          session TEXT PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE,
          seq INTEGER NOT NULL,
          tokens INTEGER NOT NULL
        )
        """
    ]
