"""The four tools: bounded, paged, literal, and closed to other sessions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refold import Host, Image, NotFound, Refused, Row, Session, SourceRef
from refold.prepare.context import BoundContext
from refold.testing.contents import contents
from refold_lcm_memory.tools import CHARACTERS, LISTED, NEEDLE

Ask = Callable[..., dict[str, Any]]
Plant = Callable[..., dict[str, int]]

PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)


def pages(ask: Ask, session: Session, tool: str, most: int = 10_000, **arguments: object) -> Iterator[dict[str, Any]]:
    """Every page, from the first to the last."""
    given = dict(arguments)
    for _ in range(most):
        page = ask(session, tool, **given)
        yield page
        if "next" not in page:
            return
        given["cursor"] = page["next"]
    raise AssertionError("the pages never end")


def test_lcm_list_names_every_node_and_says_which_are_in_view(session: Session, plant: Plant, ask: Ask) -> None:
    ids = plant(session, [4, 8, 12, 16], p=(4, 8))
    listed = ask(session, "lcm_list")["nodes"]
    assert [(node["id"], node["first_seq"], node["last_seq"], node["depth"]) for node in listed] == [
        (ids["4"], 1, 4, 0), (ids["8"], 5, 8, 0), (ids["12"], 9, 12, 0), (ids["16"], 13, 16, 0), (ids["p"], 1, 8, 1),
    ]  # fmt: skip
    assert {node["id"] for node in listed if node["in_view"]} == {ids["p"], ids["12"], ids["16"]}


def test_lcm_list_pages_advance_and_hold_every_node_once(session: Session, plant: Plant, ask: Ask) -> None:
    ids = plant(session, range(1, 45), p=(1, 2), q=(3, 4))
    found = [node["id"] for page in pages(ask, session, "lcm_list", limit=7) for node in page["nodes"]]
    assert found == sorted(ids.values())
    assert len(ask(session, "lcm_list", limit=10_000)["nodes"]) == LISTED


def test_lcm_grep_finds_rows_and_summaries_whatever_their_case(session: Session, plant: Plant, ask: Ask) -> None:
    ids = plant(session, [8, 16], p=(8, 16))
    found = ask(session, "lcm_grep", text="QUESTION 3: WHERE IS THE CAFÉ")
    assert [(hit["seq"], hit["kind"], hit["node"]) for hit in found["rows"]] == [(9, "user", ids["16"])]
    assert ask(session, "lcm_grep", text="PARENT p")["nodes"][0]["id"] == ids["p"]
    assert [hit["seq"] for hit in ask(session, "lcm_grep", text="MODULE_4.py")["rows"]] == [14]


def test_a_row_that_no_node_covers_says_so(session: Session, plant: Plant, ask: Ask) -> None:
    plant(session, [8])
    assert ask(session, "lcm_grep", text="question 12")["rows"][0]["node"] is None


def test_lcm_grep_may_be_limited_to_a_node(session: Session, plant: Plant, ask: Ask) -> None:
    ids = plant(session, [8, 16, 24], p=(8, 16))
    found = ask(session, "lcm_grep", text="question", node=ids["16"])
    assert [hit["seq"] for hit in found["rows"]] == [9, 13]
    assert found["nodes"] == []
    within = ask(session, "lcm_grep", text="leaf", node=ids["p"])
    assert [hit["id"] for hit in within["nodes"]] == [ids["8"], ids["16"]]
    assert within["rows"] == []


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 20])
def test_lcm_grep_pages_hold_every_hit_once_whatever_the_limit(
    session: Session, plant: Plant, ask: Ask, limit: int
) -> None:
    ids = plant(session, [4, 8, 12, 16, 20, 24], p=(4, 8), q=(12, 16))
    found = list(pages(ask, session, "lcm_grep", text="e", limit=limit))
    assert [hit["seq"] for page in found for hit in page["rows"]] == [
        row.ref.seq for row in session.rows() if "e" in row.text or row.calls
    ]
    assert [hit["id"] for page in found for hit in page["nodes"]] == sorted(ids.values())


NEEDLES = {
    "percent": ("100% sure", "100%", "1000 sure"),
    "underscore": ("the __init__ file", "__init__", "the aainitaa file"),
    "single quote": ("don't", "N'T", "dont"),
    "double quote": ('say "hi"', '"HI"', "say hi"),
    "backslash": ("C:\\temp\\x", "\\TEMP\\", "C:/temp/x"),
    "NUL": ("before\0after", "E\0A", "beforeafter"),
    "after NUL": ("before\0needle", "NEEDLE", "before"),
    "one letter": ("ж", "Ж", "x"),
    "one CJK character": ("昨晚吃了", "晚", "昨天"),
    "CJK": ("在昨晚的会议上", "昨晚", "昨 晚"),
    "emoji": ("ship it 🚀 now", "🚀", "ship it now"),
    "joined emoji": ("the 👩‍🚀 flew", "👩‍🚀", "the 👩 flew 🚀"),
    "combining accent": ("cafe\u0301", "E\u0301", "caf\u00e9"),
    "accented letter": ("CAFÉ", "café", "CAFE\u0301"),
    "sharp s": ("Straße", "STRASSE", "Strase"),
    "dotted I": ("İstanbul", "i\u0307stanbul", "Istanbul"),
    "final sigma": ("ΣΊΣΥΦΟΣ", "σίσυφος", "σισυφος"),
    "regular expression": ("(a+)+$ x", "(A+)+$", "aaa"),
    "SQL": ("'); DROP TABLE refold_row; --", "'); drop", "DROP"),
    "new line": ("one\ntwo", "E\nT", "one two"),
    "blank": ("a b", " ", "ab"),
}


@pytest.mark.parametrize("name", NEEDLES)
def test_lcm_grep_takes_its_text_literally(name: str, host: Host, ask: Ask) -> None:
    holds, needle, other = NEEDLES[name]
    session = host.new()
    for text in (other, holds, other):
        session.user(text)
    assert [hit["seq"] for hit in ask(session, "lcm_grep", text=needle)["rows"]] == [2]


@pytest.mark.parametrize("name", NEEDLES)
def test_lcm_grep_takes_its_text_literally_in_summaries_too(
    name: str, session: Session, plant: Plant, ask: Ask
) -> None:
    holds, needle, other = NEEDLES[name]
    ids = plant(session, [4, 8])
    with session.host.database.write() as writer:
        writer.execute("UPDATE lcm_node SET summary=?, folded=? WHERE id=?", holds, holds.casefold(), ids["8"])
        writer.execute("UPDATE lcm_node SET summary=?, folded=? WHERE id=?", other, other.casefold(), ids["4"])
    assert [hit["id"] for hit in ask(session, "lcm_grep", text=needle)["nodes"]] == [ids["8"]]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "1 to 1,000"),
        ("x" * (NEEDLE + 1), "1 to 1,000"),
        (7, "1 to 1,000"),
        (None, "1 to 1,000"),
        ("\ud83d", "half of a character"),
    ],
)
def test_a_text_that_cannot_be_looked_for_is_refused(text: object, fault: str, session: Session, ask: Ask) -> None:
    with pytest.raises(Refused, match=fault):
        ask(session, "lcm_grep", text=text)


def test_a_snippet_holds_the_hit_however_deep_it_lies(host: Host, plant: Plant, ask: Ask) -> None:
    session = host.new()
    session.user("lorem ipsum " * 5_000 + "the Needle İ is here " + "dolor sit " * 5_000)
    session.user("next")
    ids = plant(session, [1])
    with host.database.write() as writer:
        summary = "İ" * 3_000 + " the needle " + "x" * 3_000
        writer.execute("UPDATE lcm_node SET summary=?, folded=?", summary, summary.casefold())
    found = ask(session, "lcm_grep", text="needle")
    assert "Needle" in found["rows"][0]["snippet"]
    assert "needle" in found["nodes"][0]["snippet"]
    assert max(len(hit["snippet"]) for hit in found["rows"] + found["nodes"]) <= 160
    assert found["nodes"][0]["id"] == ids["1"]


def test_lcm_describe_tells_range_size_children_and_text(session: Session, plant: Plant, ask: Ask) -> None:
    ids = plant(session, [4, 8, 12], p=(4, 8))
    told = ask(session, "lcm_describe", node=ids["p"])
    assert told["children"] == [ids["4"], ids["8"]]
    assert (told["first_seq"], told["last_seq"], told["depth"]) == (1, 8, 1)
    assert told["summary"] == "parent p"
    assert told["in_view"] is True
    assert ask(session, "lcm_describe", node=ids["8"])["parent"] == ids["p"]


def test_lcm_describe_pages_a_long_summary(session: Session, plant: Plant, ask: Ask) -> None:
    ids = plant(session, [4])
    text = "".join(f"{n} e\u0301 " for n in range(9_000))
    with session.host.database.write() as writer:
        writer.execute("UPDATE lcm_node SET summary=?", text)
    told = list(pages(ask, session, "lcm_describe", node=ids["4"]))
    assert "".join(page["summary"] for page in told) == text
    assert max(len(page["summary"]) for page in told) <= CHARACTERS
    assert not any(page["summary"].startswith("\u0301") for page in told)


def test_lcm_expand_shows_the_rows_of_all_children_word_for_word(session: Session, plant: Plant, ask: Ask) -> None:
    ids = plant(session, [4, 8], p=(4, 8))
    content = ask(session, "lcm_expand", node=ids["p"])["content"]
    for row in session.rows(0, 8):
        assert f"[row {row.ref.seq} · " in content
        assert row.text in content
    assert '[call read] {"path":"/src/module_2.py"}' in content
    assert "question 3" not in content


def test_lcm_expand_begins_at_a_row_when_asked_to(session: Session, plant: Plant, ask: Ask) -> None:
    ids = plant(session, [8])
    assert ask(session, "lcm_expand", node=ids["8"], seq=5)["content"].startswith("[row 5 · user]\nquestion 2")
    assert ask(session, "lcm_expand", seq=45)["content"].startswith("[row 45 · user]\nquestion 12")
    with pytest.raises(NotFound, match="row 9 not found"):
        ask(session, "lcm_expand", node=ids["8"], seq=9)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.text(st.sampled_from("ab \n\0é日🚀\u0301\u200d\ufe0f"), max_size=90), min_size=1, max_size=4),
    characters=st.integers(1, 60),
)
def test_pages_of_lcm_expand_always_advance_and_lose_nothing(
    host: Host, plant: Plant, ask: Ask, texts: list[str], characters: int
) -> None:
    session = host.new()
    for text in [*texts, "newest"]:
        session.user(text)
    ids = plant(session, [len(texts)])
    (node,) = ids.values()
    found = list(pages(ask, session, "lcm_expand", most=2_000, node=node, characters=characters))
    whole = ask(session, "lcm_expand", node=node, characters=CHARACTERS)["content"]
    assert "".join(page["content"] for page in found).replace("\n", "") == whole.replace("\n", "")
    assert all(0 < len(page["content"]) <= characters for page in found)


def test_one_huge_row_is_read_page_by_page(host: Host, plant: Plant, ask: Ask) -> None:
    session = host.new()
    text = "".join(f"line {n}\n" for n in range(4_000))
    session.user(text)
    session.user("newest")
    (node,) = plant(session, [1]).values()
    found = list(pages(ask, session, "lcm_expand", node=node, characters=10**9))
    assert "".join(page["content"] for page in found) == f"[row 1 · user]\n{text}"
    assert max(len(page["content"]) for page in found) == CHARACTERS


def test_pictures_are_told_by_what_they_are_and_not_by_their_bytes(host: Host, plant: Plant, ask: Ask) -> None:
    session = host.new()
    session.user("look", [Image(PNG, "image/png", 0, 0)])
    session.user("newest")
    (node,) = plant(session, [1]).values()
    assert ask(session, "lcm_expand", node=node)["content"] == "[row 1 · user]\nlook\n[image image/png 1x1]"
    assert ask(session, "lcm_grep", text="iVBOR")["rows"] == []


def test_events_and_opaque_items_are_told_without_their_payload(host: Host, ask: Ask) -> None:
    from refold import Replay

    session = host.new()
    session.append([Row(SourceRef("", 0), "event", 0, 0, event="notice", text="compacted")])
    session.append([Row(SourceRef("", 0), "replay", 0, 0, replay=Replay("openai", '{"encrypted":"secret"}'))])
    content = ask(session, "lcm_expand", seq=1)["content"]
    assert content == "[row 1 · event notice]\ncompacted\n\n[row 2 · opaque item of openai]"


@pytest.mark.parametrize("tool", ["lcm_describe", "lcm_expand", "lcm_grep"])
def test_nodes_of_other_sessions_are_not_found(tool: str, host: Host, session: Session, plant: Plant, ask: Ask) -> None:
    (mine,) = plant(session, [4]).values()
    other = host.new("other")
    other.user("hello")
    other.user("hello")
    (theirs,) = plant(other, [1]).values()
    arguments = {"text": "a"} if tool == "lcm_grep" else {}
    words = []
    for node in (theirs, 10**12):
        with pytest.raises(NotFound, match="not found") as caught:
            ask(session, tool, node=node, **arguments)
        words.append(str(caught.value).replace(str(node), "N"))
    assert words[0] == words[1], "nothing tells a node of another session from one that never was"
    assert ask(session, tool, node=mine, **arguments)
    assert [node["id"] for node in ask(session, "lcm_list")["nodes"]] == [mine]
    assert ask(session, "lcm_grep", text="hello")["rows"] == []


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("lcm_list", {"cursor": "g1.2"}), ("lcm_list", {"cursor": "l-1"}), ("lcm_list", {"limit": "many"}),
        ("lcm_grep", {"text": "a", "cursor": "l3"}), ("lcm_grep", {"text": "a", "limit": -1}),
        ("lcm_describe", {}), ("lcm_describe", {"node": True}), ("lcm_describe", {"node": 1.5}),
        ("lcm_expand", {}), ("lcm_expand", {"cursor": "x1"}), ("lcm_expand", {"seq": [1]}),
        ("lcm_list", {"cursor": 4}),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_in_one_line(
    tool: str, arguments: dict[str, object], session: Session, ask: Ask
) -> None:
    with pytest.raises(Refused) as caught:
        ask(session, tool, **arguments)
    assert "\n" not in str(caught.value)


def test_numbers_may_come_as_text(session: Session, plant: Plant, ask: Ask) -> None:
    (node,) = plant(session, [4]).values()
    assert ask(session, "lcm_describe", node=f"#{node}") == ask(session, "lcm_describe", node=float(node))


@pytest.mark.parametrize("text", ["🚀" * 400, "\x01" * 9_000, "日" * 9_000, '"' * 9_000])
def test_every_answer_is_bounded_in_bytes_however_it_is_escaped(text: str, host: Host, plant: Plant, ask: Ask) -> None:
    session = host.new()
    for n in range(60):
        session.user(f"{n} needle {text}")
    plant(session, range(1, 60))
    with host.database.write() as writer:
        writer.execute("UPDATE lcm_node SET summary=?, folded=?", f"needle {text}", f"needle {text}".casefold())
    answers = [
        ask(session, "lcm_list", limit=10**6),
        ask(session, "lcm_grep", text="needle", limit=10**6),
        ask(session, "lcm_expand", seq=1, characters=10**9),
        *(ask(session, "lcm_describe", node=node["id"]) for node in ask(session, "lcm_list", limit=1)["nodes"]),
    ]
    assert max(len(json.dumps(each, ensure_ascii=False).encode()) for each in answers) < 50_000


def test_the_tools_only_read(session: Session, plant: Plant, ask: Ask, host: Host) -> None:
    (node,) = plant(session, [4]).values()
    with host.database.read() as reader:
        before = contents(reader, ())
    ask(session, "lcm_list")
    ask(session, "lcm_grep", text="e")
    ask(session, "lcm_describe", node=node)
    ask(session, "lcm_expand", node=node)
    with host.database.read() as reader:
        assert contents(reader, ()) == before


def test_the_connection_of_a_tool_cannot_write(session: Session, plant: Plant, host: Host) -> None:
    plant(session, [4])
    with session._viewing() as (view, _):
        context = BoundContext(view, view.composition.extension("lcm-memory"))
        with pytest.raises(Exception, match=r"(?i)readonly|read-only|attempt to write"):
            context.read("DELETE FROM lcm_node")
    assert host.session("one")


def test_the_tools_need_no_tree(session: Session, ask: Ask) -> None:
    assert ask(session, "lcm_list") == {"nodes": []}
    assert ask(session, "lcm_grep", text="question 5")["rows"][0]["seq"] == 17
    assert ask(session, "lcm_expand", seq=17)["content"].startswith("[row 17 · user]")


def test_an_empty_session_has_nothing_to_show(host: Host, ask: Ask) -> None:
    session = host.new()
    assert ask(session, "lcm_list") == {"nodes": []}
    assert ask(session, "lcm_grep", text="a") == {"rows": [], "nodes": []}
    with pytest.raises(NotFound):
        ask(session, "lcm_expand", seq=1)


def test_lcm_memory_is_on_by_default_and_gives_four_tools(host: Host, tmp_path: Path) -> None:
    listed = {each.id: each for each in host.extensions().extensions}
    assert (listed["lcm-memory"].enabled, listed["lcm-memory"].default) == (True, True)
    names = [tool.name for extension, tool in host.composition().tools if extension.id == "lcm-memory"]
    assert names == ["lcm_list", "lcm_grep", "lcm_describe", "lcm_expand"]


def test_a_command_is_answered_in_a_home_that_was_just_made(tmp_path: Path) -> None:
    with Host(tmp_path / "fresh") as host:
        assert host.new("one").run("lcm tree", {}) == {"nodes": [], "covered_seq": 0}
