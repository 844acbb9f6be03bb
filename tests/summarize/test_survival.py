"""Ten compactions in a row lose nothing that users set for the whole session.

`python -m tests.summarize.survival` prints the figures of docs/summaries.md.
"""

from __future__ import annotations

import pytest

from .planted import CHANGES, CHANGES_HELD_OUT, CHANGES_SEEN, HELD_OUT, KNOWN, SEEN
from .planted_again import AGAIN, CHANGES_AGAIN
from .planted_last import CHANGES_LAST, LAST
from .sessions import real
from .survival import KEPT, changed, measured

SETS = pytest.mark.parametrize(
    "sentences", [KNOWN, SEEN, HELD_OUT, AGAIN, LAST], ids=["known", "seen", "held out", "again", "last"]
)


@SETS
def test_rules_limits_goals_and_preferences_are_all_there_after_ten_rounds(sentences: dict[str, list[str]]) -> None:
    survival, lost = measured(sentences, range(3))
    assert lost == []
    assert all(survival[kind, age][0] == survival[kind, age][1] for kind, age in survival if kind in KEPT)


@SETS
def test_they_are_all_there_in_a_real_session_too(sentences: dict[str, list[str]]) -> None:
    rows = real()
    if not rows:
        pytest.skip("the sample sessions are not here")
    assert measured(sentences, range(3), among=rows)[1] == []


def test_a_summary_of_half_the_size_still_holds_them() -> None:
    assert measured(KNOWN, range(2), limit=1_000)[1] == []


def test_a_later_word_wins_and_stays_won_for_ten_rounds() -> None:
    assert changed(CHANGES + CHANGES_SEEN + CHANGES_HELD_OUT + CHANGES_AGAIN + CHANGES_LAST, range(1)) == []
