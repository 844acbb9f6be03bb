"""Switches to and from lcm, its fork, its removal: what other strategies and the tools make of the tree."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import metadata
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from refold import Applied, Call, Host, Note, NotFound, Rows, Session
from refold.prepare.request import Prepared
from refold.testing import ScriptedSummarizer
from refold.transcript.history import StoredHistory

WINDOW = 4_000
Turns = Callable[..., None]
Ask = Callable[..., dict[str, Any]]
Tree = Callable[[Session], list[dict[str, Any]]]


@pytest.fixture
def grown(session: Session, turns: Turns) -> Session:
    """A session whose older rows are in several nodes."""
    turns(session, 90)
    assert isinstance(session.prepare(WINDOW).attempted.outcome, Applied)
    turns(session, 2)
    return session


def shown_rows(prepared: Prepared) -> list[int]:
    parts = [
        part.range for section in prepared.projection.sections for part in section.inputs if isinstance(part, Rows)
    ]
    return [seq for part in parts for seq in range(part.after + 1, part.upto + 1)]


def words(prepared: Prepared) -> str:
    notes = [part for section in prepared.projection.sections for part in section.inputs if isinstance(part, Note)]
    return "\n".join(note.text for note in notes)


def test_rolling_reads_nodes_and_the_unsummarized_tail(grown: Session, host: Host, tree: Tree) -> None:
    covered = grown.run("lcm tree", {})["covered_seq"]
    in_view = [node for node in tree(grown) if node["in_view"]]
    host.choose("rolling", True, grown.id)
    decoded: list[int] = []
    original = StoredHistory._page

    def page(self: StoredHistory, after: int, upto: int) -> Any:
        decoded.extend(range(after + 1, upto + 1))
        return original(self, after, upto)

    StoredHistory._page = page
    try:
        prepared = host.session(grown.id).prepare(WINDOW)
    finally:
        StoredHistory._page = original
    assert [section.kind for section in prepared.projection.sections] == ["fold"] * len(in_view) + ["tail"]
    assert shown_rows(prepared) == list(range(covered + 1, grown.newest_seq() + 1))
    assert min(decoded) == covered + 1, "covered rows are not expanded"
    for node in in_view:
        assert f"[lcm node {node['id']}; summary of rows {node['first_seq']}-{node['last_seq']}" in words(prepared)


def test_a_unit_that_holds_uncovered_rows_is_kept_whole_as_folds_for_another_strategy(
    grown: Session, host: Host
) -> None:
    covered = grown.run("lcm tree", {})["covered_seq"]
    with host.database.write() as writer:  # as a tree whose last leaf ends inside a unit
        writer.execute("UPDATE lcm_node SET upto=upto-1 WHERE upto=?", covered)
        tokens = writer.one("SELECT tokens FROM refold_row WHERE seq=?", covered - 1)
        assert tokens is not None
        writer.execute("UPDATE lcm_cursor SET upto=?, tokens=?", covered - 1, tokens[0])
    host.choose("rolling", True, grown.id)
    prepared = host.session(grown.id).prepare(20_000)
    assert min(shown_rows(prepared)) == covered - 3, "the unit of the row that is not covered any more"
    assert f"-{covered - 1}, not" in words(prepared), "and the node that covers the rest of it"


def test_back_under_lcm_its_nodes_serve_and_rollings_summary_is_never_summarized(
    grown: Session, host: Host, turns: Turns, summarizer: ScriptedSummarizer, tree: Tree
) -> None:
    before = tree(grown)
    host.choose("rolling", True, grown.id)
    summarizer.reply = lambda prompt: "ROLLING-WROTE-THIS about the work so far"
    turns(grown, 30)
    assert isinstance(grown.prepare(WINDOW).attempted.outcome, Applied)
    assert "ROLLING-WROTE-THIS" in words(grown.prepare(WINDOW))
    assert tree(grown) == before, "nobody but lcm changes its tree"
    host.choose("lcm", True, grown.id)
    summarizer.reply = lambda prompt: "lcm goes on"
    calls = len(summarizer.prompts)
    turns(grown, 30)
    prepared = grown.prepare(WINDOW)
    assert isinstance(prepared.attempted.outcome, Applied)
    assert "ROLLING-WROTE-THIS" not in words(prepared)
    assert not any("ROLLING-WROTE-THIS" in prompt.user() for prompt in summarizer.prompts[calls:])
    after = {node["id"]: node for node in tree(grown)}
    assert all({**node, "in_view": after[node["id"]]["in_view"]} == after[node["id"]] for node in before)
    fed = [block.text for prompt in summarizer.prompts[calls:] for block in prompt.blocks if block.kind == "user"]
    assert not any(text.startswith("question 3:") for text in fed), "what is in a node is not summarized again"


def test_the_tools_keep_working_throughout(grown: Session, host: Host, turns: Turns, ask: Ask) -> None:
    node = ask(grown, "lcm_list", limit=1)["nodes"][0]["id"]
    before = [ask(grown, "lcm_expand", node=node), ask(grown, "lcm_grep", text="question 7:")]
    for strategy in ("rolling", "lcm", "rolling", "lcm"):
        host.choose(strategy, True, grown.id)
        grown.prepare(WINDOW)
        assert [ask(grown, "lcm_expand", node=node), ask(grown, "lcm_grep", text="question 7:")] == before
        assert ask(grown, "lcm_describe", node=node)["id"] == node
        turns(grown, 1)


def test_without_its_distribution_memory_folds_and_tools_stay(
    grown: Session, host: Host, monkeypatch: pytest.MonkeyPatch, ask: Ask, tree: Tree
) -> None:
    nodes = tree(grown)
    everything = metadata.distributions
    monkeypatch.setattr(
        metadata, "distributions", lambda **context: (d for d in everything(**context) if d.name != "refold-lcm")
    )
    host.reload()
    listed = {each.id: each for each in host.extensions(grown.id).extensions}
    assert "lcm" not in listed or listed["lcm"].problem
    assert listed["lcm-memory"].enabled
    assert host.extensions(grown.id).strategy == "rolling"
    prepared = grown.prepare(WINDOW)
    assert {section.kind for section in prepared.projection.sections} == {"fold", "tail"}
    assert ask(grown, "lcm_grep", text="question 7:")["rows"]
    assert tree(grown) == nodes
    monkeypatch.undo()
    host.reload()
    assert host.extensions(grown.id).strategy == "lcm", "the choice holds again"


def test_a_fork_calls_no_model_and_goes_on_from_the_nodes_before_its_checkpoint(
    grown: Session, host: Host, summarizer: ScriptedSummarizer, tree: Tree, ask: Ask
) -> None:
    calls, before = len(summarizer.prompts), tree(grown)
    whole = grown.run("lcm tree", {})["covered_seq"]
    branch = host.session(grown.fork(whole - 20).session)
    assert len(summarizer.prompts) == calls
    copied = tree(branch)
    complete = [node for node in before if node["last_seq"] <= whole - 20]
    assert [(n["first_seq"], n["last_seq"], n["depth"]) for n in copied] == [
        (n["first_seq"], n["last_seq"], n["depth"]) for n in complete
    ]
    assert not {node["id"] for node in copied} & {node["id"] for node in before}
    assert tree(grown) == before
    prepared = branch.prepare(WINDOW)
    assert [section.id for section in prepared.projection.sections[:-1]] == [
        f"node-{node['id']}" for node in copied if node["in_view"]
    ]
    with pytest.raises(NotFound, match="not found"):
        ask(branch, "lcm_describe", node=before[0]["id"])


def test_a_fork_whose_last_unit_is_covered_shows_that_unit_as_it_is(host: Host, turns: Turns) -> None:
    """The newest unit, and a result that a fork adds for an open call, belong into the tail."""
    session = host.new()
    turns(session, 30)
    session.user("look at this")
    session.assistant("", [Call("open", "read", {"path": "/x"})])
    session.user("never mind, go on")
    turns(session, 40)
    session.prepare(WINDOW)
    assert session.run("lcm tree", {})["covered_seq"] > 123
    for at in (120, 121, 122, 123):
        for strategy in ("lcm", "rolling"):
            branch = host.session(session.fork(at).session)
            host.choose(strategy, True, branch.id)
            assert branch.newest_seq() in shown_rows(branch.prepare(WINDOW))
            branch.user("and now?")
            turns(branch, 60)
            prepared = branch.prepare(WINDOW)
            assert isinstance(prepared.attempted.outcome, Applied), (at, strategy)


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]], list[int]]:
    """Units by their number of steps, which nodes in view become parents, and which units end a leaf."""
    units = draw(st.lists(st.integers(0, 3), min_size=2, max_size=7))
    ends = draw(st.lists(st.booleans(), min_size=len(units), max_size=len(units)))
    joins = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(2, 4)), max_size=4))
    return units, joins, [place for place, end in enumerate(ends[:-1]) if end]


@settings(max_examples=6, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(drawn=trees())
def test_a_fork_at_every_row_of_a_random_tree_keeps_all_invariants(
    drawn: tuple[list[int], list[tuple[int, int]], list[int]], host: Host, plant_tree: Callable[..., None], tree: Tree,
    ask: Ask,
) -> None:  # fmt: skip
    units, joins, ends = drawn
    session, unit_ends = host.new(), []
    for place, steps in enumerate(units):
        session.user(f"unit {place}")
        for step in range(steps):
            session.assistant("", [Call(f"{place}.{step}", "read", {})])
            session.results({f"{place}.{step}": "read"})
        unit_ends.append(session.newest_seq())
    plant_tree(session, [unit_ends[place] for place in ends], joins)
    source = tree(session)
    for at in range(1, session.newest_seq() + 1):
        branch = host.session(session.fork(at).session)
        copied = tree(branch)
        complete = [node for node in source if node["last_seq"] <= at]
        by_range = {(n["first_seq"], n["last_seq"], n["depth"]): n for n in copied}
        assert by_range.keys() == {(n["first_seq"], n["last_seq"], n["depth"]) for n in complete}
        assert not {n["id"] for n in copied} & {n["id"] for n in source}
        old, new = {n["id"]: n for n in complete}, {n["id"]: n for n in copied}
        for node in complete:
            twin = by_range[node["first_seq"], node["last_seq"], node["depth"]]
            assert [new[child]["last_seq"] for child in twin["children"]] == [
                old[child]["last_seq"] for child in node["children"]
            ]
        leaves = [n for n in copied if n["depth"] == 0]
        covered = branch.run("lcm tree", {})["covered_seq"]
        assert covered == max((n["last_seq"] for n in leaves), default=0)
        children = {child for n in copied for child in n["children"]}
        roots = sorted((n["first_seq"], n["last_seq"]) for n in copied if n["id"] not in children)
        assert [first for first, _ in roots] == [1, *(last + 1 for _, last in roots)][: len(roots)]
        prepared = branch.prepare(WINDOW)
        spans = [section.covers for section in prepared.projection.sections if section.covers]
        assert all(one.upto == two.after for one, two in pairwise(spans))
        assert shown_rows(prepared) == list(range((spans[-1].upto if spans else 0) + 1, branch.newest_seq() + 1))
        for node in copied[:2]:
            assert ask(branch, "lcm_expand", node=node["id"])["first_seq"] == node["first_seq"]
        branch.delete()
    assert tree(session) == source


def test_a_deleted_session_takes_its_tree_with_it(grown: Session, host: Host) -> None:
    branch = host.session(grown.fork(grown.newest_seq()).session)
    grown.delete()
    with host.database.read() as reader:
        assert {session for (session,) in reader.all("SELECT session FROM lcm_node")} == {branch.id}
    assert branch.run("lcm tree", {})["nodes"]
    branch.delete()
    with host.database.read() as reader:
        assert reader.all("SELECT count(*) FROM lcm_node") == [(0,)]
        assert reader.all("SELECT count(*) FROM lcm_cursor") == [(0,)]


def test_show_and_tree_list_the_nodes_at_their_boundaries(grown: Session, tree: Tree) -> None:
    folds = grown.stored_folds()
    assert [(fold.owner, fold.covers.upto) for fold in folds] == [
        ("lcm", node["last_seq"]) for node in tree(grown) if node["in_view"]
    ]


def test_every_planted_fact_is_reached_in_at_most_three_calls(
    host: Host, asking: Callable[[Session], AbstractContextManager[Callable[..., dict[str, Any]]]]
) -> None:
    """1,000 facts in 20,000 rows, behind at least ten compactions; no summary holds one."""
    from refold import Row, SourceRef

    new = SourceRef("", 0)
    session, compactions = host.new(), 0
    for part in range(50):
        session.append(
            row
            for unit in range(part * 200, part * 200 + 200)
            for row in (
                Row(new, "user", 0, 0, opens=True, text=f"please go on with part {unit} of the work"),
                Row(new, "assistant", 0, 0, text=f"the pass{unit // 10}word of box {unit} is key-{unit * 7919:x}"
                    if unit % 10 == 3 else f"part {unit} is done"),
            )
        )  # fmt: skip
        attempted = session.prepare(16_000).attempted
        compactions += attempted is not None and isinstance(attempted.outcome, Applied)
    assert compactions >= 10
    assert session.newest_seq() == 20_000
    covered = session.run("lcm tree", {})["covered_seq"]
    assert covered > 18_000
    with asking(session) as ask:
        for unit in range(3, 10_000, 10):
            (hit,) = ask("lcm_grep", text=f"pass{unit // 10}word of box")["rows"]
            assert hit["seq"] == unit * 2 + 2
            node = {} if hit["node"] is None else {"node": hit["node"]}
            assert bool(node) == (hit["seq"] <= covered)
            rows = ask("lcm_expand", **node, seq=hit["seq"], characters=200)
            assert f"key-{unit * 7919:x}" in rows["content"]
