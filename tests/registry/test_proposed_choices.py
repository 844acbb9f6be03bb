"""A change of choices is checked against every rule before anything is stored."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refold.registry.proposals import Installation, propose_global, propose_session
from refold.registry.selection import Installed
from refold.values.errors import NotFound, RefoldError, Refused

ROLLING = Installed("rolling", strategy=True, default=True)
LCM = Installed("lcm", strategy=True, requires=("lcm-memory",))
LCM_MEMORY = Installed("lcm-memory", default=True)
CHAIN = Installed("chain", strategy=True)
GREP = Installed("grep")
ALL = Installation((ROLLING, LCM, LCM_MEMORY, CHAIN, GREP, Installed("bad")), {"bad": "cannot be imported"})


@pytest.mark.parametrize(
    ("changes", "before", "after"),
    [
        ({"grep": True}, {}, {"grep": True}),
        ({"grep": False}, {"grep": True}, {"grep": False}),
        ({"grep": None}, {"grep": True}, {}),
        ({"lcm": True}, {}, {"lcm": True}),
        ({"lcm": True}, {"chain": True, "grep": True}, {"grep": True, "lcm": True}),
        ({"lcm": False}, {"lcm": True}, {"lcm": False}),
        ({"lcm": None}, {"lcm": True}, {}),
        ({"gone": None}, {"gone": True}, {}),
        ({"gone": False}, {"gone": True}, {"gone": False}),
        ({"bad": False}, {}, {"bad": False}),
        ({"lcm": True, "lcm-memory": True}, {"lcm-memory": False}, {"lcm": True, "lcm-memory": True}),
    ],
)
def test_a_change_becomes_the_new_choices_of_its_scope(changes, before, after):
    assert propose_session(ALL, changes, {}, before) == after
    assert propose_global(ALL, changes, before) == after


@pytest.mark.parametrize(
    ("changes", "before", "error", "words"),
    [
        ({"nope": True}, {}, NotFound, ["no extension nope", "installed: bad, chain, grep"]),
        ({"nope": False}, {}, NotFound, ["no extension nope"]),
        ({"bad": True}, {}, Refused, ["bad", "cannot be imported"]),
        ({"lcm": True, "chain": True}, {}, Refused, ["chain and lcm", "strategies"]),
        ({"rolling": False}, {}, Refused, ["rolling", "select another", "chain, lcm"]),
        ({"lcm": True}, {"lcm-memory": False}, Refused, ["lcm requires lcm-memory", "is off"]),
        ({"lcm-memory": False}, {"lcm": True}, Refused, ["lcm requires lcm-memory"]),
        ({"lcm": True, "lcm-memory": False}, {}, Refused, ["lcm requires lcm-memory"]),
    ],
)
def test_a_change_that_breaks_a_rule_is_refused_with_the_names_of_what_stands_in_the_way(changes, before, error, words):
    for propose in (lambda: propose_session(ALL, changes, {}, before), lambda: propose_global(ALL, changes, before)):
        with pytest.raises(error) as caught:
            propose()
        assert "nothing was changed" in str(caught.value)
        assert "\n" not in str(caught.value)
        for word in words:
            assert word in str(caught.value)


def test_turning_off_the_only_strategy_says_that_none_else_is_installed():
    with pytest.raises(Refused, match="select another: no other strategy is installed"):
        propose_global(Installation((ROLLING,)), {"rolling": False}, {})


def test_a_strategy_that_is_only_remembered_loses_its_name_to_the_one_that_is_selected():
    installation = Installation((ROLLING, CHAIN), gone=("lcm",))
    assert propose_global(installation, {"chain": True}, {"lcm": True, "grep": True}) == {"grep": True, "chain": True}


def test_an_extension_that_somebody_chose_is_not_lost_to_another_strategy_in_silence():
    extra = Installed("extra", requires=("rolling",))
    installation = Installation((ROLLING, CHAIN, extra))
    with pytest.raises(Refused, match="extra requires rolling, which chain would replace"):
        propose_session(installation, {"chain": True}, {"extra": True}, {})
    by_default = Installation((ROLLING, CHAIN, Installed("extra", default=True, requires=("rolling",))))
    assert propose_session(by_default, {"chain": True}, {}, {}) == {"chain": True}


def test_a_session_may_differ_from_the_global_choice():
    assert propose_session(ALL, {"rolling": True}, {"lcm": True}, {}) == {"rolling": True}


IDS = st.sampled_from(["a", "b", "c", "d", "gone"])
NAMES = st.lists(IDS, max_size=2, unique=True).map(tuple)
INSTALLED = st.lists(
    st.builds(Installed, IDS, st.booleans(), st.booleans(), NAMES), max_size=4, unique_by=lambda each: each.id
)
CHOICES = st.dictionaries(IDS, st.booleans(), max_size=4)
CHANGES = st.dictionaries(IDS, st.sampled_from([True, False, None]), min_size=1, max_size=2)


@given(INSTALLED, CHOICES, CHOICES, CHANGES)
@settings(max_examples=80, deadline=None)
def test_what_is_accepted_is_in_force_and_the_rest_stays(installed, chosen, own, changes):
    installation = Installation(tuple(installed))
    try:
        stored = propose_session(installation, changes, chosen, own)
    except RefoldError:
        return
    enabled = installation.resolve(chosen, stored).enabled
    for id, on in changes.items():
        assert stored.get(id) is on
        assert on is None or (id in enabled) is on
    untouched = {id: on for id, on in own.items() if id not in changes}
    assert {id: on for id, on in stored.items() if id not in changes}.items() <= untouched.items()
