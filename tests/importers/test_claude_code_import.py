"""Claude Code session files."""

from __future__ import annotations

from typing import Any

import pytest
from refold.importers.agents.claude_code import IMPORTER

PNG = "iVBORw0KGgo="


def record(uuid: str, parent: str | None, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": more.pop("response", f"msg-{uuid}"), "model": "claude-x"}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message, **more}


def user(uuid: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    return record(uuid, parent, "user", content, **more)


def answer(uuid: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    return record(uuid, parent, "assistant", content, **more)


def say(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def call(id: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": id, "name": "Read", "input": arguments}]


def result(id: str, content: Any = "done", **more: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": id, "content": content, **more}]


def test_a_response_split_over_records_is_one_row_with_its_thinking_before_it(lines, read, told):
    rows, skipped = read(
        IMPORTER,
        lines(
            user("u1", None, "go"),
            answer("a1", "u1", [{"type": "thinking", "thinking": "hm", "signature": "sig"}], response="m"),
            answer("a2", "a1", say("I look"), response="m"),
            answer("a3", "a2", call("c1", path="/x"), response="m"),
            user("r1", "a3", result("c1")),
            answer("a4", "r1", say("there")),
        ),
    )
    assert told(rows) == [
        ("opens", "go"),
        ("replay", '{"type":"thinking","thinking":"hm","signature":"sig"}'),
        ("assistant", "I look", "c1"),
        ("result", "c1", "done"),
        ("assistant", "there"),
    ]
    assert rows[1].replay.owner == "imported:anthropic:claude-x"
    assert rows[2].calls[0].arguments == {"path": "/x"}
    assert skipped == []


def test_parallel_calls_that_fan_out_stay_one_step_with_all_their_results(lines, read, told):
    """Results hang off different parents; only one of them is on the path of links to the newest record."""
    rows, _ = read(
        IMPORTER,
        lines(
            user("u1", None, "go"),
            answer("a1", "u1", call("c1"), response="m"),
            user("r1", "a1", result("c1", "one")),
            answer("a2", "a1", call("c2"), response="m"),
            user("r2", "a2", result("c2", "two", is_error=True)),
            answer("a3", "r2", say("both")),
        ),
    )
    assert told(rows) == [
        ("opens", "go"),
        ("assistant", "c1+c2"),
        ("result", "c1", "one"),
        ("result", "c2", "two"),
        ("assistant", "both"),
    ]
    assert [row.ok for row in rows if row.kind == "result"] == [True, False]


def test_an_abandoned_continuation_becomes_a_child_session(lines, read, told):
    rows, _ = read(
        IMPORTER,
        lines(
            user("u1", None, "first"),
            answer("a1", "u1", say("yes")),
            user("u2", "a1", "wrong way"),
            answer("a2", "u2", call("c1")),
            user("r2", "a2", result("c1")),
            user("u3", "a1", "right way"),
            answer("a3", "u3", say("good")),
        ),
    )
    main = [row for row in rows if row.ref.session == "s"]
    assert told(main) == [
        ("opens", "first"),
        ("assistant", "yes"),
        ("excursion", "s/branch-u2"),
        ("opens", "right way"),
        ("assistant", "good"),
    ]
    assert told([row for row in rows if row.ref.session != "s"]) == [
        ("branch-u2", "opens", "wrong way"),
        ("branch-u2", "assistant", "c1"),
        ("branch-u2", "result", "c1", "done"),
    ]


def test_a_branch_of_a_branch_is_announced_in_the_branch(lines, read):
    rows, _ = read(
        IMPORTER,
        lines(
            user("u1", None, "first"),
            answer("a1", "u1", say("yes")),
            user("u2", "a1", "wrong"),
            answer("a2", "u2", say("hm")),
            user("u3", "a2", "worse"),
            user("u4", "a2", "still wrong"),
            user("u5", "a1", "right"),
        ),
    )
    assert {(row.ref.session, row.text) for row in rows if row.event == "excursion"} == {
        ("s", "s/branch-u2"),
        ("s/branch-u2", "s/branch-u3"),
    }


def test_a_sidechain_is_a_child_session_that_nothing_waits_for(lines, read, told):
    side = {"isSidechain": True, "agentId": "k1"}
    rows, _ = read(
        IMPORTER,
        lines(
            user("u1", None, "go"),
            answer("a1", "u1", call("task")),
            user("s1", None, "explore", **side),
            answer("s2", "s1", say("found"), **side),
            user("r1", "a1", result("task", "found it")),
            answer("a2", "r1", say("thanks")),
        ),
    )
    assert told([row for row in rows if row.ref.session == "s"]) == [
        ("opens", "go"),
        ("assistant", "task"),
        ("spawned", "s/agent-k1"),
        ("joined", "s/agent-k1"),
        ("result", "task", "found it"),
        ("assistant", "thanks"),
    ]
    assert told([row for row in rows if row.ref.session != "s"]) == [
        ("agent-k1", "opens", "explore"),
        ("agent-k1", "assistant", "found"),
    ]


def test_the_own_file_of_a_sub_agent_is_one_session_without_events(lines, read, told):
    side = {"isSidechain": True, "agentId": "k1"}
    rows, _ = read(IMPORTER, lines(user("s1", None, "explore", **side), answer("s2", "s1", say("found"), **side)))
    assert told(rows) == [("agent-k1", "opens", "explore"), ("agent-k1", "assistant", "found")]


def test_a_compaction_is_a_notice_and_never_a_users_words(lines, read, told):
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "b",
        "parentUuid": None,
        "logicalParentUuid": "a1",
        "content": "Conversation compacted",
        "compactMetadata": {"trigger": "auto", "preTokens": 155000},
    }
    rows, _ = read(
        IMPORTER,
        lines(
            user("u1", None, "go"),
            answer("a1", "u1", say("ok")),
            boundary,
            user("u2", "b", "This session is continued ...", isCompactSummary=True, isVisibleInTranscriptOnly=True),
            user("u3", "u2", "on"),
        ),
    )
    assert told(rows) == [
        ("opens", "go"),
        ("assistant", "ok"),
        ("notice", "Conversation compacted (auto, 155000 tokens before)"),
        ("notice", "This session is continued ..."),
        ("opens", "on"),
    ]


def command(name: str, arguments: str = "") -> str:
    return f"<command-name>/{name}</command-name>\n<command-args>{arguments}</command-args>"


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        (
            [command("model", "x"), "<local-command-stdout>Set model</local-command-stdout>"],
            [("command", "/model x\nSet model")],
        ),
        ([command("exit")], [("command", "/exit")]),
        (["<bash-input>ls</bash-input>", "<bash-stdout>a</bash-stdout>"], [("user", "! ls\na")]),
        (["<bash-input>ls</bash-input>"], [("user", "! ls")]),
        (["<bash-stdout></bash-stdout><bash-stderr>no</bash-stderr>"], [("user", "no")]),
        (["<local-command-stdout>late</local-command-stdout>"], [("command", "late")]),
        (["[Request interrupted by user]"], [("notice", "[Request interrupted by user]")]),
        (["<system-reminder>eat</system-reminder>"], [("notice", "<system-reminder>eat</system-reminder>")]),
        (["<command-name>/never closed"], [("command", "<command-name>/never closed")]),
    ],
)
def test_what_the_program_wrote_into_the_users_role_opens_no_turn(contents, expected, lines, read, told):
    records = [user(f"u{n}", f"u{n - 1}" if n else None, content) for n, content in enumerate(contents)]
    assert told(read(IMPORTER, lines(*records))[0]) == expected


def test_a_slash_command_that_the_model_answers_is_a_prompt(lines, read, told):
    rows, _ = read(
        IMPORTER,
        lines(
            user("u1", None, command("review", "main.py")),
            user("u2", "u1", say("Review the file ..."), isMeta=True),
            answer("a1", "u2", say("fine")),
        ),
    )
    assert told(rows) == [("opens", "/review main.py"), ("notice", "Review the file ..."), ("assistant", "fine")]


def test_a_prompt_queued_while_a_turn_runs_does_not_open_one(lines, read, told):
    queued = {
        "type": "attachment",
        "uuid": "q",
        "parentUuid": "r1",
        "sessionId": "s",
        "attachment": {"type": "queued_command", "prompt": "also this"},
    }
    rows, skipped = read(
        IMPORTER,
        lines(
            {"type": "queue-operation", "operation": "enqueue", "content": "also this"},
            user("u1", None, "go"),
            answer("a1", "u1", call("c1")),
            user("r1", "a1", result("c1")),
            queued,
            answer("a2", "q", say("both")),
        ),
    )
    assert told(rows) == [
        ("opens", "go"),
        ("assistant", "c1"),
        ("result", "c1", "done"),
        ("user", "also this"),
        ("assistant", "both"),
    ]
    assert skipped == []


def test_pictures_of_prompts_and_results_are_kept_and_other_blocks_stay_in_a_notice(lines, read):
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    paper = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}}
    rows, _ = read(
        IMPORTER,
        lines(
            user("u1", None, [*say("look"), image, paper]),
            answer("a1", "u1", call("c1")),
            user("r1", "a1", result("c1", [*say("shot"), image])),
        ),
    )
    prompt, notice, _, shot = rows
    assert [image.key for image in prompt.images] == [f"data:image/png;base64,{PNG}"]
    assert prompt.text.startswith("look")
    assert "document" in prompt.text
    assert '"JVBE"' in notice.text
    assert (shot.text, len(shot.images)) == ("shot", 1)


def test_a_file_whose_records_are_not_linked_is_one_line_of_talk(lines, read, told):
    rows, _ = read(
        IMPORTER,
        lines(user("u1", None, "a"), answer("a1", None, say("b")), user("u2", None, "c"), answer("a2", None, say("d"))),
    )
    assert told(rows) == [("opens", "a"), ("assistant", "b"), ("opens", "c"), ("assistant", "d")]


def test_a_link_that_leads_nowhere_follows_the_record_before(lines, read, told):
    rows, _ = read(
        IMPORTER,
        lines(
            user("u1", None, "a"),
            b'{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"content":[{"type":"te\n',
            user("u2", "a1", "c"),
            answer("a2", "u2", say("d")),
        ),
    )
    assert told(rows) == [("opens", "a"), ("opens", "c"), ("assistant", "d")]


def test_a_record_written_twice_is_reported_and_one_with_a_reused_id_is_kept(lines, read, told):
    twice = user("u1", None, "a")
    rows, skipped = read(IMPORTER, lines(twice, twice, user("u1", "u1", "other words"), answer("a", "u1", say("b"))))
    assert told(rows) == [("opens", "a"), ("opens", "other words"), ("assistant", "b")]
    assert skipped == ["repeats an earlier record word for word"]


def test_titles_snapshots_and_progress_are_left_out_but_unknown_records_are_reported(lines, read):
    rows, skipped = read(
        IMPORTER,
        lines(
            {"type": "summary", "summary": "a title", "leafUuid": "x"},
            {"type": "file-history-snapshot", "messageId": "m"},
            {"type": "progress", "uuid": "p", "parentUuid": None},
            {"type": "hologram", "uuid": "h"},
            {"silly": "this"},
            "a bare string",
            user("u1", "p", "go"),
            {"type": "user", "uuid": "u2", "parentUuid": "u1", "message": {"role": "user", "contenst": "x"}},
        ),
    )
    assert [row.text for row in rows] == ["go"]
    assert skipped == [
        "unknown record type hologram",
        "not a record of a session",
        "not a record of a session",
        "a record of type user without content that can be read",
    ]


def test_an_error_of_the_api_is_a_notice(lines, read, told):
    record = answer("a1", "u1", say("API Error: 529"), isApiErrorMessage=True)
    assert told(read(IMPORTER, lines(user("u1", None, "go"), record))[0])[1:] == [("notice", "API Error: 529")]
