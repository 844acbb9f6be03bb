"""Where agents keep their sessions on this machine, by their environment variables and its platform."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from refold.importers.agents import opencode_store
from refold.importers.folders import Found, found_file, opencode_sessions
from refold.values.errors import NotFound, Refused


@frozen
class Machine:
    """What places depend on: the environment, the user's home, where we are, and the platform as `sys.platform`."""

    environment: Mapping[str, str]
    home: Path
    here: Path
    platform: str

    def named(self, *variables: str) -> list[Path]:
        """The folders that the first variable that is set names."""
        for variable in variables:
            if value := self.environment.get(variable, "").strip():
                return [Path(part.strip()).expanduser() for part in value.split(",") if part.strip()]
        return []

    def data(self) -> list[Path]:
        """Where programs that follow the XDG specification keep their data."""
        return self.named("XDG_DATA_HOME") or [self.home / ".local" / "share"]

    def applications(self) -> Path:
        """Where desktop programs keep their data."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return (self.named("APPDATA") or [self.home / "AppData" / "Roaming"])[0]
        return (self.named("XDG_CONFIG_HOME") or [self.home / ".config"])[0]


@frozen
class Agent:
    """An agent: in which folders its sessions may be, and which files in them are sessions (globs, parents first)."""

    name: str
    format: str
    folders: Callable[[Machine], Sequence[Path]]
    files: Sequence[str]


_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_SERVERS = (".vscode-server", ".vscode-server-insiders", ".cursor-server", ".vscodium-server")
_TASKS = ("tasks/*/api_conversation_history.json",)


def _extension(name: str, machine: Machine) -> list[Path]:
    """Where an extension of VS Code and its kin keeps its data."""
    storage = Path("User", "globalStorage", name)
    local = [machine.applications() / editor / storage for editor in _EDITORS]
    return local + [machine.home / server / "data" / storage for server in _SERVERS]


def _claude(machine: Machine) -> list[Path]:
    return machine.named("CLAUDE_CONFIG_DIR") or [machine.home / ".claude", machine.home / ".config" / "claude"]


def _gemini(machine: Machine) -> list[Path]:
    return [home / ".gemini" for home in machine.named("GEMINI_CLI_HOME") or [machine.home]]


def _kimi(machine: Machine) -> list[Path]:
    old = machine.named("KIMI_SHARE_DIR") or [machine.home / ".kimi"]
    return old + (machine.named("KIMI_CODE_HOME") or [machine.home / ".kimi-code"])


def _opencode(machine: Machine) -> list[Path]:
    database = machine.named("OPENCODE_DB")
    return [path.parent for path in database] or [data / "opencode" for data in machine.data()]


def _aider(machine: Machine) -> list[Path]:
    file = machine.named("AIDER_CHAT_HISTORY_FILE")
    return [path.parent for path in file] or [machine.here, *machine.here.parents]


def _cline(machine: Machine) -> list[Path]:
    own = [folder / "data" for folder in machine.named("CLINE_DIR") or [machine.home / ".cline"]]
    return own + _extension("saoudrizwan.claude-dev", machine)


AGENTS: tuple[Agent, ...] = (
    Agent(
        "claude-code",
        "claude-code",
        _claude,
        ("projects/*/*.jsonl", "projects/*/*/subagents/*.jsonl"),
    ),
    Agent(
        "codex",
        "codex",
        lambda machine: machine.named("CODEX_HOME") or [machine.home / ".codex"],
        ("sessions/**/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl"),
    ),
    Agent(
        "pi",
        "pi",
        lambda machine: machine.named("PI_CODING_AGENT_DIR") or [machine.home / ".pi" / "agent"],
        ("sessions/**/*.jsonl",),
    ),
    Agent("gemini-cli", "gemini-cli", _gemini, ("tmp/*/chats/*.json", "tmp/*/chats/*.jsonl")),
    Agent(
        "qwen-code",
        "qwen-code",
        lambda machine: machine.named("QWEN_RUNTIME_DIR", "QWEN_HOME") or [machine.home / ".qwen"],
        ("projects/*/chats/*.jsonl",),
    ),
    Agent(
        "copilot-cli",
        "copilot-cli",
        lambda machine: machine.named("COPILOT_HOME") or [machine.home / ".copilot"],
        ("session-state/*/events.jsonl", "session-state/*.jsonl"),
    ),
    Agent("kimi-cli", "kimi-cli", _kimi, ("sessions/*/*/wire.jsonl", "sessions/*/*/context.jsonl")),
    Agent("opencode", "opencode", _opencode, ()),
    Agent("cline", "cline", _cline, _TASKS),
    Agent("roo-code", "cline", lambda machine: _extension("rooveterinaryinc.roo-cline", machine), _TASKS),
    Agent("aider", "aider", _aider, (".aider.chat.history.md",)),
)


def named(name: str) -> Agent:
    """The agent of that name. Raises Refused, listing the agents, when there is none."""
    for agent in AGENTS:
        if agent.name == name:
            return agent
    known = ", ".join(agent.name for agent in AGENTS)
    raise Refused(f"there is no agent {name[:60]!r}; nothing was imported; agents: {known}")


def sessions(agent: Agent, machine: Machine) -> list[Found]:
    """The sessions of an agent on this machine, parents before their children.

    Raises NotFound, saying where it looked, when there are none.
    """
    folders = list(dict.fromkeys(agent.folders(machine)))
    found = [each for folder in folders for each in _in_folder(agent, folder)]
    if not found:
        looked = ", ".join(str(folder) for folder in folders)
        raise NotFound(f"there are no sessions of {agent.name} here; looked in {looked}; name a file or a folder")
    return found


def _in_folder(agent: Agent, folder: Path) -> Iterator[Found]:
    if agent.name == "opencode":
        if opencode_store.is_store(folder):
            yield from opencode_sessions(folder)
        return
    seen: set[Path] = set()
    for pattern in agent.files:
        for path in sorted(folder.glob(pattern), key=lambda path: (path.name.startswith("agent-"), path)):
            # Kimi CLI keeps two files of a session; the first pattern's is the whole one.
            if path.is_file() and path.stat().st_size and (agent.name != "kimi-cli" or path.parent not in seen):
                seen.add(path.parent)
                yield found_file(path, str(path.relative_to(folder)), agent.format)
