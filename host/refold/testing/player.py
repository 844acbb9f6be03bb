"""Plays one history in a real home, and looks after every step whether each rule still holds."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from attrs import define, field

from refold.agent.host import Host
from refold.prepare.request import Prepared
from refold.registry import home_file
from refold.summarize.accept import WORDS
from refold.testing import rules
from refold.testing.case import Case, put_settings
from refold.testing.contents import ROUTINE, Contents, differing
from refold.testing.crash import copied, found_after
from refold.testing.elsewhere import digests, digests_elsewhere, ready
from refold.testing.looking import Seen, look, refuse, roomy, store_names
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
from refold.testing.watch import Sent, Thread, Watch, applied_in
from refold.testing.wire import Wires, encoded, extends, written
from refold.transcript import sessions
from refold.values.errors import CompactionFailed, ProjectionFailed, RefoldError, Refused
from refold.values.outcome import Applied, Nothing
from refold.values.rows import RowRange


@define(eq=False)
class Player(Watch):
    """One history being played in the home `folder`.

    `elsewhere`: at the end another process prepares the same request. `bytes` is everything that was encoded, in
    order, and `tables` what the strategy and its extensions stored.
    """

    case: Case
    folder: Path
    elsewhere: bool = False
    bytes: list[bytes] = field(factory=list)
    tables: Contents = field(factory=dict)
    _summarizer: ScriptedSummarizer = field(init=False)
    _window: int | None = field(default=None, init=False)
    _ended: bool = field(default=False, init=False)

    def play(self, steps: Sequence[Step]) -> None:
        """Plays the steps in order; a strategy that does not answer ends the history."""
        self._summarizer = ScriptedSummarizer(self.case.reply)
        self._host = Host(self.folder, summarizers=[self._summarizer])
        try:
            self._threads.append(Thread(ready(self._host.new("one"))))
            for self._at, step in enumerate(steps, 1):
                try:
                    self._step(step)
                except ProjectionFailed as error:
                    self._refused(error)
                except Exception as error:
                    self._break(Rule.ANSWERS, f"{type(error).__name__}: {error}")
                self._check_rows()
                if self._ended or Rule.ANSWERS in self.broken:
                    return
            self._end()
        finally:
            self._host.close()

    def _step(self, step: Step) -> None:
        match step:
            case Prepare(window, moods):
                self._prepare(roomy(self._thread.session, window), moods)
            case Compact(window, moods):
                self._compact(roomy(self._thread.session, window), moods)
            case Overflow(window, limit, moods):
                self._overflow(roomy(self._thread.session, window), limit, moods)
            case Reopen(window):
                self._reopen(roomy(self._thread.session, window))
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

    def _refused(self, error: ProjectionFailed) -> None:
        """The host refused a view. The rule that it breaks is the one that a look finds; nothing can follow."""
        self._ended, before = True, len(self.broken)
        with suppress(Exception):
            self._look(self._window)
        if len(self.broken) == before:
            self._break(Rule.ANSWERS, str(error))

    def _append(self, rows: Sequence[Any]) -> None:
        before = len(self._stored(self._thread))
        self._thread.session.append(rows)
        self._check(Rule.GROWS, None if len(self._stored(self._thread)) == before + len(rows) else "rows are missing")
        self._thread.rows = self._stored(self._thread)

    # Requests

    def _prepare(self, window: int | None, moods: tuple[Mood, ...]) -> Prepared:
        """Twice: the second must change nothing. The first may compact by itself."""
        thread = self._thread
        seen = self._look(window)
        before = self._contents(*ROUTINE)
        self._summarizer.script(*moods)
        prepared = thread.session.prepare(window)
        applied = applied_in(prepared)
        self._check_words(*prepared.notices)
        if not applied:
            tried = prepared.attempted is not None or prepared.rests
            self._unchanged(Rule.FAILURE if tried else Rule.READS, before)
            self._view_stayed(seen, window)
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
        thread, self._window = self._thread, window
        before = self._contents()
        seen = look(thread.session, window)
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
        if applied_in(again):
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
        self._summarizer.on_call = partial(self._copy_what_was_committed, before, torn)
        try:
            prepared = thread.session.compact(window)
        except CompactionFailed as error:
            self._failed(error, before, seen, window)
            return
        finally:
            self._summarizer.on_call = _nothing
        applied = applied_in(prepared)
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
        if not applied_in(again):  # it may still be due, and that is another compaction
            self._check_repeated(prepared, wires, again, Rule.REPEATS)
            thread.sent = Sent(again, wires, window)
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
        prepared = refuse(self._thread.session, window, limit)
        self._check_words(*prepared.notices)
        applied = applied_in(prepared)
        if applied is None:
            self.happened["failed compaction after a refusal"] += 1
            self._unchanged(Rule.FAILURE, before)
            self._view_stayed(seen, window)
        else:
            self.happened["compaction after a refusal"] += 1
            self._check_applied(applied, prepared)
        self._thread.sent = None
        self._look(window)
        self._check_request(prepared, window)

    def _failed(self, error: CompactionFailed, before: Contents, seen: Seen, window: int | None) -> None:
        self.happened["failed compaction"] += 1
        self._check_words(str(error))
        if error.__cause__ is not None and not isinstance(error.__cause__, RefoldError):
            self._check(Rule.ANSWERS, str(error))
        self._unchanged(Rule.FAILURE, before)
        self._view_stayed(seen, window)

    def _check_words(self, *told: str) -> None:
        """Rows that hold no words are no failure: nothing was said in them that a summary could lose."""
        if any(WORDS["nothing"] in each for each in told):
            self._check(Rule.ANSWERS, "rows without words had to be summarized by themselves")

    def _view_stayed(self, seen: Seen, window: int | None) -> None:
        if self._look(window).projection != seen.projection:
            self._check(Rule.FAILURE, "the view differs though nothing was compacted")

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
        tables = self._contents("refold_lease")
        target = self.folder.with_name(f"{self.folder.name}-again")
        copied(self.folder, target)
        self._host.close()
        shutil.rmtree(self.folder)
        self.folder = target
        self._host = Host(target, summarizers=[self._summarizer])
        for thread in self._threads:
            thread.session = ready(self._host.session(thread.session.id))
        self.happened["reopened"] += 1
        if changed := differing(tables, self._contents("refold_lease")):
            self._check(Rule.REOPENS, f"the tables {', '.join(changed)} differ")
        if not prepared.rests:  # who reopens may try again what failed
            self._check_repeated(prepared, wires, self._thread.session.prepare(window), Rule.REOPENS)

    def _copy_what_was_committed(self, before: Contents, torn: Path) -> None:
        """A strategy that commits more than once may die in between."""
        if differing(before, self._contents(*ROUTINE)):
            copied(self.folder, torn)

    def _end(self) -> None:
        stores = store_names(self._host)
        self.tables = {name: rows for name, rows in self._contents().items() if name.startswith(stores)}
        session = self._thread.session
        if self.elsewhere and not session.check().due:  # what is due and rests here, another process tries again
            try:
                if digests(session) != digests_elsewhere(self.folder, session.id):
                    self._check(Rule.REOPENS, "another process makes other bytes of the same session")
            except RefoldError as error:
                self._break(Rule.REOPENS, str(error))

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
            branch = Thread(ready(self._host.session(report.session)), folded=min(source.folded, at))
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
            applied = applied_in(thread.session.compact(window))
            thread.folded = max(thread.folded, applied.covers.upto if applied else 0)
        thread.session.user("a word to another strategy")
        thread.rows = self._stored(thread)
        self._host.choose(self.case.strategy, True, id)
        thread.sent = None
        self.happened["detour"] += 1


def _nothing() -> None:
    """What happens in a call of the summarizer that nobody listens to."""
