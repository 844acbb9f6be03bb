"""Many random histories, each played once for all rules; what broke is told by the shortest history found."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import define, field
from hypothesis import HealthCheck, Phase, given, settings

from refold.agent.host import Host
from refold.testing.case import Case, make_home
from refold.testing.clock import another_day
from refold.testing.contents import differing
from refold.testing.histories import SILENCE, TOUR, histories
from refold.testing.looking import strategy_package
from refold.testing.player import Player
from refold.testing.rules import Rule
from refold.testing.steps import Step
from refold.testing.watch import Broken

SHORTENINGS = 60
"""Plays that may be spent on making one history shorter."""

ANOTHER_DAY = 4
"""One history in so many is played once more on another day."""

ELSEWHERE = 16
"""One history in so many is prepared in another process at its end."""


def examples(default: int) -> int:
    """How many histories are played: `default`, or twenty times as many when `REFOLD_CONFORMANCE=deep`."""
    return default * 20 if os.environ.get("REFOLD_CONFORMANCE") == "deep" else default


@define(eq=False)
class Campaign:
    """The histories of one strategy. `broken` holds, by rule, the first history that broke it."""

    case: Case
    folder: Path
    broken: dict[Rule, tuple[Sequence[Step], Broken]] = field(factory=dict)
    happened: Counter[str] = field(factory=Counter)
    _number: int = 0
    _histories: int = 0

    def __attrs_post_init__(self) -> None:
        make_home(self.case, self.folder / "home")

    def run(self, count: int) -> None:
        """Plays the fixed histories and `count` random ones: the same every time, or new ones in a deep run."""
        for fixed in (TOUR, SILENCE):
            self._note(fixed, self.play(fixed))
        deep = os.environ.get("REFOLD_CONFORMANCE") == "deep"
        chosen = settings(
            max_examples=count,
            derandomize=not deep,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        chosen(given(histories())(self._history))()

    def report(self, rule: Rule) -> str | None:
        """How the rule was broken, by a short history; None: it held."""
        if rule not in self.broken:
            return None
        steps = shortest(self.broken[rule][0], lambda fewer: rule in self._replay(fewer, rule).broken)
        player = self._replay(steps, rule)
        broken = player.broken.get(rule, self.broken[rule][1])
        told = "\n".join(f"  {number}. {step}" for number, step in enumerate(steps, 1))
        return (
            f"{self.case.strategy} breaks a rule: {rule.value}\n"
            f"in session {broken.session}, after step {broken.at}: {broken.words}\n{told}"
        )

    def play(self, steps: Sequence[Step], *, again: bool = True, elsewhere: bool = True) -> Player:
        """One history in a home of its own; `again` plays it once more on another day and compares, `elsewhere` has
        another process prepare its last request."""
        player = self._play(steps, elsewhere)
        if again:
            with Host(self.folder / "home") as host:
                package = strategy_package(host)
            with another_day(package):
                other = self._play(steps)
            if player.bytes != other.bytes or player.tables != other.tables:
                differs = "requests" if player.bytes != other.bytes else "tables "
                differs += ", ".join(differing(player.tables, other.tables))
                words = f"the same history gave other {differs} on another day"
                player.broken.setdefault(Rule.CHANCE, Broken(len(steps), "one", words))
        return player

    def _replay(self, steps: Sequence[Step], rule: Rule) -> Player:
        """A history once more, with what the rule needs."""
        return self.play(steps, again=rule is Rule.CHANCE, elsewhere=rule is Rule.REOPENS)

    def _play(self, steps: Sequence[Step], elsewhere: bool = False) -> Player:
        self._number += 1
        home = self.folder / f"home-{self._number}"
        shutil.copytree(self.folder / "home", home)
        player = Player(self.case, home, elsewhere)
        try:
            player.play(steps)
        finally:
            shutil.rmtree(player.folder)
        return player

    def _history(self, steps: tuple[Step, ...]) -> None:
        self._histories += 1
        player = self.play(steps, again=self._histories % ANOTHER_DAY == 0, elsewhere=self._histories % ELSEWHERE == 0)
        self._note(steps, player)

    def _note(self, steps: Sequence[Step], player: Player) -> None:
        self.happened += player.happened
        for rule, broken in player.broken.items():
            self.broken.setdefault(rule, (steps, broken))


def shortest(steps: Sequence[Step], breaks: Callable[[Sequence[Step]], bool]) -> Sequence[Step]:
    """The steps that are still needed to break a rule: runs of them are left out while it stays broken.

    >>> shortest([1, 2, 3, 4], lambda some: 3 in some)
    [3]
    """
    kept, size, left = list(steps), max(1, len(steps) // 2), SHORTENINGS
    while size and left:
        at = len(kept)
        while at > 0 and left:
            at = max(0, at - size)
            fewer = kept[:at] + kept[at + size :]
            left -= 1
            if fewer and breaks(fewer):
                kept = fewer
        size //= 2
    return kept
