"""Which results collapse and into which line, as tables over rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from attrs import evolve
from refold import Call, Image, Row, SourceRef, ToolTraits
from refold.values.traits import KNOWN_TOOLS
from refold_eviction.decide import gate, verdicts
from refold_eviction.placeholders import placeholder
from refold_eviction.results import seen
from refold_eviction.settings import EvictionSettings

BIG = "a line of the file\n" * 150
SETTINGS = EvictionSettings()
TRAITS: Mapping[str, ToolTraits] = {
    **KNOWN_TOOLS,
    "mark_read": ToolTraits(reads="path", pins="hold"),
    "run": ToolTraits(action=True, reads="path"),
    "move": ToolTraits(writes=("src", "dst")),
}


class Told:
    """Rows as a turn makes them: one step a call of `do`, of any number of calls."""

    def __init__(self) -> None:
        self.rows = [Row(SourceRef("s", 1), "user", 1, 0, opens=True, text="go")]

    def do(self, *calls: tuple[str, Mapping[str, Any]], text: str = BIG, ok: bool = True) -> Told:
        made = [Call(f"c{len(self.rows)}-{n}", name, arguments) for n, (name, arguments) in enumerate(calls)]
        self._add("assistant", calls=tuple(made))
        for call in made:
            self._add("result", call_id=call.id, text=text, ok=ok)
        return self

    def answer(self) -> Told:
        self._add("assistant", text="so it is")
        return self

    def _add(self, kind: Any, **more: Any) -> None:
        self.rows.append(Row(SourceRef("s", len(self.rows) + 1), kind, 1, 1, **more))


def read(path: str, **more: Any) -> tuple[str, Mapping[str, Any]]:
    return "read", {"path": path, **more}


def grep(pattern: str, path: str = "src", **more: Any) -> tuple[str, Mapping[str, Any]]:
    return "grep", {"pattern": pattern, "path": path, **more}


def lines(rows: Sequence[Row], settings: EvictionSettings = SETTINGS, *, listings: bool = True) -> dict[int, str]:
    """The collapsed rows, by seq."""
    found = verdicts(seen(rows, TRAITS.get), settings, listings=listings)
    return {ref.seq: placeholder(verdict) for ref, verdict in found.items()}


OLD = "an older result that was not marked useful; call read again]"


def test_all_but_the_two_newest_read_and_search_results_collapse() -> None:
    told = Told().do(read("a")).do(grep("x")).do(read("b")).do(read("c")).answer()
    assert set(lines(told.rows)) == {3, 5}
    assert set(lines(told.rows, EvictionSettings(keep_recent=0))) == {3, 5, 7, 9}
    assert lines(told.rows, EvictionSettings(keep_recent=4)) == {}


def test_results_that_the_model_has_not_seen_yet_stay_until_it_has() -> None:
    told = Told().do(read("old")).do(*(read(name) for name in "abcd"))
    assert set(lines(told.rows)) == {3}
    assert set(lines(told.answer().rows)) == {3, 5, 6}


@pytest.mark.parametrize(
    ("size", "limit", "collapses"), [(2_000, 2_000, False), (2_001, 2_000, True), (10, 0, True), (0, 0, False)]
)
def test_results_of_up_to_the_least_size_are_no_candidates(size: int, limit: int, collapses: bool) -> None:
    told = Told().do(read("a"), text="x" * size).do(read("b")).do(read("c")).answer()
    assert (3 in lines(told.rows, EvictionSettings(min_result_bytes=limit))) is collapses


def test_small_results_take_no_place_among_the_newest() -> None:
    told = Told().do(read("a")).do(read("b")).do(read("c"), text="small").do(read("d"), text="small").answer()
    assert lines(told.rows) == {}


def test_a_picture_counts_one_byte_a_pixel() -> None:
    told = Told().do(read("a.png"), text="").do(read("b")).do(read("c")).answer()
    told.rows[2] = evolve(told.rows[2], images=(Image("k", "image/png", 100, 100),))
    assert set(lines(told.rows)) == {3}


@pytest.mark.parametrize("tool", ["bash", "run", "shell", "nobody_knows", "mcp__thing"])
def test_commands_and_unknown_tools_never_collapse(tool: str) -> None:
    told = Told().do((tool, {"path": "a"}))
    for name in "bcdef":
        told.do(read(name))
    told.do(("write", {"path": "a"}), text="written").answer()
    assert 3 not in lines(told.rows)


def test_listings_stay_for_three_steps_that_list() -> None:
    told = Told()
    for number in range(5):
        told.do(("ls", {"path": f"d{number}"}), ("ls", {"path": f"e{number}"}))
        told.do(read(f"f{number}"))
    collapsed = lines(told.answer().rows)
    assert {seq for seq, text in collapsed.items() if text.startswith("[evicted: ls")} == {3, 4, 8, 9}
    assert collapsed[3] == "[evicted: ls d0 (150 lines), older than the last 3 steps that listed; call ls again]"
    assert not any(text.startswith("[evicted: ls") for text in lines(told.rows, listings=False).values())


STALE_PATHS = [
    (read("src/a.py"), "src/a.py", True),
    (read("src/a.py"), "./src/../src/a.py", True),
    (read("/repo/src/a.py"), "src/a.py", True),
    (read("src/a.py"), "/repo/src/a.py", True),
    (read("src/a.py"), "src", True),  # above
    (read("src"), "src/a.py", True),  # below
    (read("C:\\Repo\\A.py"), "c:/repo/a.py", True),
    (read("src/a.py"), "src/b.py", False),
    (read("src/a.py"), "src/a.pyc", False),
    (read("/repo/src/a.py"), "lib/a.py", False),
    (grep("x", "src"), "src/a.py", True),
    (grep("x", "src"), "lib/a.py", False),
    (grep("x", "."), "lib/a.py", True),
    (("grep", {"pattern": "x"}), "lib/a.py", True),  # the whole working folder
    (grep("x", "/repo"), "lib/a.py", True),  # a relative write is in every folder that was searched
    (("Glob", {"pattern": "src/**/*.py"}), "src/lib/a.py", True),
    (("Glob", {"pattern": "src/**/*.py"}), "docs/a.md", False),
    (("Glob", {"pattern": "**/*.py", "path": "src"}), "src/a.py", True),
    (("Glob", {"pattern": "**/*.py", "path": "src"}), "docs/a.md", False),
    (("ls", {"path": "src"}), "src/a.py", True),
    (("ls", {"path": "src"}), "docs/a.md", False),
    (("read_many_files", {"paths": ["a.md", "src/a.py"]}), "src/a.py", True),
    (("WebFetch", {"url": "https://src/a.py"}), "src/a.py", False),
    (("WebSearch", {"query": "a.py"}), "a.py", False),
]


@pytest.mark.parametrize(("call", "written", "stale"), STALE_PATHS)
def test_a_write_makes_stale_what_it_touched(call: tuple[str, Mapping[str, Any]], written: str, stale: bool) -> None:
    told = Told().do(call).do(("write", {"path": written, "content": "x"}), text="written").answer()
    collapsed = lines(told.rows)
    assert (3 in collapsed) is stale
    if stale:
        assert f", stale since {written} was modified; call {call[0]} again]" in collapsed[3]


def test_stale_beats_the_newest_and_the_marks() -> None:
    told = Told().do(read("a", keep=True))
    told.do(("keep_result", {"path": "a"}), text="marked")
    told.do(("edit", {"path": "a"}), text="edited")
    assert set(lines(told.rows)) == {3}


def test_what_was_not_seen_yet_stays_though_stale_and_goes_one_request_later() -> None:
    at_once = Told().do(read("a"), ("write", {"path": "a"}))
    assert lines(at_once.rows) == {}
    assert set(lines(at_once.answer().rows)) == {3}


PATCH = """*** Begin Patch
*** Update File: src/a.py
*** Move to: src/moved.py
@@
-x
+*** not a header
*** Add File: src/new.py
+y
*** Delete File: src/gone.py
*** End Patch
"""


@pytest.mark.parametrize(
    ("path", "stale"),
    [
        ("src/a.py", True),
        ("/repo/src/moved.py", True),
        ("src/new.py", True),
        ("src/gone.py", True),
        ("src/other.py", False),
        ("not a header", False),
    ],
)
def test_a_patch_writes_the_files_that_it_names(path: str, stale: bool) -> None:
    told = Told().do(read(path)).do(("apply_patch", {"input": PATCH}), text="Success.").answer()
    assert (3 in lines(told.rows)) is stale
    denied = Told().do(read(path)).do(("apply_patch", {"input": PATCH}), text="no", ok=False).answer()
    assert lines(denied.rows) == {}


def test_listings_and_searches_of_codex_are_known() -> None:
    told = Told().do(("list_dir", {"dir_path": "/repo/src"}), ("grep_files", {"pattern": "x", "path": "/repo/src"}))
    assert set(lines(told.do(("apply_patch", {"input": PATCH}), text="Success.").answer().rows)) == {3, 4}


def test_a_read_after_the_write_is_fresh() -> None:
    told = Told().do(("write", {"path": "a"}), text="written").do(read("a")).answer()
    assert lines(told.rows) == {}


@pytest.mark.parametrize(
    ("text", "ok"),
    [
        ("written", False),
        ("Error: no such file", True),
        ("Permission denied", True),
        ("[not executed: stopped]", False),
    ],
)
def test_failed_and_denied_writes_make_nothing_stale(text: str, ok: bool) -> None:
    told = Told().do(read("a")).do(("write", {"path": "a"}), text=text, ok=ok).answer()
    assert lines(told.rows) == {}


def test_a_write_without_a_result_makes_nothing_stale() -> None:
    told = Told().do(read("a"))
    told._add("assistant", calls=(Call("open", "write", {"path": "a"}),))
    assert lines(told.answer().rows) == {}


def test_every_argument_that_a_write_names_counts() -> None:
    told = Told().do(read("a")).do(read("b")).do(("move", {"src": "a", "dst": "b"}), text="moved").answer()
    assert set(lines(told.rows)) == {3, 5}


PINS = [
    (read("a", keep=True), None, True),
    (read("a", keep="true"), None, True),
    (read("a", keep=False), None, False),
    (("mark_read", {"path": "a", "hold": True}), None, True),
    (("mark_read", {"path": "a", "keep": True}), None, False),
    (read("a"), {"path": "a"}, True),
    (read("./a"), {"path": "/repo/a"}, True),
    (read("a"), {"path": "b"}, False),
    (read("a", offset=10, limit=10), {"path": "a"}, True),
    (read("a", offset=10, limit=10), {"path": "a", "offset": 19, "limit": 1}, True),
    (read("a", offset=10, limit=10), {"path": "a", "offset": 20, "limit": 1}, False),
    (read("a", offset=10, limit=10), {"path": "a", "offset": 1, "limit": 9}, False),
    (read("a", offset=10), {"path": "a", "offset": 900, "limit": 0}, True),
    (read("a"), {"path": "a", "offset": 5, "limit": 2}, True),
    (grep("x"), {"pattern": "x"}, True),
    (grep("x"), {"pattern": "x", "path": "src"}, True),
    (grep("x"), {"pattern": "x", "path": "lib"}, False),
    (grep("x"), {"pattern": "y"}, False),
    (read("src"), {"pattern": "x", "path": "src"}, False),
    (grep("x", keep=True), None, True),
]


@pytest.mark.parametrize(("call", "mark", "stays"), PINS)
def test_a_marked_result_stays(
    call: tuple[str, Mapping[str, Any]], mark: Mapping[str, Any] | None, stays: bool
) -> None:
    told = Told().do(call)
    if mark is not None:
        told.do(("keep_result", mark), text="marked")
    told.do(read("m")).do(read("n")).answer()
    assert (3 not in lines(told.rows)) is stays


def test_a_mark_covers_earlier_results_alone() -> None:
    told = Told().do(("keep_result", {"path": "a"}), text="marked").do(read("a")).do(read("b")).do(read("c")).answer()
    assert 5 in lines(told.rows)


@pytest.mark.parametrize(
    ("text", "ok"), [("marked", False), ("Permission denied", True), ("[not executed: stopped]", False)]
)
def test_a_mark_that_failed_or_was_denied_keeps_nothing(text: str, ok: bool) -> None:
    told = Told().do(read("a")).do(("keep_result", {"path": "a"}), text=text, ok=ok)
    assert 3 in lines(told.do(read("m")).do(read("n")).answer().rows)


def test_a_mark_that_names_nothing_keeps_nothing() -> None:
    told = Told().do(("grep", {"path": "src"})).do(("keep_result", {}), text="usage: keep_result")
    assert 3 in lines(told.do(read("m")).do(read("n")).answer().rows)


def test_a_mark_keeps_no_listing() -> None:
    told = Told()
    for number in range(4):
        told.do(("ls", {"path": f"d{number}", "keep": True}))
    assert 3 in lines(told.answer().rows)


PLACEHOLDERS = [
    (read("src/a.py"), f"[evicted: contents of src/a.py, {OLD}"),
    (read("src/a.py", offset=5, limit=10), f"[evicted: lines 5-14 of src/a.py, {OLD}"),
    (read("src/a.py", offset=5), f"[evicted: lines from 5 on of src/a.py, {OLD}"),
    (read("src/a.py", offset=0, limit=10), f"[evicted: lines 1-10 of src/a.py, {OLD}"),
    (read("a", start_line=3, end_line=9), f"[evicted: lines 3-9 of a, {OLD}"),
    (grep("def f", "src"), '[evicted: results of grep "def f" in src, ' + OLD.replace("read", "grep")),
    (("grep", {"pattern": "x"}), '[evicted: results of grep "x", ' + OLD.replace("read", "grep")),
    (
        ("WebFetch", {"url": "https://example.org/a"}),
        "[evicted: page https://example.org/a, " + OLD.replace("read", "WebFetch"),
    ),
    (
        ("read_many_files", {"paths": ["a", "b", "c", "d"]}),
        "[evicted: contents of a, b and 2 more, " + OLD.replace("read", "read_many_files"),
    ),
    (read("a\nb]c"), f"[evicted: contents of a b)c, {OLD}"),
    (read("\x1b[31mred"), f"[evicted: contents of (31mred, {OLD}"),
]


@pytest.mark.parametrize(("call", "line"), PLACEHOLDERS)
def test_a_placeholder_says_what_why_and_how_to_get_it_back_on_one_line(
    call: tuple[str, Mapping[str, Any]], line: str
) -> None:
    told = Told().do(call).do(read("m")).do(read("n")).answer()
    assert lines(told.rows)[3] == line
    assert "\n" not in line


def test_long_names_are_cut() -> None:
    told = Told().do(read("x" * 5_000)).do(read("m")).do(read("n")).answer()
    assert len(lines(told.rows)[3]) < 300


def test_a_placeholder_does_not_change_when_more_results_and_more_writes_come() -> None:
    told = Told().do(read("a")).do(("write", {"path": "a"}), text="written").do(read("b"))
    before = lines(told.rows)
    told.do(("write", {"path": "./a"}), text="written").do(read("c")).do(read("d")).answer()
    assert lines(told.rows)[3] == before[3]


def test_ids_that_are_used_again_do_not_relabel_an_older_result() -> None:
    told = Told().do(read("a"))
    told.rows.append(Row(SourceRef("s", 4), "assistant", 1, 2, calls=(Call("c1-0", "bash", {}),)))
    told.rows.append(Row(SourceRef("s", 5), "result", 1, 2, call_id="c1-0", text=BIG))
    told.do(read("b")).do(read("c")).answer()
    assert set(lines(told.rows)) == {3}


@pytest.mark.parametrize(
    ("size", "window", "start", "refused", "opens"),
    [
        (499, 1_000, 50, False, False),
        (500, 1_000, 50, False, True),
        (1, 1_000, 50, True, True),
        (1, 1_000, 0, False, True),
        (1, None, 50, False, True),
        (999, 1_000, 100, False, False),
        (1_000, 1_000, 100, False, True),
    ],
)
def test_the_gate(size: int, window: int | None, start: int, refused: bool, opens: bool) -> None:
    assert gate(size, window, start, refused) is opens
