"""Trajectories of SWE-agent (`.traj`: `history`, else `trajectory`) and of mini-SWE-agent (`.traj.json`: `messages`).

Newer ones call tools as the chat API does. Older ones write a command into the text of the answer, and the next message
of the user is what it printed: both become a call and its result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from refold.importers.content import read_content
from refold.importers.conversations import Item
from refold.importers.documents import members
from refold.importers.lines import Unreadable, as_list, as_map, as_text, as_time, as_word
from refold.importers.messages import openai_chat
from refold.importers.outline import beginning
from refold.importers.steps import Steps
from refold.values.rows import Call
from refold.values.tools import Importer, SessionFacts

_LISTS = ("history", "messages", "trajectory")
_BLOCK = re.compile(r"```(?:bash|sh|mswea_bash_command)[ \t]*+\n((?:[^\n]++|\n(?!```))*+)\n```")
_STEP = {"action", "observation"}


def detect(head: bytes) -> bool:
    """An object with a trajectory's lists and facts."""
    document = as_map(beginning(head).document)
    if as_text(document.get("trajectory_format")).startswith("mini-swe-agent"):
        return True
    if any(as_map(step).keys() >= _STEP for step in as_list(document.get("trajectory"))):
        return True
    stats = "model_stats" in as_map(document.get("info")) or "exit_status" in as_map(document.get("info"))
    return stats and any(isinstance(document.get(key), list) for key in _LISTS)


def rows(stream: BinaryIO) -> Iterator[Item]:
    """The rows of the messages; of the trajectory in a file without messages."""
    reader = _Messages()
    said = False
    for key, value in members(stream, _LISTS):
        if isinstance(value, Unreadable):
            yield value.reason
        elif key in ("history", "messages"):
            said = True
            yield from reader.message(value)
    if said:
        yield from reader.close()
        return
    stream.seek(0)
    yield from _trajectory(stream)


class _Messages(openai_chat.Reader):
    """The messages of a run."""

    def __init__(self) -> None:
        super().__init__("")
        self._written = False
        """Whether the newest answer wrote its command into its text."""

    def message(self, message: Any) -> Iterator[Item]:
        fields = as_map(message)
        role, kind = as_word(fields.get("role")), as_word(fields.get("message_type"))
        extra = as_map(fields.get("extra"))
        if not self._count:
            yield SessionFacts("", created=as_time(extra.get("timestamp")))
        text = read_content(fields.get("content")).text
        if role == "assistant" and not fields.get("tool_calls") and (command := _command(fields, text, extra)):
            self._count += 1
            thought = as_text(fields.get("thought")) or text
            call = Call(f"call-{self._count}", "bash", {"command": command})
            self._open.make([call])
            self._written = True
            yield from self._steps.close()
            yield from self._steps.answer(text=thought, calls=[call])
        elif role == "user" and self._written and kind in ("", "observation"):
            self._count += 1
            self._written = False
            code = extra.get("returncode")
            yield from self._steps.result(self._open.answer_oldest(), text, code in (None, 0))
        elif role == "exit" or fields.get("is_demo") or kind == "demonstration":
            self._count += 1
            yield from self._steps.event("notice", text)
        else:
            self._written = self._written and role != "assistant"
            yield from super().message(fields)


def _command(message: Mapping[str, Any], text: str, extra: Mapping[str, Any]) -> str:
    """The one command that an answer wrote into its text; empty for none, or for several, which are not run."""
    if isinstance(message.get("action"), str):
        return str(message["action"]).strip()
    actions = [as_map(action).get("command") for action in as_list(extra.get("actions"))]
    if actions:
        return as_text(actions[0]) if len(actions) == 1 else ""
    found = _BLOCK.findall(text)
    return found[0].strip() if len(found) == 1 else ""


def _trajectory(stream: BinaryIO) -> Iterator[Item]:
    steps = Steps("")
    count = 0
    for key, value in members(stream, ("trajectory",)):
        if key == "environment" and isinstance(value, str):
            yield from steps.event("notice", f"environment: {value}")
        if key != "trajectory" or isinstance(value, Unreadable):
            continue
        count += 1
        step = as_map(value)
        said = as_text(step.get("thought") or step.get("response"))
        action = as_text(step.get("action")).strip()
        if not (said.strip() or action):
            yield f"step {count} is empty"
            continue
        calls = [Call(f"call-{count}", "bash", {"command": action})] if action else []
        yield from steps.close()
        yield from steps.answer(text=said, calls=calls)
        if calls and step.get("observation") is not None:
            yield from steps.result(calls[0].id, as_text(step.get("observation")))
    yield from steps.close()


IMPORTER = Importer(format="swe-agent", detect=detect, rows=rows)
