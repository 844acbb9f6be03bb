"""Commands that extensions bring: their JSON schema becomes words and options of the shell."""

from __future__ import annotations

import json
import shutil

import pytest

TREE = """
SCHEMA = {
    "type": "object",
    "required": ["session", "out"],
    "properties": {
        "session": {"type": "string"},
        "out": {"type": "string", "description": "Where to."},
        "depth": {"type": "integer", "minimum": 1},
        "deep": {"type": "boolean"},
        "kind": {"enum": ["leaf", "node"]},
        "only": {"type": "array", "items": {"type": "integer"}},
        "home": {"type": "object"},
    },
}

def tree(work, given):
    rows = work.history.range
    return {"given": dict(given), "nodes": [{"id": "n1", "first_seq": 1, "last_seq": rows.upto, "in_view": True}]}

def records(work, given):
    return {"session": work.session, "records": []}

@hookimpl
def commands():
    return [Command("forest tree", "Draw the tree.", SCHEMA, tree),
            Command("forest records", "List them.", {"type": "object", "properties": {}}, records)]
"""


@pytest.fixture
def forest(in_talk, install):
    in_talk.see(install("forest", TREE, default=True))
    return in_talk


def test_properties_become_options_and_session_the_positional_word(forest) -> None:
    words = ("--out", "x", "--depth", 2, "--deep", "--kind", "node", "--only", 3, "--only", 4, "--given-home", "{}")
    answer = forest("forest", "tree", "talk", *words, "--json").document
    assert answer["given"] == {
        "session": "talk",
        "out": "x",
        "depth": 2,
        "deep": True,
        "kind": "node",
        "only": [3, 4],
        "home": {},
    }
    assert answer["nodes"] == [{"id": "n1", "first_seq": 1, "last_seq": 160, "in_view": True}]


def test_what_is_not_given_is_not_passed_and_the_newest_session_serves(forest) -> None:
    assert forest("forest", "tree", "--out", "x", "--json").document["given"] == {"out": "x", "session": "talk"}
    assert forest("forest", "records", "--json").document == {"session": "talk", "records": []}


def test_people_get_lines_and_tables(forest) -> None:
    out = forest("forest", "tree", "--out", "x").out
    assert json.dumps({"out": "x", "session": "talk"}) in out
    header, row = out.splitlines()[-2:]
    assert header.split() == ["id", "first_seq", "last_seq", "in_view"]
    assert row.split() == ["n1", "1", "160", "yes"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("tree", "talk"), "Missing option '--out'"),
        (("tree", "talk", "--out", "x", "--depth", "0"), "0 is not in the range"),
        (("tree", "talk", "--out", "x", "--kind", "bush"), "'bush' is not one of"),
        (("bark",), "No such command 'bark'"),
    ],
)
def test_words_that_the_schema_forbids_are_usage_errors(forest, words: tuple[str, ...], says: str) -> None:
    done = forest("forest", *words, "--json")
    assert done.code == 2
    assert says in done.document["error"]["message"]


def test_a_word_alone_lists_the_commands_behind_it(forest) -> None:
    done = forest("forest")
    assert done.code == 0
    assert "Draw the tree." in done.out


def test_a_command_of_an_extension_that_is_off_says_so(forest) -> None:
    assert forest("extensions", "disable", "forest").code == 0
    done = forest("forest", "records", "--json")
    assert (done.code, done.document["error"]["code"]) == (1, "not_found")
    assert "forest records" in done.err


KEPT = """
@hookimpl
def migrations():
    return ["CREATE TABLE kept_state(a); INSERT INTO kept_state VALUES(1)"]
"""


def test_what_an_uninstalled_extension_left_behind_can_be_dropped_and_its_names_are_free(in_talk, install) -> None:
    folder = install("kept", KEPT)
    in_talk.see(folder)
    in_talk("extensions")
    install("later", KEPT, store="kept")

    def problem() -> str | None:
        listed = in_talk("extensions", "--json").document["extensions"]
        return next(each["problem"] for each in listed if each["id"] == "later")

    assert "of kept, which had it first" in problem()
    refused = in_talk("extensions", "forget", "kept", "--yes")
    assert (refused.code, "kept is installed; nothing was changed" in refused.err) == (1, True)
    shutil.rmtree(folder / "ext_kept-1.0.dist-info")
    assert "refold extensions forget kept' drops its tables" in problem()
    asked = in_talk("extensions", "forget", "kept")
    assert (asked.code, "add --yes" in asked.err) == (2, True)
    done = in_talk("extensions", "forget", "kept", "--yes", "--json")
    assert done.document == {"extension": "kept", "tables": ["kept_state"]}
    assert problem() is None
    assert in_talk("extensions", "forget", "kept", "--yes").code == 1
