"""The JSON that other programs rely on, each shape from a real process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from refold import Host

TEXT, NUMBER, MAYBE_TEXT, MAYBE_NUMBER = str, int, (str, type(None)), (int, type(None))

SESSION = {
    "id": TEXT,
    "title": MAYBE_TEXT,
    "model": MAYBE_TEXT,
    "rows": NUMBER,
    "turns": NUMBER,
    "tokens": NUMBER,
    "created": TEXT,
    "forked_from": MAYBE_TEXT,
}
ROW = {
    "seq": NUMBER,
    "kind": TEXT,
    "role": MAYBE_TEXT,
    "turn": NUMBER,
    "bytes": NUMBER,
    "tokens": NUMBER,
    "text": TEXT,
    "calls": list,
    "call_id": MAYBE_TEXT,
    "images": list,
}
FOLD = {"after_seq": NUMBER, "source": TEXT, "label": TEXT}
COMPACTION = {
    "state": TEXT,
    "strategy": MAYBE_TEXT,
    "selection_applied": bool,
    "kind": MAYBE_TEXT,
    "before_tokens": MAYBE_NUMBER,
    "after_tokens": MAYBE_NUMBER,
    "summarized_rows": MAYBE_NUMBER,
    "summarized_tokens": MAYBE_NUMBER,
    "kept_rows": MAYBE_NUMBER,
    "passes": MAYBE_NUMBER,
    "summarizer": MAYBE_TEXT,
    "lossy": (bool, type(None)),
    "notes": list,
    "code": MAYBE_TEXT,
    "reason": MAYBE_TEXT,
}
PREPARED = {
    "strategy": TEXT,
    "window": MAYBE_NUMBER,
    "window_source": TEXT,
    "compacted": bool,
    "sections": list,
    "estimated_input_tokens": NUMBER,
    "rows_covered": NUMBER,
    "rows_sent": NUMBER,
    "request": dict,
}
EXTENSION = {
    "id": TEXT,
    "version": MAYBE_TEXT,
    "title": MAYBE_TEXT,
    "kind": MAYBE_TEXT,
    "enabled": bool,
    "default": (bool, type(None)),
    "chosen": MAYBE_TEXT,
    "requires": list,
    "problem": MAYBE_TEXT,
}


def shaped(document: Any, shape: dict[str, Any]) -> None:
    for key, kind in shape.items():
        assert key in document, f"{key} is missing in {document}"
        assert isinstance(document[key], kind), f"{key} is {document[key]!r}"


def compacted(home: Path) -> None:
    with Host(home) as host:
        host.session("talk").compact(window=4000)


def test_import_tells_what_is_new_and_adds_nothing_the_second_time(refold, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_bytes(
        orjson.dumps([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}, {"role": 7}])
    )
    first = refold("import", file, "--json").document
    shape = {"session": TEXT, "format": TEXT, "rows": NUMBER, "already": NUMBER, "turns": NUMBER, "tokens": NUMBER}
    shaped(first, {**shape, "skipped": list})
    assert (first["format"], first["rows"], first["already"], first["turns"]) == ("openai-chat", 2, 0, 1)
    for skipped in first["skipped"]:
        shaped(skipped, {"line": MAYBE_NUMBER, "reason": TEXT})
    piped = refold("import", "-", "--session", "piped", "--json", stdin=file.read_bytes()).document
    assert (piped["session"], piped["rows"]) == ("piped", 2)
    second = refold.here("import", file, "--json").document
    assert (second["rows"], second["already"], second["session"]) == (0, 2, first["session"])


def test_new_and_sessions_list_every_session_with_unknown_values_null(refold) -> None:
    made = refold("new", "--title", "t", "--json").document
    (listed,) = refold("sessions", "--json").document["sessions"]
    shaped(listed, SESSION)
    assert (listed["id"], listed["title"], listed["model"], listed["rows"]) == (made["session"], "t", None, 0)


def test_show_pages_through_every_row_once_and_draws_folds_at_their_boundary(in_talk) -> None:
    compacted(in_talk.home)
    shaped(in_talk("show", "--json").document, {"rows": list, "folds": list, "next_after": NUMBER, "has_more": bool})
    seqs, folds, after, more = [], [], 0, True
    while more:
        page = in_talk.here("show", "talk", "--after", after, "--limit", 90, "--json").document
        for row in page["rows"]:
            shaped(row, ROW)
        seqs += [row["seq"] for row in page["rows"]]
        folds += page["folds"]
        after, more = page["next_after"], page["has_more"]
    assert seqs == list(range(1, 161))
    for fold in folds:
        shaped(fold, FOLD)
    assert [fold["source"] for fold in folds if fold["label"].startswith("older conversation")] == ["rolling"]
    named = in_talk("tree", "talk", "--json").document
    assert named["folds"] == folds


def test_a_row_tells_its_role_its_size_and_its_calls(in_talk) -> None:
    rows = in_talk.here("show", "--limit", 4, "--json").document["rows"]
    assert [row["role"] for row in rows] == ["user", "assistant", "tool", "assistant"]
    assert rows[1]["calls"] == [{"id": "call-0", "name": "read", "arguments": {"path": "/src/part0.py"}}]
    assert rows[2]["call_id"] == "call-0"
    assert rows[0]["bytes"] == len(rows[0]["text"].encode())


def test_search_gives_hits_in_order_and_where_to_go_on(in_talk) -> None:
    first = in_talk.here("search", "talk", "PART 7 returns", "--json").document
    assert [hit["seq"] for hit in first["hits"]] == [32]
    assert first["next_after"] is None
    page = in_talk("search", "talk", "returns", "--limit", 2, "--json").document
    shaped(page["hits"][0], {"seq": NUMBER, "preview": TEXT})
    assert page["next_after"] == page["hits"][-1]["seq"] == 8


def test_fork_tree_and_delete_keep_the_other_session_whole(in_talk) -> None:
    fork = in_talk("fork", "talk", "--at", 6, "--json").document
    shaped(fork, {"session": TEXT, "rows": NUMBER, "first_seq": NUMBER, "last_seq": NUMBER, "unanswered": list})
    assert (fork["rows"], fork["last_seq"], fork["unanswered"]) == (7, 7, ["call-1"])
    (root,) = in_talk("tree", "--json").document["sessions"]
    (child,) = root["children"]
    assert (root["id"], root["forked_at"]) == ("talk", None)
    assert (child["id"], child["forked_at"], child["children"]) == (fork["session"], 6, [])
    assert in_talk("delete", fork["session"], "--yes", "--json").document == {"session": fork["session"], "rows": 7}
    (left,) = in_talk.here("sessions", "--json").document["sessions"]
    assert (left["id"], left["rows"]) == ("talk", 160)


def test_compact_plans_then_compacts_then_has_nothing_to_do(in_talk) -> None:
    planned = in_talk("compact", "talk", "rolling", "--window", 4000, "--dry-run", "--json").document
    shaped(planned, COMPACTION)
    assert planned["state"] == "planned"
    assert planned["summarized_rows"] + planned["kept_rows"] == 160
    assert in_talk.here("context", "--json").document["state"] == "pending"
    done = in_talk("compact", "talk", "--window", 4000, "--instructions", "keep part 3", "--json").document
    shaped(done, COMPACTION)
    assert (done["state"], done["strategy"], done["kind"], done["lossy"]) == ("compacted", "rolling", "summary", False)
    assert done["summarized_rows"] == planned["summarized_rows"]
    assert done["after_tokens"] < done["before_tokens"]
    nothing = in_talk.here("compact", "talk", "--window", 1_000_000, "--json")
    shaped(nothing.document, COMPACTION)
    assert nothing.code == 0
    assert nothing.document["state"] in ("compacted", "nothing")


def test_a_named_strategy_becomes_the_sessions_own_and_an_unknown_word_lists_the_ids(in_talk, install) -> None:
    folder = install(
        "keep",
        """
        class Keep:
            def project(self, context):
                rows = context.history.range
                return Projection((Section("tail", "rows", "tail", (Rows(rows),)),), None, Observation("whole", "all"))
            def compact(self, context, demand): raise CompactionFailed("it cannot; nothing was changed")
        @hookimpl
        def compaction_strategy(): return Keep()
        """,
    )
    in_talk.see(folder)
    unknown = in_talk("compact", "talk", "sliding", "--json")
    assert unknown.code == 1
    assert unknown.document["error"]["code"] == "not_found"
    assert {"keep", "rolling"} <= set(unknown.document["error"]["message"].replace(",", "").split())
    failed = in_talk("compact", "talk", "keep", "--json")
    shaped(failed.document, {**COMPACTION, "error": dict})
    assert failed.code == 1
    assert (failed.document["state"], failed.document["selection_applied"]) == ("failed", True)
    assert failed.document["error"]["code"] == "compaction_failed"
    assert in_talk("extensions", "--session", "talk", "--json").document["strategy"] == "keep"
    back = in_talk("compact", "talk", "rolling", "--window", 4000, "--json").document
    assert (back["state"], back["strategy"], back["selection_applied"]) == ("compacted", "rolling", True)
    assert not in_talk("compact", "talk", "rolling", "--json").document["selection_applied"]
    assert in_talk("extensions", "--json").document["strategy"] == "rolling"


@pytest.mark.parametrize(
    ("protocol", "keys"),
    [
        ("openai-chat", {"messages"}),
        ("anthropic", {"messages", "max_tokens"}),
        ("openai-responses", {"input"}),
        ("gemini", {"contents"}),
    ],
)
def test_prepare_with_a_protocol_prints_exactly_the_wire_request(in_talk, protocol: str, keys: set[str]) -> None:
    done = in_talk("prepare", "talk", "--protocol", protocol)
    assert done.code == 0
    assert keys <= json.loads(done.out).keys()
    assert "part39" in done.out


def test_prepare_compacts_when_due_and_its_notices_stay_off_standard_output(in_talk) -> None:
    document = in_talk("prepare", "talk", "--window", 4000, "--json").document
    shaped(document, PREPARED)
    assert document["compacted"]
    assert (document["window"], document["window_source"]) == (4000, "--window")
    assert document["rows_covered"] + document["rows_sent"] == 160
    least = in_talk("prepare", "talk", "--window", 1).err.split()[-1].replace(",", "")
    crowded = in_talk("prepare", "talk", "--window", least, "--protocol", "anthropic")
    assert json.loads(crowded.out)["messages"]
    assert "stays due" in crowded.err


def test_context_shows_the_last_request_and_pages_of_its_sections_without_any_null(in_talk) -> None:
    assert in_talk.here("context", "--json").document == {
        "state": "pending",
        "reason": "no request was prepared in this session",
    }
    compacted(in_talk.home)
    ready = in_talk("context", "--json")
    assert "null" not in ready.out
    assert ready.document["state"] == "ready"
    assert {section["id"] for section in ready.document["sections"]} >= {"summary", "recap", "tail"}
    page = in_talk("context", "talk", "tail", 0, "--json").document
    shaped(page, {"section": TEXT, "page": NUMBER, "pages": NUMBER, "content": TEXT})
    unknown = in_talk.here("context", "talk", "nowhere", "--json")
    assert (unknown.code, unknown.document["error"]["code"]) == (1, "not_found")


def test_extensions_list_and_switch_and_a_refused_change_changes_nothing(in_talk, install) -> None:
    folder = install("broken", "raise RuntimeError('no')")
    in_talk.see(folder)
    listed = in_talk("extensions", "--json").document
    for each in listed["extensions"]:
        shaped(each, EXTENSION)
    problems = {each["id"]: each["problem"] for each in listed["extensions"]}
    assert problems["rolling"] is None
    assert "no" in problems["broken"]
    refused = in_talk("extensions", "disable", "rolling", "--json")
    assert (refused.code, refused.document["error"]["code"]) == (1, "refused")
    assert in_talk("extensions", "--json").document == listed
    chosen = in_talk("extensions", "enable", "rolling", "--session", "talk", "--json").document
    assert [each["chosen"] for each in chosen["extensions"] if each["id"] == "rolling"] == ["session"]
    problem = in_talk("extensions", "--no-load", "--json").document["extensions"][0]["problem"]
    assert (problem, listed["extensions"][0]["id"]) == (f"{problems['broken']} (when it was last loaded)", "broken")
    dropped = in_talk("extensions", "inherit", "rolling", "--session", "talk", "--json").document
    assert [each["chosen"] for each in dropped["extensions"] if each["id"] == "rolling"] == [None]


def test_a_list_without_loading_tells_of_a_damaged_settings_file(in_talk) -> None:
    (in_talk.home / "extensions.json").write_text("{broken")
    for words in (("extensions",), ("extensions", "--no-load")):
        assert "extensions.json is not JSON" in in_talk(*words).out


def test_recovery_commands_import_no_extension(in_talk, install, tmp_path: Path) -> None:
    mark = tmp_path / "imported"
    folder = install("harm", f"open({str(mark)!r}, 'w').close()")
    in_talk.see(folder)
    listed = in_talk("extensions", "--no-load", "--json").document
    assert "harm" in {each["id"] for each in listed["extensions"]}
    assert in_talk("extensions", "disable", "harm", "--json").code == 0
    assert in_talk("extensions", "inherit", "harm", "--json").code == 0
    assert in_talk("--version").out.startswith("refold ")
    assert not mark.exists()
    in_talk("extensions")
    assert mark.exists()


def test_an_export_is_read_back_row_for_row_and_folds_stand_at_their_boundary(in_talk, tmp_path: Path) -> None:
    compacted(in_talk.home)
    plain, folded = in_talk.here("export", "talk").out, in_talk("export", "talk", "--folds").out
    lines = [json.loads(line) for line in folded.splitlines()]
    (at,) = [place for place, line in enumerate(lines) if line.get("source") == "rolling"]
    assert lines[at - 1]["seq"] == lines[at]["covers"]["upto"]
    assert lines[at]["text"]
    lines = [line for line in lines if "fold" not in line]
    assert lines == [json.loads(line) for line in plain.splitlines()]
    assert in_talk("export", "talk", "--json").document["lines"] == lines
    file = tmp_path / "talk.jsonl"
    file.write_text(folded)
    with Host(in_talk.home) as here, Host(tmp_path / "other") as there:
        assert there.import_file(file).rows == 160
        assert there.session("talk").rows() == here.session("talk").rows()
