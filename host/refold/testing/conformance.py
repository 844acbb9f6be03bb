"""The tests that every strategy passes, ours or a third party's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pytest

from refold.agent.host import Host
from refold.summarize.prompt import Prompt
from refold.testing.campaign import Campaign, examples
from refold.testing.case import Case, make_home
from refold.testing.rules import Rule
from refold.testing.summarizer import account


class StrategyConformance:
    """Subclass it, name an installed strategy, and inherit its tests:

        from refold.testing import StrategyConformance

        class TestKeepLast(StrategyConformance):
            strategy = "keep-last"

    Random histories are played once for all tests: parallel calls, missing and late results, pictures, odd and huge
    texts, repeated ids, follow-ups, automatic, manual and refused requests, failing summaries, crashes, forks, other
    models, strategies and settings. Each test asserts one rule and, where it was broken, prints a short history that
    breaks it. `REFOLD_CONFORMANCE=deep` plays twenty times as many, new ones each time. A subclass may add tests; it
    cannot replace one.
    """

    strategy: ClassVar[str]
    """The strategy's id."""

    settings: ClassVar[Mapping[str, Any]] = {}
    """Its section of `extensions.json`."""

    other_settings: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    """Further sections that a history may switch to."""

    with_extensions: ClassVar[tuple[str, ...]] = ()
    """Ids of extensions that must be on as well."""

    lossy: ClassVar[bool] = False
    """Whether its docs say that it may let rows go without a summary; a notice must then stand in the view."""

    reply: ClassVar[Callable[[Prompt], str]] = staticmethod(account)
    """What the scripted summarizer replies when it does not fail, for strategies that ask for a form of their own."""

    examples: ClassVar[int] = 30
    """How many histories are played by default."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        replaced = [name for name in vars(cls) if name.startswith("test_") and hasattr(StrategyConformance, name)]
        if replaced:
            raise TypeError(f"{cls.__name__} replaces {', '.join(replaced)}: a conformance test is not to be replaced")

    _campaign: ClassVar[Campaign | None] = None

    @pytest.fixture
    def case(self) -> Case:
        """What is under test."""
        cls = type(self)
        return Case(cls.strategy, cls.settings, cls.other_settings, cls.with_extensions, cls.lossy, cls.reply)

    @pytest.fixture
    def campaign(self, case: Case, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
        """The histories, played once for all tests of the class."""
        cls = type(self)
        if cls._campaign is None or cls._campaign.case != case:
            cls._campaign = Campaign(case, tmp_path_factory.mktemp("conformance"))
            cls._campaign.run(examples(cls.examples))
        return cls._campaign

    def test_the_strategy_is_installed_and_in_force_when_chosen(self, case: Case, tmp_path: Any) -> None:
        make_home(case, tmp_path)
        with Host(tmp_path) as host:
            listed = host.extensions()
            assert listed.strategy == case.strategy
            mine = {case.strategy, *case.with_extensions}
            assert {each.id: each.problem for each in listed.extensions if each.id in mine} == dict.fromkeys(mine)

    def test_the_histories_reach_compactions_failures_crashes_and_forks(self, campaign: Campaign) -> None:
        """Without these, the other tests would pass for nothing."""
        wanted = {"request", "extended request", "manual compaction", "reopened", "forked"}
        assert wanted - campaign.happened.keys() == set()

    def test_the_strategy_answers(self, campaign: Campaign) -> None:
        _held(campaign, Rule.ANSWERS)

    def test_the_transcript_only_grows_and_its_bytes_stay(self, campaign: Campaign) -> None:
        _held(campaign, Rule.GROWS)

    def test_every_result_directly_follows_its_call(self, campaign: Campaign) -> None:
        _held(campaign, Rule.PAIRED)

    def test_roles_are_legal_and_no_message_is_blank(self, campaign: Campaign) -> None:
        _held(campaign, Rule.ROLES)

    def test_every_absent_row_is_covered_or_announced(self, campaign: Campaign) -> None:
        _held(campaign, Rule.ACCOUNTED)

    def test_the_prompt_being_answered_is_shown_once_and_verbatim(self, campaign: Campaign) -> None:
        _held(campaign, Rule.PROMPT)

    def test_project_writes_nothing(self, campaign: Campaign) -> None:
        _held(campaign, Rule.READS)

    def test_an_unchanged_session_gives_the_same_bytes(self, campaign: Campaign) -> None:
        _held(campaign, Rule.REPEATS)

    def test_appending_extends_the_previous_request(self, campaign: Campaign) -> None:
        _held(campaign, Rule.EXTENDS)

    def test_a_failure_changes_nothing(self, campaign: Campaign) -> None:
        _held(campaign, Rule.FAILURE)

    def test_reopening_gives_the_same_bytes(self, campaign: Campaign) -> None:
        _held(campaign, Rule.REOPENS)

    def test_a_fork_holds_the_same_rows(self, campaign: Campaign) -> None:
        _held(campaign, Rule.FORKS)

    def test_neither_clock_nor_chance_reaches_a_request(self, campaign: Campaign) -> None:
        _held(campaign, Rule.CHANCE)

    def test_what_leaves_without_a_summary_is_announced(self, campaign: Campaign) -> None:
        _held(campaign, Rule.LOSSY)


def _held(campaign: Campaign, rule: Rule) -> None:
    report = campaign.report(rule)
    if report is not None:
        pytest.fail(report, pytrace=False)
