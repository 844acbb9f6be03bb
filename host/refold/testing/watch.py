"""What is held against each other while a history is played: rows, tables, requests, and the rules that broke."""

from __future__ import annotations

from collections import Counter

from attrs import define, field, frozen

from refold.agent.host import Host
from refold.agent.session import Session
from refold.prepare.request import Prepared
from refold.testing.contents import Contents, contents, differing
from refold.testing.rules import Rule
from refold.testing.wire import Wires
from refold.transcript.rows import RawRow, raw_rows
from refold.values.outcome import Applied


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
class Watch:
    """A host with the sessions of one history, and what was seen of them.

    `broken` holds the first break of each rule, `happened` counts what the history reached.
    """

    broken: dict[Rule, Broken] = field(factory=dict, kw_only=True)
    happened: Counter[str] = field(factory=Counter, kw_only=True)
    _host: Host = field(init=False)
    _threads: list[Thread] = field(factory=list, init=False)
    _now: int = field(default=0, init=False)
    _at: int = field(default=0, init=False)

    @property
    def _thread(self) -> Thread:
        return self._threads[self._now]

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


def applied_in(prepared: Prepared) -> Applied | None:
    """The compaction that was applied on the way to the request."""
    outcome = prepared.attempted.outcome if prepared.attempted else None
    return outcome if isinstance(outcome, Applied) else None
