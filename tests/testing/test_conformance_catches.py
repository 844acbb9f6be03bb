"""Each planted fault is caught by the rule that names it, and an honest strategy passes."""

from __future__ import annotations

from pathlib import Path

import pytest
from refold.testing.campaign import Campaign
from refold.testing.case import Case
from refold.testing.histories import TOUR
from refold.testing.rules import Rule
from refold.testing.steps import Compact, Talk

FAULTS = {
    "loses-a-row": Rule.ACCOUNTED,
    "parts-call-and-result": Rule.PAIRED,
    "drops-the-prompt": Rule.PROMPT,
    "writes-in-project": Rule.READS,
    "looks-at-the-clock": Rule.CHANCE,
    "rolls-dice": Rule.CHANCE,
    "never-twice-the-same": Rule.REPEATS,
    "counts-in-front": Rule.EXTENDS,
    "sulks": Rule.FAILURE,
    "remembers-in-memory": Rule.REOPENS,
    "orders-by-hash": Rule.REOPENS,
    "stumbles": Rule.ANSWERS,
    "loses-words": Rule.LOSSY,
    "keeps-a-half": Rule.ACCOUNTED,
}


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("id", FAULTS)
def test_a_planted_fault_breaks_the_rule_that_names_it(id: str, tmp_path: Path) -> None:
    rule = FAULTS[id]
    player = Campaign(Case(id, {}), tmp_path).play(TOUR, again=rule is Rule.CHANCE, elsewhere=rule is Rule.REOPENS)
    assert rule in player.broken, player.broken


@pytest.mark.usefixtures("planted")
def test_a_crash_between_two_commits_is_seen(tmp_path: Path) -> None:
    player = Campaign(Case("keeps-a-half", {}), tmp_path).play((Talk(5, 60), Compact(2_500)), again=False)
    assert player.broken.keys() == {Rule.REOPENS}
    assert "row 1 is neither shown nor covered" in player.broken[Rule.REOPENS].words


@pytest.mark.usefixtures("planted")
def test_an_honest_strategy_breaks_no_rule(tmp_path: Path) -> None:
    campaign = Campaign(Case("honest", {}), tmp_path)
    campaign.run(10)
    assert not campaign.broken


@pytest.mark.usefixtures("planted")
def test_a_report_names_the_rule_and_a_short_history_that_breaks_it(tmp_path: Path) -> None:
    campaign = Campaign(Case("loses-a-row", {}), tmp_path)
    campaign.run(3)
    report = campaign.report(Rule.ACCOUNTED)
    assert report is not None
    assert report.startswith(
        "loses-a-row breaks a rule: every absent row is covered or announced\nin session one, after"
    )
    assert report.count("\n  ") <= 4, report
    assert campaign.report(Rule.GROWS) is None
