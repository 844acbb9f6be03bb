"""A broken extension costs itself and what requires it, gets a reason, and never ends a session."""

from __future__ import annotations

import json

import pytest

from .conftest import STRATEGY, ChildError, Living, source


@pytest.fixture
def rolling(environment):
    """A healthy default strategy beside whatever is broken."""
    environment.put("rolling", source("rolling", STRATEGY, default=True))


TOOL = """
@hookimpl
def tools(): return [Tool("look", "Looks.", {}, lambda context, arguments: "seen")]
"""


BROKEN = {
    "import error": ("import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_name'"),
    "syntax error": ("def broken(:", "SyntaxError"),
    "sys.exit": ("import sys; sys.exit(3)", "cannot be imported: SystemExit: 3"),
    "unknown hook": (
        source("bad", "@hookimpl\ndef compact_harder(context): pass"),
        "uses hook compact_harder, unknown to refold",
    ),
    "hook signature": (source("bad", "@hookimpl\ndef observe(context, nonsense): pass"), "nonsense"),
    "bad manifest": (
        source("bad", requires="lcm", default=1, store="No Store"),
        "bad manifest: default must be True or False; requires must be a tuple of ids; store 'No Store'",
    ),
    "a manifest that is none": (
        "from refold import hookimpl\n@hookimpl\ndef manifest(): return {'id': 'bad'}",
        "bad manifest: manifest() returned dict",
    ),
    "bad settings class": (
        source("bad").replace("summary='bad'", "summary='bad', settings=int"),
        "bad manifest: settings must be a frozen attrs class",
    ),
    "wrong id": (source("other"), "its manifest says the id 'other', but its entry point is named BAD"),
    "no manifest": ("from refold import hookimpl", "gives no manifest"),
    "manifest raises": (
        "from refold import hookimpl\n@hookimpl\ndef manifest(): raise OSError('gone')",
        "manifest() raised OSError: gone",
    ),
    "hook raises": (source("bad", "@hookimpl\ndef tools(): raise SystemExit"), "tools() raised SystemExit"),
    "no strategy": (
        source("bad", "@hookimpl\ndef compaction_strategy(): return object()"),
        "compaction_strategy() returned object, which has no project and no compact",
    ),
    "no tool": (source("bad", "@hookimpl\ndef tools(): return ['look']"), "a str among its items, not Tool"),
    "no schema": (
        source("bad", "@hookimpl\ndef tools(): return [Tool('look', '', None, None)]"),
        "gives the Tool look, whose parameters are NoneType, no mapping",
    ),
    "no JSON": (
        source("bad", "@hookimpl\ndef tools(): return [Tool('look', '', {'a': object()}, None)]"),
        "gives the Tool look, whose parameters are no JSON",
    ),
    "no words": (
        source("bad", "@hookimpl\ndef commands(): return [Command(None, '', {}, None)]"),
        "gives a Command whose name is NoneType, not a text",
    ),
    "host word": (
        source("bad", "@hookimpl\ndef commands(): return [Command('fork now', '', {}, print)]"),
        "gives the command fork now, but fork is a command of the host",
    ),
    "foreign word": (
        source("bad", "@hookimpl\ndef commands(): return [Command('lcm tree', '', {}, print)]"),
        "gives the command 'lcm tree', whose first word is not BAD",
    ),
    "host tool": (
        source("bad", "@hookimpl\ndef tools(): return [Tool('compact_context', '', {}, print)]"),
        "gives the tool compact_context, which is the host's own",
    ),
    "failing migration": (
        source("bad", "@hookimpl\ndef migrations(): return ['CREATE TABLE nonsense(']"),
        "its tables could not be brought up to date: Refused: migration 1 of BAD failed (SQL of store BAD was not run",
    ),
    "missing requirement": (source("bad", requires=("absent",)), "requires absent, which is not installed"),
}


@pytest.fixture(scope="module")
def listed(shared_environment, tmp_path_factory):
    """The list of a process in which every one of them is installed, beside a healthy strategy."""
    shared_environment.put("rolling", source("rolling", STRATEGY, default=True))
    for place, (code, _) in enumerate(BROKEN.values()):
        shared_environment.put(f"bad{place}", code.replace("'bad'", f"'bad{place}'"))
    child = Living(shared_environment.python, tmp_path_factory.mktemp("home"))
    try:
        yield child.list()
    finally:
        child.close()
        shared_environment.reset()


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_extension_is_off_with_a_reason_and_the_others_serve(listed, fault):
    place = list(BROKEN).index(fault)
    row = listed["rows"][f"bad{place}"]
    assert BROKEN[fault][1].replace("BAD", f"bad{place}") in row["problem"]
    assert "\n" not in row["problem"]
    assert row["version"] == "1"
    assert listed["strategy"] == "rolling"
    assert listed["enabled"] == ["rolling"]


def test_whoever_requires_a_broken_extension_is_off_too_and_enabling_either_is_refused(environment, living, rolling):
    environment.put("bad", "raise ValueError('no')")
    environment.put("above", source("above", default=True, requires=("bad",)))
    child = living()
    assert child.list()["rows"]["above"]["problem"] == "requires bad, which does not work"
    with pytest.raises(ChildError, match="bad cannot be enabled: cannot be imported: ValueError: no; nothing was"):
        child.choose(changes={"bad": True})
    with pytest.raises(ChildError, match="above requires bad, which does not work: cannot be imported"):
        child.choose(changes={"above": True})


def test_a_hook_of_a_newer_host_is_no_fault_when_it_is_optional(environment, living):
    environment.put(
        "new", source("new", "@hookimpl(optionalhook=True)\ndef from_tomorrow(context): pass", default=True)
    )
    assert living().list()["rows"]["new"]["problem"] is None


def test_of_two_distributions_with_one_id_the_one_named_after_it_serves(environment, living):
    environment.put("twin", source("twin", title="other"), distribution="a-twin", module="t_other")
    environment.put("twin", source("twin", title="own"))
    row = living().list()["rows"]["twin"]
    assert row["title"] == "own"
    assert "refold-twin and a-twin" in row["problem"]


def test_an_unreadable_distribution_and_a_half_removed_one_hide_nobody(environment, living, rolling):
    environment.put("odd", source("odd"), entry_points=b"\xff\xfe[refold.extensions]")
    (environment.site / "~efold_rolling-1.dist-info").mkdir()
    (environment.site / "~efold_rolling-1.dist-info" / "entry_points.txt").write_text(
        "[refold.extensions]\nghost = t\n"
    )
    now = living().list()
    assert now["strategy"] == "rolling"
    assert "ghost" not in now["rows"]
    (problem,) = [text for id, text in now["problems"] if id is None]
    assert "refold_odd-1.dist-info cannot be read and was skipped: UnicodeDecodeError" in problem


@pytest.mark.parametrize(
    ("points", "id", "reason"),
    [
        ("[refold.extensions]\nodd = not a module!\n", "odd", "which names no module"),
        ("[refold.extensions]\nenabled = t_odd\n", "enabled", "is a section of the host"),
        ("[refold.extensions]\nOdd One = t_odd\n", "Odd One", "an id is a lower-case letter"),
    ],
)
def test_an_entry_point_that_cannot_be_one_is_a_problem(environment, living, points, id, reason):
    environment.put("odd", source("odd"), entry_points=points)
    (problem,) = [text for owner, text in living().list()["problems"] if owner == id]
    assert reason in problem


def test_a_folder_earlier_on_the_path_does_not_pass_for_the_extension(environment, living, home):
    environment.put("bad", source("bad", default=True))
    (home / "t_bad.py").write_text(source("bad", default=True))
    child = living(PYTHONPATH=str(home))
    assert f"t_bad was found at {home}/t_bad.py, which is not refold-bad's" in child.list()["rows"]["bad"]["problem"]
    assert child.modules("t_bad") == []
    (home / "t_bad.py").unlink()
    child.reload()
    assert child.list()["rows"]["bad"]["problem"] is None


def test_of_two_that_give_one_tool_the_later_loses_as_a_whole_and_both_are_named(environment, living, rolling):
    environment.put("eyes", source("eyes", TOOL, default=True))
    environment.put("looks", source("looks", TOOL, default=True))
    environment.put("sight", source("sight", default=True, requires=("looks",)))
    child = living()
    now = child.list()
    assert now["enabled"] == ["eyes", "rolling"]
    assert now["rows"]["looks"]["problem"] == "gives the tool look, which eyes gives already: it is off as a whole"
    assert now["rows"]["sight"]["problem"] == "requires looks, which does not work"
    assert child.list(session={"eyes": False})["enabled"] == ["looks", "rolling", "sight"]


def test_enabling_one_that_gives_a_tool_of_another_is_refused_naming_both(environment, living, rolling):
    environment.put("eyes", source("eyes", TOOL))
    environment.put("looks", source("looks", TOOL, default=True))
    child = living()
    words = "Refused: looks gives the tool look, which eyes gives already.*nothing was changed; disable one of the two"
    with pytest.raises(ChildError, match=words):
        child.choose(changes={"eyes": True})
    with pytest.raises(ChildError, match=words):
        child.propose(changes={"eyes": True}, session={})
    both = {"eyes": True, "looks": False}
    assert child.propose(changes=both, session={}) == both


@pytest.mark.parametrize(
    ("store", "requires", "serves"),
    [("mine", (), False), ("mine_too", (), False), ("mine", ("first",), True), ("mineral", (), True)],
)
def test_a_store_has_one_owner_unless_one_requires_the_other(environment, living, store, requires, serves):
    environment.put("first", source("first", default=True, store="mine"))
    environment.put("second", source("second", default=True, store=store, requires=requires))
    now = living().list()
    assert ("second" in now["enabled"]) is serves
    assert serves or f"its store {store} overlaps the store mine of first" in now["rows"]["second"]["problem"]


STORE = "@hookimpl\ndef migrations(): return ['CREATE TABLE %s_state(x)']\n"


@pytest.mark.parametrize("known", [True, False], ids=["the owner was there first", "both are new"])
def test_a_package_that_names_the_store_of_another_loses_and_the_owner_serves_on(environment, living, known):
    owner = source("rolling", STORE % "rolling" + STRATEGY, default=True)
    environment.put("rolling", owner)
    if known:
        living().list()
    environment.put("aaa", source("aaa", STORE % "rolling", default=True, store="rolling"))
    for _ in range(2):
        now = living().list()
        assert (now["strategy"], now["enabled"], now["rows"]["rolling"]["problem"]) == ("rolling", ["rolling"], None)
        assert now["rows"]["aaa"]["problem"] == (
            "its store rolling overlaps the store rolling of rolling, which had it first,"
            " and neither requires the other"
        )
    environment.put("rolling", "1 / 0")  # the owner fails: its tables are still its own
    assert "which had it first" in living().list()["rows"]["aaa"]["problem"]
    environment.remove("refold-rolling")
    problem = living().list()["rows"]["aaa"]["problem"]
    assert "of rolling, which is not installed now; 'refold extensions forget rolling' drops its tables" in problem


@pytest.mark.parametrize("store", ["refold", "refold_rows", "sessions", "sqlite_x"])
def test_a_package_that_names_its_store_like_a_host_table_is_a_problem(environment, living, store):
    environment.put("aaa", source("aaa", STORE % store, default=True, store=store))
    word = store.partition("_")[0]
    assert f"store '{store}' begins with {word}" in living().list()["rows"]["aaa"]["problem"]


def test_tables_that_are_newer_than_the_code_make_it_a_problem(environment, living):
    table = "@hookimpl\ndef migrations(): return ['CREATE TABLE grown(x)', 'ALTER TABLE grown ADD y'][:%d]"
    environment.put("grown", source("grown", table % 2, default=True))
    child = living()
    assert child.list()["enabled"] == ["grown"]
    environment.put("grown", source("grown", table % 0, default=True), version="0")
    child.reload()
    assert "the tables of grown are newer (version 2) than its code" in child.list()["rows"]["grown"]["problem"]


def test_what_an_extension_prints_stays_off_standard_output_and_trace_shows_each_hook_call(environment, living):
    environment.put("loud", "print('hello')\n" + source("loud", TOOL + "print('there')"))
    child = living(REFOLD_TRACE="1")
    child.list()
    assert "hello\nthere\n" in child.stderr()
    assert "refold trace: loud.manifest()\nrefold trace: loud.manifest -> Manifest\n" in child.stderr()


def test_choices_are_listed_and_changed_without_importing_anything(environment, living, home, rolling):
    environment.put("grep", source("grep", TOOL, requires=("rolling",)))
    living().list()
    child = living()
    rows = child.unloaded()
    assert [rows["grep"][name] for name in ("title", "kind", "enabled", "requires")] == [
        "grep",
        "tools",
        False,
        ["rolling"],
    ]
    child.choose(changes={"grep": False})
    with pytest.raises(ChildError, match="rolling is the only strategy that is on"):
        child.choose(changes={"rolling": False})
    child.choose(changes={"grep": None})
    assert child.modules("t_") == []
    assert json.loads((home / "extensions.json").read_text()) == {"enabled": {}}
