"""Claude Code session files: one JSON record a line, linked by `uuid` and `parentUuid`.

Two passes. The first reads the links and finds the conversation: the path to the newest leaf, with the parallel calls
and results that hang off it. The second gives the rows in the order of the file. Continuations that an edit or a
rewind abandoned, and the sidechains of sub-agents, become child sessions. Compactions, reminders and other injected
text become notices; titles, file snapshots, the queue and progress records carry no conversation and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from refold.importers.agents import claude_records as claude
from refold.importers.agents.claude_links import Links
from refold.importers.branches import MAIN
from refold.importers.lines import Unreadable, as_map, as_name, as_text, as_time, as_word, records
from refold.importers.messages.anthropic_blocks import Said, read_assistant, read_user
from refold.importers.outline import beginning
from refold.importers.steps import Steps
from refold.values.rows import Row
from refold.values.tools import Importer, SessionFacts

_TYPES = {"user", "assistant", "system", "attachment", "progress"} | {
    "summary",
    "file-history-snapshot",
    "queue-operation",
}
_KEYS = ("sessionId", "parentUuid", "leafUuid", "uuid", "messageId")


def detect(head: bytes) -> bool:
    """Records with Claude Code's types and links."""
    return any(
        as_word(record.get("type")) in _TYPES and any(key in record for key in _KEYS)
        for record in beginning(head).records
    )


def rows(stream: BinaryIO) -> Iterator[Row | SessionFacts | str]:
    """The rows of the file, or why a line was skipped."""
    links = Links(stream)
    stream.seek(0)
    if links.has_main:
        yield SessionFacts(links.name, title=links.title, created=links.created)
    yield from _Reader(links).read(stream)


class _Voice:
    """One session of the file. A command waits for the next record, which tells whether it had a reply."""

    def __init__(self, session: str) -> None:
        self.steps = Steps(session)
        self._waiting: tuple[claude.Role, str] | None = None

    def settle(self, role: claude.Role | None) -> Iterator[Row]:
        """Gives out a waiting command, now that a record of `role` follows (None: nothing does).

        A command that a model answers is a prompt; one that nobody answers is an event.
        """
        if self._waiting is None:
            return
        waiting, text = self._waiting
        self._waiting = None
        if waiting == "shell":
            yield from self.steps.user(text, opens=False)
        elif role in ("answer", "notice", "results"):
            yield from self.steps.user(text)
        else:
            yield from self.steps.event("command", text)

    def typed(self, role: claude.Role, text: str) -> Iterator[Row]:
        """A slash command or a shell command."""
        yield from self.settle(role)
        self._waiting = (role, text)

    def printed(self, role: claude.Role, text: str) -> Iterator[Row]:
        """What the command printed. The model saw a shell command's output, so it is a row that is sent."""
        command = ""
        if self._waiting is not None and (self._waiting[0] == "shell") == (role == "output"):
            command, self._waiting = self._waiting[1] + "\n", None
        else:
            yield from self.settle(role)
        if role == "output":
            yield from self.steps.user(command + text, opens=False)
        else:
            yield from self.steps.event("command", command + text)

    def user(self, said: Said, opens: bool) -> Iterator[Row]:
        """Results, then words of the user, then what the program put beside them."""
        for result in said.results:
            yield from self.steps.result(result.call_id, result.text, result.ok, result.images)
        words = [text for text in said.texts if text.strip() and not claude.is_injected(text)]
        if words or said.images:
            yield from self.steps.user("\n\n".join(words), said.images, opens=opens and not said.results)
        for text in said.texts:
            if claude.is_injected(text):
                yield from self.steps.event("notice", text)
        for block in said.kept:
            yield from self.steps.event("notice", block)


class _Reader:
    """The second pass."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._voices: dict[tuple[str, int], _Voice] = {}
        self._current: _Voice | None = None
        self._inside = frozenset(links.agents.values())

    def read(self, stream: BinaryIO) -> Iterator[Row | SessionFacts | str]:
        number = -1
        for record in records(stream):
            if isinstance(record, Unreadable):
                yield record.reason
                continue
            if not isinstance(record, dict):
                yield "not a record of a session"
                continue
            role = claude.role_of(record)
            if role == "unknown":
                yield claude.reason_of(record)
                continue
            number += 1
            if number in self._links.repeats:
                yield "repeats an earlier record word for word"
            elif role != "noise":
                yield from self._voice(number, record)
                assert self._current is not None
                yield from self._record(self._current, role, record)
        for voice in self._voices.values():
            yield from voice.settle(None)
            yield from voice.steps.close()

    def _voice(self, number: int, record: Mapping[str, Any]) -> Iterator[Row | SessionFacts]:
        """Makes the record's session the current one; a new child is announced in the session it comes from."""
        links = self._links
        agent = links.agent(number)
        key = ("agent", agent) if agent != MAIN else ("branch", links.branch(number))
        known = self._voices.get(key)
        if known is None:
            if key[1] == MAIN:
                known = _Voice(links.name)
            elif agent != MAIN:
                known = _Voice(f"{links.name}/{links.agents[agent]}")
                yield SessionFacts(known.steps.session, parent=links.name, created=as_time(record.get("timestamp")))
                if links.has_main:
                    yield from self._main().steps.child(known.steps.session)
            else:
                known = _Voice(f"{links.name}/branch-{as_name(record.get('uuid')) or number}")
                above = self._voices.get(("branch", links.above(key[1]))) or self._main()
                began = as_time(record.get("timestamp"))
                yield SessionFacts(known.steps.session, parent=above.steps.session, created=began)
                yield from above.steps.event("excursion", known.steps.session)
            self._voices[key] = known
        self._current = known

    def _main(self) -> _Voice:
        return self._voices.setdefault(("branch", MAIN), _Voice(self._links.name))

    def _record(self, voice: _Voice, role: claude.Role, record: Mapping[str, Any]) -> Iterator[Row | str]:
        message = as_map(record.get("message"))
        content = message.get("content", record.get("content"))
        if role in ("command", "reply", "shell", "output"):
            text = claude.notice_text(record)
            if role == "command":
                yield from voice.typed(role, claude.command_text(text))
            elif role == "shell":
                yield from voice.typed(role, claude.shell_text(text))
            else:
                yield from voice.printed(role, claude.printed(text))
            return
        yield from voice.settle(role)
        match role:
            case "answer":
                model = as_text(message.get("model"))
                said = read_assistant(content, model)
                if not (said.texts or said.calls or said.replays):
                    yield "an answer without content"
                key = as_text(message.get("id") or record.get("uuid")) or None
                yield from voice.steps.answer(key, text=said.text, calls=said.calls, replays=said.replays)
            case "prompt" | "results":
                said = read_user(content)
                yield from voice.user(said, opens=True)
                if not (said.text.strip() or said.images or said.results):
                    yield "a prompt without content"
                for agent in claude.spawned_agents(record):
                    if f"agent-{agent}" not in self._inside:
                        yield from voice.steps.event("notice", f"sub-agent {agent}: its session is in another file")
            case "queued":
                yield from voice.user(read_user(claude.queued_prompt(record)), opens=False)
            case _:
                yield from voice.steps.event("notice", claude.notice_text(record))


IMPORTER = Importer(format="claude-code", detect=detect, rows=rows)
