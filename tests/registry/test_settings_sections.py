"""Settings sections are strict, and every fault is named at once with its path."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Literal

import pytest
from attrs import Factory, define, field, frozen, validators
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from refold.registry.settings import CompactionSettings, Reader, choices, class_fault, key


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


@frozen
class Page:
    width: int = field(default=400, validator=validators.ge(100))
    font: str = "mono"


@frozen
class Everything:
    context_window_tokens: int | None = field(default=None, validator=validators.optional(validators.gt(0)))
    trigger_percent: int = field(default=90, validator=[validators.ge(1), validators.le(100)])
    tail_percent: int = field(default=25, validator=[validators.ge(0), validators.le(90)])
    ratio: float = 0.5
    enabled: bool = True
    names: tuple[str, ...] = ()
    shape: Literal["wide", "tall"] = "wide"
    level: Level = Level.LOW
    page: Page = Page()
    pages: tuple[Page, ...] = ()
    prices: Mapping[str, int] = Factory(dict)
    area: tuple[int, int] = (1, 2)

    def __attrs_post_init__(self) -> None:
        if self.tail_percent >= self.trigger_percent:
            raise ValueError("tailPercent must be smaller than triggerPercent")


def read(section: object):
    return Reader().section("x", section, Everything)


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ({}, Everything()),
        ({"contextWindowTokens": 200000, "triggerPercent": 80}, Everything(200000, 80)),
        ({"contextWindowTokens": None}, Everything()),
        ({"tailPercent": 89, "triggerPercent": 90}, Everything(tail_percent=89)),
        ({"tailPercent": 90, "triggerPercent": 95}, Everything(tail_percent=90, trigger_percent=95)),
        ({"ratio": 1}, Everything(ratio=1.0)),
        ({"names": ["a", "b"]}, Everything(names=("a", "b"))),
        ({"shape": "tall", "level": "high"}, Everything(shape="tall", level=Level.HIGH)),
        ({"page": {"width": 100}}, Everything(page=Page(100))),
        ({"pages": [{}, {"font": "x"}]}, Everything(pages=(Page(), Page(font="x")))),
        ({"prices": {"a b": 1}}, Everything(prices={"a b": 1})),
        ({"area": [3, 4]}, Everything(area=(3, 4))),
    ],
)
def test_a_good_section_becomes_the_settings_class(section, value):
    assert read(section).faults == ()
    assert read(section).value == value


@pytest.mark.parametrize(
    ("section", "faults"),
    [
        ([], ["$.x: is a list, not an object"]),
        ({"triggerPercent": True}, ["$.x.triggerPercent: is true or false, not a whole number"]),
        ({"triggerPercent": "90"}, ["$.x.triggerPercent: is text, not a whole number"]),
        ({"triggerPercent": 90.0}, ["$.x.triggerPercent: is a number, not a whole number"]),
        ({"triggerPercent": None}, ["$.x.triggerPercent: is null, not a whole number"]),
        ({"triggerPercent": 900}, ["$.x.triggerPercent: must be <= 100: 900"]),
        ({"contextWindowTokens": -1}, ["$.x.contextWindowTokens: must be > 0: -1"]),
        ({"contextWindowTokens": "many"}, ["$.x.contextWindowTokens: is text, not a whole number"]),
        ({"enabled": 1}, ["$.x.enabled: is a whole number, not true or false"]),
        ({"ratio": "1"}, ["$.x.ratio: is text, not a number"]),
        ({"names": "ab"}, ["$.x.names: is text, not a list"]),
        ({"names": ["a", 1, None]}, ["$.x.names[1]: is a whole number, not text", "$.x.names[2]: is null, not text"]),
        ({"shape": "round"}, ["$.x.shape: must be one of 'wide', 'tall'"]),
        ({"page": {"width": 1, "fount": "x"}},
         ["$.x.page.fount: unknown key; did you mean font?", "$.x.page.width: must be >= 100: 1"]),
        ({"pages": [{}, {"width": "1"}]}, ["$.x.pages[1].width: is text, not a whole number"]),
        ({"prices": {"a b": "1"}}, ["$.x.prices['a b']: is text, not a whole number"]),
        ({"area": [1]}, ["$.x.area: has 1 items, not 2"]),
        ({"tailPercent": 80, "triggerPercent": 70}, ["$.x: tailPercent must be smaller than triggerPercent"]),
        ({"trigger_percent": 80}, ["$.x.trigger_percent: unknown key; did you mean triggerPercent?"]),
        ({"triggerPercnt": 80}, ["$.x.triggerPercnt: unknown key; did you mean triggerPercent?"]),
        ({"ratio": [], "nonsense!": 1, "triggerPercent": 0, "tailPercent": 91},
         ["$.x.ratio: is a list, not a number", "$.x['nonsense!']: unknown key; known: contextWindowTokens",
          "$.x.triggerPercent: must be >= 1: 0", "$.x.tailPercent: must be <= 90: 91"]),
    ],
)  # fmt: skip
def test_all_faults_are_named_with_path_and_nearest_key_and_the_defaults_serve(section, faults):
    found = read(section)
    assert found.value == Everything()
    assert len(found.faults) == len(faults)
    for fault, start in zip(found.faults, faults, strict=True):
        assert fault.startswith(start)
        assert "\n" not in fault


def test_a_value_that_may_be_a_secret_is_not_repeated():
    assert "sk-12345" not in " ".join(read({"triggerPercent": "sk-12345", "names": "sk-12345"}).faults)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["triggerPercent", "names", "page", "width", "x"]), below, max_size=3)
    ),
    max_leaves=6,
)


@given(JSON)
@limits(max_examples=150, deadline=None)
def test_any_json_gives_settings_or_faults_and_never_a_raise(section):
    found = read(section)
    assert isinstance(found.value, Everything)
    assert found.faults or isinstance(section, dict)


def test_the_hosts_own_section():
    assert Reader().section("compaction", {"auto": False}, CompactionSettings).value == CompactionSettings(auto=False)
    faulty = Reader().section("compaction", {"auot": False}, CompactionSettings)
    assert faulty.faults == ("$.compaction.auot: unknown key; did you mean auto?",)


def test_a_choice_with_a_fault_is_left_out_and_the_others_serve():
    found = choices({"lcm": True, "chain": "yes", "rolling": False})
    assert found.value == {"lcm": True, "rolling": False}
    assert found.faults == ("$.enabled.chain: is text, not true or false",)
    assert choices(["lcm"]).faults == ("$.enabled: is a list, not an object",)


def test_a_settings_class_is_frozen_and_has_defaults_that_it_accepts():
    @define
    class Loose:
        size: int = 1

    @frozen
    class Bare:
        size: int

    @frozen
    class Wrong:
        size: int = field(default=0, validator=validators.ge(1))

    @frozen
    class Empty:
        pass

    assert class_fault(Everything) is class_fault(Empty) is None
    assert class_fault(dict) == "settings must be a frozen attrs class"
    assert class_fault(Loose) == "Loose is not frozen"
    assert class_fault(Bare) == "Bare needs a default for size"
    assert class_fault(Wrong) == "Wrong does not accept its own defaults: 'size' must be >= 1: 0"


@pytest.mark.parametrize(("name", "json"), [("size", "size"), ("tail_percent", "tailPercent"), ("maxEdge", "maxEdge")])
def test_a_fields_key_is_its_name_in_camel_case(name, json):
    assert key(name) == json
