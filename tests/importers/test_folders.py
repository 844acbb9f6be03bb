"""What a folder, and an agent's own folder, holds to import."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from refold import NotFound, Refused
from refold.importers.agent_folders import AGENTS, Machine, named, sessions
from refold.importers.folders import Found, look_into, title_of
from refold.importers.store import import_file
from refold.transcript.database import Database
from refold.transcript.sessions import find


def write(path: Path, *values: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(value) for value in values) + "\n")
    return path


def labels(found: Any) -> list[str]:
    return [each.label for each in found]


CHAT = [{"role": "user", "content": "hi there"}]


def test_a_folder_holds_what_may_be_a_session_and_counts_the_rest(tmp_path):
    write(tmp_path / "b.json", CHAT)
    write(tmp_path / "sub" / "a.jsonl", *CHAT)
    write(tmp_path / "sub" / "run.traj", {})
    write(tmp_path / "task" / "api_conversation_history.json", CHAT)
    write(tmp_path / "task" / "ui_messages.json", [])
    (tmp_path / "notes.md").write_text("# Notes\n")
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / ".aider.chat.history.md").write_text("# aider chat started at 2026-03-04 05:06:07\n")
    (tmp_path / "empty.json").touch()
    (tmp_path / "picture.png").write_bytes(b"x")
    write(tmp_path / "node_modules" / "x" / "package.json", {})
    write(tmp_path / "kimi" / "wire.jsonl", {})
    write(tmp_path / "kimi" / "context.jsonl", {})
    folder = look_into(tmp_path)
    assert labels(folder.found) == [
        "b.json",
        "kimi/wire.jsonl",
        "p/.aider.chat.history.md",
        "sub/a.jsonl",
        "sub/run.traj",
        "task/api_conversation_history.json",
    ]
    assert folder.others == 5
    with pytest.raises(NotFound, match="there is no folder"):
        look_into(tmp_path / "missing")


def test_parents_come_before_their_children_whatever_their_files_are_called(tmp_path):
    def export(file: str, session: str, parent: str | None) -> None:
        write(tmp_path / file, {"refold": 1, "session": session, "parent": parent})

    export("a.jsonl", "grandchild", "child")
    export("b.jsonl", "child", "top")
    export("c.jsonl", "top", None)
    export("d.jsonl", "x", "y")
    export("e.jsonl", "y", "x")
    export("f.jsonl", "lost", "elsewhere")
    assert labels(look_into(tmp_path).found) == ["c.jsonl", "f.jsonl", "b.jsonl", "a.jsonl", "d.jsonl", "e.jsonl"]


@pytest.mark.parametrize(
    ("values", "title"),
    [
        (CHAT, "hi there"),
        ([{"refold": 1, "session": "s", "title": "A talk"}], "A talk"),
        ([{"role": "user", "content": "x" * 300_000}], "x" * 160),
        ([{"a": 1}], None),
    ],
)
def test_a_title_is_told_from_the_beginning_of_a_file(values, title, tmp_path):
    write(tmp_path / "one.jsonl", *values)
    (found,) = look_into(tmp_path).found
    assert title_of(found) == title


# -- agents ----------------------------------------------------------------------------------------------------------

HOME = Path("home")
PLACES = [
    ("claude-code", {}, "linux", HOME / ".claude/projects/p/s.jsonl"),
    ("claude-code", {}, "linux", HOME / ".config/claude/projects/p/s.jsonl"),
    ("claude-code", {"CLAUDE_CONFIG_DIR": "x,y"}, "linux", Path("y/projects/p/s.jsonl")),
    ("codex", {}, "linux", HOME / ".codex/sessions/2026/03/04/rollout-x.jsonl"),
    ("codex", {"CODEX_HOME": "x"}, "win32", Path("x/archived_sessions/rollout-x.jsonl")),
    ("pi", {}, "linux", HOME / ".pi/agent/sessions/p/s.jsonl"),
    ("pi", {"PI_CODING_AGENT_DIR": "x"}, "linux", Path("x/sessions/p/s.jsonl")),
    ("gemini-cli", {}, "linux", HOME / ".gemini/tmp/h/chats/session-1.json"),
    ("gemini-cli", {"GEMINI_CLI_HOME": "x"}, "linux", Path("x/.gemini/tmp/h/chats/session-1.jsonl")),
    ("qwen-code", {}, "linux", HOME / ".qwen/projects/p/chats/s.jsonl"),
    ("qwen-code", {"QWEN_HOME": "x", "QWEN_RUNTIME_DIR": "y"}, "linux", Path("y/projects/p/chats/s.jsonl")),
    ("copilot-cli", {}, "linux", HOME / ".copilot/session-state/s/events.jsonl"),
    ("copilot-cli", {"COPILOT_HOME": "x"}, "linux", Path("x/session-state/s.jsonl")),
    ("kimi-cli", {}, "linux", HOME / ".kimi/sessions/h/s/context.jsonl"),
    ("kimi-cli", {"KIMI_SHARE_DIR": "x"}, "linux", Path("x/sessions/h/s/wire.jsonl")),
    ("cline", {}, "linux", HOME / ".config/Code/User/globalStorage/saoudrizwan.claude-dev"),
    ("cline", {"XDG_CONFIG_HOME": "x"}, "linux", Path("x/VSCodium/User/globalStorage/saoudrizwan.claude-dev")),
    ("cline", {"APPDATA": "x"}, "win32", Path("x/Cursor/User/globalStorage/saoudrizwan.claude-dev")),
    (
        "roo-code",
        {},
        "darwin",
        HOME / "Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline",
    ),
    ("cline", {}, "linux", HOME / ".cline/data"),
    ("aider", {}, "linux", Path("here/.aider.chat.history.md")),
    ("aider", {"AIDER_CHAT_HISTORY_FILE": "x/.aider.chat.history.md"}, "linux", Path("x/.aider.chat.history.md")),
]


def machine(root: Path, environment: dict[str, str], platform: str) -> Machine:
    paths = {name: ",".join(str(root / part) for part in value.split(",")) for name, value in environment.items()}
    return Machine(paths, root / HOME, root / "here", platform)


@pytest.mark.parametrize(("name", "environment", "platform", "place"), PLACES)
def test_an_agents_sessions_are_found_where_it_keeps_them(name, environment, platform, place, tmp_path):
    if place.suffix not in (".json", ".jsonl", ".md"):  # the folder of an editor's extension
        place = place / "tasks" / "1" / "api_conversation_history.json"
    write(tmp_path / place, CHAT)
    (found,) = sessions(named(name), machine(tmp_path, environment, platform))
    assert place.as_posix().endswith(Path(found.label).as_posix())
    assert found.format == named(name).format


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_a_machine_without_the_agent_says_where_it_looked(agent, tmp_path):
    bare = machine(tmp_path, {}, "linux")
    with pytest.raises(NotFound) as raised:
        sessions(agent, bare)
    assert str(raised.value).startswith(f"there are no sessions of {agent.name} here; looked in ")
    assert all(str(folder) in str(raised.value) for folder in agent.folders(bare))


def test_an_unknown_agent_is_refused_with_a_list_of_those_that_are_known():
    with pytest.raises(Refused, match="there is no agent 'telepath'; nothing was imported; agents: claude-code, codex"):
        named("telepath")


def test_the_whole_file_of_a_session_is_taken_of_two_and_sub_agents_come_last(tmp_path):
    kimi = tmp_path / HOME / ".kimi" / "sessions" / "h"
    for name in ("wire.jsonl", "context.jsonl"):
        write(kimi / "s" / name, {})
    write(kimi / "t" / "context.jsonl", {})
    assert labels(sessions(named("kimi-cli"), machine(tmp_path, {}, "linux"))) == [
        "sessions/h/s/wire.jsonl",
        "sessions/h/t/context.jsonl",
    ]
    claude = tmp_path / HOME / ".claude" / "projects" / "p"
    for file in ("agent-1.jsonl", "f.jsonl", "b.jsonl", "f/subagents/agent-2.jsonl"):
        write(claude / file, {})
    assert labels(sessions(named("claude-code"), machine(tmp_path, {}, "linux"))) == [
        "projects/p/b.jsonl",
        "projects/p/f.jsonl",
        "projects/p/agent-1.jsonl",
        "projects/p/f/subagents/agent-2.jsonl",
    ]


# -- opencode --------------------------------------------------------------------------------------------------------

SESSIONS = {
    "ses_b": {"id": "ses_b", "title": "Below", "parentID": "ses_a", "time": {"created": 1, "updated": 1}},
    "ses_a": {"id": "ses_a", "title": "Above", "time": {"created": 1772600767000, "updated": 1772600768000}},
}


def parts(session: str) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    return {
        f"msg_1_{session}": [("prt_1", {"type": "text", "text": "look"})],
        f"msg_2_{session}": [
            ("prt_2", {"type": "text", "text": "I call"}),
            (
                "prt_3",
                {"type": "tool", "callID": "c", "tool": "f", "state": {"status": "completed", "output": "ok"}},
            ),
        ],
    }


def role(message: str) -> str:
    return "user" if message.startswith("msg_1") else "assistant"


def by_files(store: Path) -> None:
    for id, info in SESSIONS.items():
        write(store / "storage" / "session" / "project" / f"{id}.json", info)
        for message, held in parts(id).items():
            write(store / "storage" / "message" / id / f"{message}.json", {"id": message, "role": role(message)})
            for name, part in held:
                write(store / "storage" / "part" / message / f"{name}.json", {**part, "id": name})


def by_database(store: Path) -> None:
    store.mkdir(parents=True)
    connection = apsw.Connection(str(store / "opencode.db"))
    connection.execute(
        "CREATE TABLE session(id TEXT PRIMARY KEY, parent_id TEXT, title TEXT, time_created INTEGER,"
        " time_updated INTEGER, revert TEXT);"
        "CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);"
        "CREATE TABLE part(id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT)"
    )
    for id, info in SESSIONS.items():
        time = info["time"]
        row = (id, info.get("parentID"), info["title"], time["created"], time["updated"], None)
        connection.execute("INSERT INTO session VALUES(?, ?, ?, ?, ?, ?)", row)
        for place, (message, held) in enumerate(parts(id).items()):
            data = json.dumps({"role": role(message)})
            connection.execute("INSERT INTO message VALUES(?, ?, ?, ?)", (message, id, place, data))
            for name, part in held:
                values = (f"{name}_{id}", message, id, json.dumps(part))
                connection.execute("INSERT INTO part VALUES(?, ?, ?, ?)", values)
    connection.close()


@pytest.mark.parametrize("kept", [by_files, by_database], ids=["files", "database"])
def test_the_sessions_of_a_store_are_imported_as_from_an_export_parents_first(kept, tmp_path):
    store = tmp_path / HOME / ".local" / "share" / "opencode"
    kept(store)
    found = sessions(named("opencode"), machine(tmp_path, {}, "linux"))
    assert [(each.label, each.title) for each in found] == [("ses_a", "Above"), ("ses_b", "Below")]
    assert labels(look_into(tmp_path).found) == ["ses_a", "ses_b"]
    with Database(tmp_path / "refold" / "refold.db") as database:
        for _ in range(2):
            done = [imported(database, each) for each in found]
        assert [(each.session, each.rows, each.already, each.unanswered) for each in done] == [
            ("ses_a", 0, 3, 0),
            ("ses_b", 0, 3, 0),
        ]
        with database.read() as reader:
            above, below = find(reader, "ses_a"), find(reader, "ses_b")
    assert (above.title, above.created, below.parent) == ("Above", "2026-03-04T05:06:07Z", "ses_a")


def imported(database: Database, found: Found) -> Any:
    with found.open() as source:
        return import_file(database, source, format=found.format)


def test_a_store_that_cannot_be_read_is_told_in_one_line(tmp_path):
    store = tmp_path / HOME / ".local" / "share" / "opencode"
    store.mkdir(parents=True)
    (store / "opencode.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(Exception, match=r"opencode\.db cannot be read") as raised:
        sessions(named("opencode"), machine(tmp_path, {}, "linux"))
    assert "\n" not in str(raised.value)
