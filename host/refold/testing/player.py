"""Plays one history in a real home, and looks after every step whether each rule still holds."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from refold.agent.host import Host
from refold.agent.session import Session
from refold.prepare.request import Prepared
from refold.registry import home_file
from refold.testing import rules
from refold.testing.case import Case, put_settings
from refold.testing.contents import ROUTINE, Contents, contents, differing
from refold.testing.crash import copied, found_after
from refold.testing.looking import Seen, look, overflow
from refold.testing.rules import Rule
from refold.testing.steps import (
    Branch,
    Compact,
    Configure,
    Detour,
    Overflow,
    Prepare,
    Reopen,
    Return,
    Step,
    UseModel,
    rows_of,
)
from refold.testing.summarizer import Mood, ScriptedSummarizer
from refold.testing.wire import Wires, encoded, extends, written
from refold.transcript import sessions
from refold.transcript.rows import RawRow, raw_rows
from refold.values.errors import CompactionFailed, ProjectionFailed, RefoldError, Refused
from refold.values.outcome import Applied, Nothing
from refold.values.rows import RowRange


@frozen
class Broken:
    """A rule that did not hold: at which step (from 1), in which session, and what was seen."""

    at: int
    session: str
    words: str


@frozen(eq=False)
class Sent:
    """A request as it went out, and the window that it was prepared for."""

    prepared: Prepared
    wires: Wires
    window: int | None


@define(eq=False)
class Thread:
    """One session of a history. `folded` is the last row that a manual compaction covered."""

    session: Session
    rows: list[RawRow] = field(factory=list)
    folded: int = 0
    sent: Sent | None = None


@define(eq=False)
class Player:
    """One history being played in the home `folder`.

    `broken` holds the first break of each rule, `happened` counts what the history reached, `bytes` everything that
    was encoded, in order.
    """

    case: Case
    folder: Path
    broken: dict[Rule, Broken] = field(factory=dict)
    happened: Counter[str] = field(factory=Counter)
    bytes: list[bytes] = field(factory=list)
    tables: Contents = field(factory=dict)
    _at: int = 0
    _host: Host = field(init=False)
    _summarizer: ScriptedSummarizer = field(init=False)
    _threads: list[Thread] = field(factory=list)
    _now: int = 0

    def play(self, steps: Sequence[Step]) -> None:
        """Plays the steps in order; a strategy that does not answer ends the history."""
        self._summarizer = ScriptedSummarizer(self.case.reply)
        self._host = Host(self.folder, summarizers=[self._summarizer])
        try:
            self._threads.append(Thread(self._host.new("one")))
            for self._at, step in enumerate(steps, 1):
                try:
                    self._step(step)
                except ProjectionFailed as error:
                    self._break(Rule.ANSWERS, str(error))
                except Exception as error:
                    self._break(Rule.ANSWERS, f"{type(error).__name__}: {error}")
                self._check_rows()
                if Rule.ANSWERS in self.broken:
                    return
            self.tables = self._contents("snapshot", "lease", "sessions", "request")
        finally:
            self._host.close()

    @property
    def _thread(self) -> Thread:
        return self._threads[self._now]

    def _step(self, step: Step) -> None:
        match step:
            case Prepare(window, moods):
                self._prepare(window, moods)
            case Compact(window, moods):
                self._compact(window, moods)
            case Overflow(window, limit, moods):
                self._overflow(window, limit, moods)
            case Reopen(window):
                self._reopen(window)
            case Branch(back, go_on):
                self._branch(back, go_on)
            case Return(number):
                self._now = number % len(self._threads)
            case UseModel(model):
                with self._host.database.write() as writer:
                    sessions.set_model(writer, self._thread.session.id, model)
                self._thread.sent = None
            case Detour(number, window):
                self._detour(number, window)
            case Configure(number):
                home_file.update(self.folder / "extensions.json", lambda file: put_settings(self.case, file, number))
                for thread in self._threads:
                    thread.sent = None
            case _:
                self._append(rows_of(step))

    def _append(self, rows: Sequence[Any]) -> None:
        before = len(self._stored(self._thread))
        self._thread.session.append(rows)
        self._check(Rule.GROWS, None if len(self._stored(self._thread)) == before + len(rows) else "rows are missing")
        self._thread.rows = self._stored(self._thread)

    # Requests

    def _prepare(self, window: int | None, moods: tuple[Mood, ...]) -> Prepared:
        """Twice: the second must change nothing. The first may compact by itself."""
        thread = self._thread
        self._look(window)
        before = self._contents(*ROUTINE)
        self._summarizer.script(*moods)
        prepared = thread.session.prepare(window)
        applied = _applied(prepared)
        if not applied:
            tried = prepared.attempted is not None or prepared.rests
            self._unchanged(Rule.FAILURE if tried else Rule.READS, before)
        if applied is not None:
            self.happened["automatic compaction"] += 1
            self._check_applied(applied, prepared)
            self._look(window)
        elif prepared.rests:
            self.happened["failed automatic compaction"] += 1
        wires = self._check_request(prepared, window)
        before = self._contents()
        again = thread.session.prepare(window)
        self._unchanged(Rule.READS, before, but=ROUTINE)
        self._check_repeated(prepared, wires, again, Rule.REPEATS)
        thread.sent = Sent(prepared, wires, window)
        return prepared

    def _look(self, window: int | None) -> Seen:
        """The rules of a projection, seen without the host's own checks."""
        thread = self._thread
        before = self._contents()
        seen = look(self._host, thread.session.id, window)
        self._unchanged(Rule.READS, before)
        history = thread.session.rows()
        span = RowRange(thread.session.id, 0, len(history))
        self._check(Rule.REPEATS, None if seen.repeated else "project gave two projections in one snapshot")
        self._check(Rule.ACCOUNTED, rules.accounted(seen.projection, span))
        self._check(Rule.PAIRED, rules.paired(seen.projection, seen.rows))
        self._check(Rule.PROMPT, rules.prompt_shown(seen.projection, seen.rows, thread.folded, seen.window, seen.sizes))
        if not self.case.lossy and any(
            section.kind == "notice" and section.covers for section in seen.projection.sections
        ):
            self._check(Rule.LOSSY, "a notice stands in the view of a strategy that is not said to be lossy")
        return seen

    def _check_request(self, prepared: Prepared, window: int | None) -> Wires:
        thread = self._thread
        messages, projection = prepared.request.messages, prepared.projection
        rows = thread.session.rows()
        self._check(Rule.PAIRED, rules.in_legal_order(messages) or rules.results_kept(messages, projection, rows))
        self._check(Rule.ROLES, rules.not_blank(messages, prepared.request.model.owner))
        self._check(Rule.PROMPT, rules.prompt_verbatim(messages, projection, rows, thread.folded))
        wires = encoded(prepared.request, thread.session.image_bytes)
        self.bytes += written(wires).values()
        self.happened["request"] += 1
        if thread.sent is not None and self._comparable(thread.sent, prepared, window):
            self.happened["extended request"] += 1
            self._check(Rule.EXTENDS, extends(thread.sent.wires, wires))
        return wires

    @staticmethod
    def _comparable(sent: Sent, prepared: Prepared, window: int | None) -> bool:
        """Whether the request must begin with the one before: nothing but rows came in between."""
        before = sent.prepared
        return (
            sent.window == window
            and before.snapshot.compaction == prepared.snapshot.compaction
            and rules.elisions(before.projection, before.upto) == rules.elisions(prepared.projection, before.upto)
            and not rules.waiting(before.request.messages)
        )

    def _check_repeated(self, first: Prepared, wires: Wires, again: Prepared, rule: Rule) -> None:
        if _applied(again):
            self._check(rule, "it compacted once more though nothing was appended")
        elif again.projection != first.projection:
            self._check(rule, "the projection differs though nothing was appended")
        elif written(encoded(again.request, self._thread.session.image_bytes)) != written(wires):
            self._check(rule, "the request's bytes differ though nothing was appended")

    # Compaction

    def _compact(self, window: int | None, moods: tuple[Mood, ...]) -> None:
        thread = self._thread
        planned = self._plan(window)
        before, seen = self._contents(*ROUTINE), self._look(window)
        self._summarizer.script(*moods)
        torn = self.folder.with_name(f"{self.folder.name}-torn")
        self._summarizer.on_call = lambda: copied(self.folder, torn)
        try:
            prepared = thread.session.compact(window)
        except CompactionFailed as error:
            self._failed(error, before, seen, window)
            return
        finally:
            self._summarizer.on_call = _nothing
        applied = _applied(prepared)
        if applied is None:
            self.happened["nothing to compact"] += 1
            self._unchanged(Rule.FAILURE, before)
            return
        self.happened["manual compaction"] += 1
        self._check(Rule.ANSWERS, None if planned else "plan had nothing to fold, and compact folded")
        thread.folded = max(thread.folded, applied.covers.upto)
        thread.sent = None
        self._check_applied(applied, prepared)
        self._look(window)
        wires = self._check_request(prepared, window)
        again = thread.session.prepare(window)
        if not _applied(again):  # it may still be due, and that is another compaction
            self._check_repeated(prepared, wires, again, Rule.REPEATS)
        if torn.exists():
            self._open_torn(torn, window)

    def _plan(self, window: int | None) -> bool:
        before, asked = self._contents(), len(self._summarizer.prompts)
        try:
            plan = self._thread.session.plan(window)
        except CompactionFailed:
            return False
        self._unchanged(Rule.READS, before, words="a plan changed {}")
        if len(self._summarizer.prompts) > asked:
            self._check(Rule.READS, "a plan asked the summarizer")
        return plan.planned is not None or not isinstance(plan.outcome, Nothing)

    def _overflow(self, window: int | None, limit: int, moods: tuple[Mood, ...]) -> None:
        before, seen = self._contents(*ROUTINE), self._look(window)
        self._summarizer.script(*moods)
        try:
            attempted = overflow(self._host, self._thread.session.id, window, limit)
        except CompactionFailed as error:
            self._failed(error, before, seen, window)
            return
        if isinstance(attempted.outcome, Applied):
            self.happened["compaction after a refusal"] += 1
            self._thread.sent = None
            self._prepare(window, ("good",))
        else:
            self._unchanged(Rule.FAILURE, before)

    def _failed(self, error: CompactionFailed, before: Contents, seen: Seen, window: int | None) -> None:
        self.happened["failed compaction"] += 1
        if error.__cause__ is not None and not isinstance(error.__cause__, RefoldError):
            self._check(Rule.ANSWERS, str(error))
        self._unchanged(Rule.FAILURE, before)
        if self._look(window).projection != seen.projection:
            self._check(Rule.FAILURE, "the view differs after a compaction that failed")

    def _check_applied(self, applied: Applied, prepared: Prepared) -> None:
        notice = any(section.kind == "notice" for section in prepared.projection.sections)
        if applied.lossy and not self.case.lossy:
            self._check(Rule.LOSSY, "a compaction was lossy, and the strategy is not said to be")
        if applied.lossy and not notice:
            self._check(Rule.LOSSY, "a compaction was lossy, and no notice stands in the view")

    # Crashes, forks, other strategies

    def _reopen(self, window: int | None) -> None:
        prepared = self._prepare(window, ("good",))
        wires = encoded(prepared.request, self._thread.session.image_bytes)
        tables = self._contents("lease")
        target = self.folder.with_name(f"{self.folder.name}-again")
        copied(self.folder, target)
        self._host.close()
        shutil.rmtree(self.folder)
        self.folder = target
        self._host = Host(target, summarizers=[self._summarizer])
        for thread in self._threads:
            thread.session = self._host.session(thread.session.id)
        self.happened["reopened"] += 1
        if changed := differing(tables, self._contents("lease")):
            self._check(Rule.REOPENS, f"the tables {', '.join(changed)} differ")
        if not prepared.rests:  # who reopens may try again what failed
            self._check_repeated(prepared, wires, self._thread.session.prepare(window), Rule.REOPENS)

    def _open_torn(self, torn: Path, window: int | None) -> None:
        fault = found_after(torn, self._thread.session.id, window, self._thread.rows, self.case)
        shutil.rmtree(torn)
        self._check(Rule.REOPENS, f"after a crash inside compact: {fault}" if fault else None)

    def _branch(self, back: int, go_on: bool) -> None:
        source = self._thread
        at = len(source.rows) - back
        if at < 1:
            return
        with suppress(Refused):  # a result without its call is no checkpoint
            report = source.session.fork(at, f"{source.session.id}-{len(self._threads)}")
            self.happened["forked"] += 1
            branch = Thread(self._host.session(report.session), folded=min(source.folded, at))
            branch.rows = self._stored(branch)
            self._threads.append(branch)
            if report.failures:
                self._check(Rule.FORKS, f"session_forked failed: {report.failures[0][1]}")
            if branch.rows[:at] != source.rows[:at]:
                self._check(Rule.FORKS, "the rows of the fork differ from its source's")
            here = self._now
            self._now = len(self._threads) - 1
            self._prepare(None, ("good",))
            if not go_on:
                self._now = here

    def _detour(self, number: int, window: int | None) -> None:
        thread, id = self._thread, self._thread.session.id
        others = [each.id for each in self._host.extensions(id).extensions if each.kind == "strategy"]
        others = [other for other in others if other != self.case.strategy]
        if not others:
            return
        self._host.choose(others[number % len(others)], True, id)
        with suppress(RefoldError):
            thread.session.prepare(window)
            applied = _applied(thread.session.compact(window))
            thread.folded = max(thread.folded, applied.covers.upto if applied else 0)
        thread.session.user("a word to another strategy")
        thread.rows = self._stored(thread)
        self._host.choose(self.case.strategy, True, id)
        thread.sent = None
        self.happened["detour"] += 1

    # What is compared

    def _contents(self, *but: str) -> Contents:
        with self._host.database.read() as reader:
            return contents(reader, but)

    def _stored(self, thread: Thread) -> list[RawRow]:
        with self._host.database.read() as reader:
            return list(raw_rows(reader, thread.session.id))

    def _check_rows(self) -> None:
        for thread in self._threads:
            if self._stored(thread) != thread.rows:
                self._break(Rule.GROWS, f"rows of session {thread.session.id} changed without an append")

    def _unchanged(
        self, rule: Rule, before: Contents, *, but: frozenset[str] = frozenset(), words: str = "it changed {}"
    ) -> None:
        after = self._contents()
        changed = [table for table in differing(before, after) if table in before and table not in but]
        self._check(rule, words.format(", ".join(changed)) if changed else None)

    def _check(self, rule: Rule, fault: str | None) -> None:
        if fault:
            self._break(rule, fault)

    def _break(self, rule: Rule, words: str) -> None:
        self.broken.setdefault(rule, Broken(self._at, self._thread.session.id, words))


def _applied(prepared: Prepared) -> Applied | None:
    outcome = prepared.attempted.outcome if prepared.attempted else None
    return outcome if isinstance(outcome, Applied) else None


def _nothing() -> None:
    """What happens in a call of the summarizer that nobody listens to."""
