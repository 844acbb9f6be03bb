"""Which extensions are on and which strategy is in force, for every state that can be stored."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refold.registry.selection import Installed, order, resolve

ROLLING = Installed("rolling", strategy=True, default=True)
LCM = Installed("lcm", strategy=True, requires=("lcm-memory",))
LCM_MEMORY = Installed("lcm-memory", default=True)
CHAIN = Installed("chain", strategy=True)
GREP = Installed("grep")
ALL = (ROLLING, LCM, LCM_MEMORY, CHAIN, GREP)


@pytest.mark.parametrize(
    ("installed", "chosen", "own", "broken", "strategy"),
    [
        pytest.param((), {}, {}, {}, None, id="nothing is installed"),
        pytest.param((GREP,), {"grep": True}, {}, {}, None, id="no strategy is installed"),
        pytest.param(ALL, {}, {}, {}, "rolling", id="the default"),
        pytest.param(ALL, {"lcm": True}, {}, {}, "lcm", id="named globally"),
        pytest.param(ALL, {"lcm": True}, {"chain": True}, {}, "chain", id="the session's name beats the global one"),
        pytest.param(ALL, {"lcm": True}, {"lcm": False}, {}, "rolling", id="switched off by the session"),
        pytest.param((ROLLING, CHAIN), {"rolling": False}, {}, {}, "rolling", id="a default that is off before any"),
        pytest.param((CHAIN,), {"chain": False}, {}, {}, "chain", id="the only one, though off"),
        pytest.param(ALL, {"lcm": True, "chain": True}, {}, {}, "chain", id="two named: registry order"),
        pytest.param(ALL, {"lcm": True}, {}, {"lcm": "broke"}, "rolling", id="the named one is broken"),
        pytest.param(ALL, {"lcm": True, "lcm-memory": False}, {}, {}, "rolling", id="its requirement is off"),
        pytest.param((LCM, LCM_MEMORY), {"lcm-memory": False}, {}, {}, "lcm", id="the only one keeps its requirement"),
        pytest.param((LCM, LCM_MEMORY), {"lcm": True, "lcm-memory": False}, {}, {}, "lcm",
                     id="named, and the only one: it keeps its requirement until another can run"),
        pytest.param((LCM, CHAIN), {"lcm": True}, {}, {}, "chain", id="its requirement is not installed"),
        pytest.param(ALL, {"gone": True}, {}, {}, "rolling", id="the named one is not installed"),
        pytest.param((*ALL, Installed("a-new", strategy=True, default=True)), {"rolling": True}, {}, {}, "rolling",
                     id="a new default, an older choice"),
        pytest.param((Installed("x", strategy=True, requires=("rolling",)), ROLLING), {"x": True}, {}, {}, "rolling",
                     id="a strategy that requires another one"),
    ],
)  # fmt: skip
def test_one_strategy_is_picked_by_name_then_default_then_order(installed, chosen, own, broken, strategy):
    assert resolve(installed, chosen, own, broken).strategy == strategy


@pytest.mark.parametrize(
    ("installed", "chosen", "own", "broken", "enabled", "problem"),
    [
        (ALL, {"grep": True}, {}, {}, ("grep", "lcm-memory", "rolling"), None),
        (ALL, {"grep": True}, {"grep": False}, {}, ("lcm-memory", "rolling"), None),
        (ALL, {"lcm-memory": False}, {}, {}, ("rolling",), None),
        (ALL, {"lcm": True, "chain": True}, {}, {}, ("chain", "lcm-memory"),
         ("lcm", "is chosen, but chain is in force")),
        (ALL, {"lcm": True, "lcm-memory": False}, {}, {}, ("rolling",),
         ("lcm", "is chosen, but rolling is in force because lcm requires lcm-memory, which is off")),
        (ALL, {}, {}, {"lcm-memory": "broke"}, ("rolling",), ("lcm", "requires lcm-memory, which does not work")),
        ((LCM,), {}, {}, {}, (), ("lcm", "requires lcm-memory, which is not installed")),
        ((LCM, LCM_MEMORY), {"lcm-memory": False}, {}, {}, ("lcm-memory", "lcm"),
         ("lcm-memory", "is off by choice, but lcm requires it and no other one can run")),
        (ALL, {"gone": True}, {}, {}, ("lcm-memory", "rolling"),
         ("gone", "is chosen but not installed; the choice is kept and works again once it is installed")),
        ((ROLLING, Installed("notes", default=True, uses=("grep",))), {}, {}, {}, ("notes", "rolling"),
         ("notes", "uses grep, which is not installed; it runs without it")),
        ((ROLLING, CHAIN, Installed("extra", default=True, requires=("chain",))), {}, {}, {}, ("rolling",),
         ("extra", "requires chain, which is off")),
        ((Installed("a", default=True, requires=("b",)), Installed("b", default=True, requires=("a",))), {}, {}, {},
         ("a", "b"), ("a", "its order is a cycle (a, b); name order is used")),
    ],
)  # fmt: skip
def test_what_is_on_and_what_is_shown(installed, chosen, own, broken, enabled, problem):
    selection = resolve(installed, chosen, own, broken)
    assert selection.enabled == enabled
    shown = [(each.id, each.text) for each in selection.problems]
    assert problem in shown if problem else shown == []


def test_a_global_choice_that_the_session_overrules_is_no_problem():
    assert resolve((ROLLING, CHAIN), {"chain": True}, {"rolling": True}, {}).problems == ()


@pytest.mark.parametrize(
    ("installed", "ids"),
    [
        ((Installed("b"), Installed("a")), ("a", "b")),
        ((Installed("a", after=("c",)), Installed("b"), Installed("c")), ("b", "c", "a")),
        ((Installed("a", requires=("b",)), Installed("b", uses=("c",)), Installed("c")), ("c", "b", "a")),
        ((Installed("a", after=("unknown", "a")), Installed("b")), ("a", "b")),
        ((Installed("a", after=("z",)), Installed("c", after=("b",)), Installed("b", after=("c",)), Installed("z")),
         ("b", "c", "z", "a")),
        ((Installed("a", after=("c",)), Installed("b", after=("a",)), Installed("c", after=("b",)), Installed("d")),
         ("a", "b", "c", "d")),
    ],
)  # fmt: skip
def test_registry_order_is_by_name_and_wishes(installed, ids):
    assert order(installed).ids == ids


IDS = st.sampled_from(["a", "b", "c", "d", "e", "gone"])
NAMES = st.lists(IDS, max_size=2, unique=True).map(tuple)
INSTALLED = st.lists(
    st.builds(Installed, IDS, st.booleans(), st.booleans(), NAMES, NAMES, NAMES),
    max_size=5,
    unique_by=lambda each: each.id,
)
CHOICES = st.dictionaries(IDS, st.booleans(), max_size=4)
BROKEN = st.dictionaries(IDS, st.just("broke"), max_size=2)
MANY = settings(max_examples=80, deadline=None)


def runnable(installed, broken):
    """Strategies whose requirements, theirs included, are all there, whole, and no strategies; by the definition."""
    known = {each.id: each for each in installed}

    def whole(id, seen=()):
        return id in known and id not in broken and all(n in seen or whole(n, (*seen, id)) for n in known[id].requires)

    def needs(id, seen=frozenset()):
        for need in known[id].requires:
            if need not in seen and need != id:
                seen = needs(need, seen | {need}) if need in known else seen | {need}
        return seen

    return [
        each.id
        for each in installed
        if each.strategy
        and whole(each.id)
        and not any(known[need].strategy for need in needs(each.id) - {each.id} if need in known)
    ]


@given(INSTALLED, CHOICES, CHOICES, BROKEN)
@MANY
def test_there_are_never_two_strategies_and_never_none_while_a_healthy_one_is_installed(installed, chosen, own, broken):
    selection = resolve(installed, chosen, own, broken)
    known = {each.id: each for each in installed}
    running = [id for id in selection.enabled if known[id].strategy]
    assert running == ([selection.strategy] if selection.strategy else [])
    assert bool(running) == bool(runnable(installed, broken))


@given(INSTALLED, CHOICES, CHOICES, BROKEN)
@MANY
def test_what_is_enabled_is_healthy_and_has_its_requirements(installed, chosen, own, broken):
    selection = resolve(installed, chosen, own, broken)
    known = {each.id: each for each in installed}
    for id in selection.enabled:
        assert id not in broken
        assert set(known[id].requires) <= set(selection.enabled)


@given(INSTALLED, CHOICES, CHOICES, BROKEN)
@MANY
def test_every_chosen_one_that_is_not_enabled_and_not_overruled_is_a_shown_problem(installed, chosen, own, broken):
    selection = resolve(installed, chosen, own, broken)
    known = {each.id: each for each in installed}
    shown = {each.id for each in selection.problems}
    for id in {id for id, on in own.items() if on} - set(selection.enabled):
        assert id in shown, known.get(id)


@given(INSTALLED, CHOICES, CHOICES, BROKEN)
@MANY
def test_the_order_in_which_things_were_found_does_not_matter(installed, chosen, own, broken):
    assert resolve(installed, chosen, own, broken) == resolve(installed[::-1], chosen, own, broken)


@given(INSTALLED, CHOICES, st.sampled_from("ab"))
@MANY
def test_a_new_default_never_beats_an_older_named_choice(installed, chosen, new):
    before = resolve(installed, chosen, {}, {})
    if before.strategy is None or not chosen.get(before.strategy) or any(each.id == new for each in installed):
        return
    if new in chosen:
        return
    after = resolve([*installed, Installed(new, strategy=True, default=True)], chosen, {}, {})
    if any("no other one can run" in each.text for each in before.problems):
        # It stood for want of another, with a requirement off: such a choice cannot run, and it is shown why.
        told = f"is chosen, but {after.strategy} is in force because {before.strategy} requires"
        assert after.strategy == before.strategy or any(each.text.startswith(told) for each in after.problems)
        return
    named = [id for id, on in chosen.items() if on and id != new]
    assert after.strategy in named


@given(INSTALLED, CHOICES, CHOICES)
@MANY
def test_a_missing_plugins_choice_works_again_when_it_is_back(installed, chosen, own):
    before = resolve(installed, chosen, own, {})
    for each in installed:
        without = [other for other in installed if other.id != each.id]
        resolve(without, chosen, own, {})
        assert resolve([*without, each], chosen, own, {}) == before
