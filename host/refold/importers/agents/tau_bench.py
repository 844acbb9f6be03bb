"""Runs of tau-bench (a list of runs, each with its `traj`) and of tau2-bench (`simulations`, each with `messages`).

Every run is a conversation of its own. What the simulated user did with tools of its own the agent never saw; it
becomes notices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refold.importers.conversations import Item, importer
from refold.importers.lines import as_list, as_map, as_text, as_time, json_text
from refold.importers.messages import openai_chat
from refold.values.tools import SessionFacts

_KEYS = ("simulations", "traj", "messages")
_OWN = {"task_id", "reward", "reward_info", "trial"}


def looks(facts: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> bool:
    """Chat messages beside the task and the reward of a run."""
    return len(facts.keys() & _OWN) > 1 and (not messages or "role" in messages[0])


class Reader(openai_chat.Reader):
    """The messages of one run."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._name = name
        self._facts: dict[str, Any] = {}

    def fact(self, key: str, value: Any) -> Iterator[Item]:
        self._facts[key] = value
        yield from ()

    def message(self, message: Any) -> Iterator[Item]:
        fields = as_map(message)
        if not self._count:
            yield self._described()
        inner = [as_map(each) for each in as_list(fields.get("tool_messages"))]
        if fields.get("role") == "tool" and inner:
            for each in inner:
                yield from self._message(each)
        else:
            yield from self._message(fields)

    def _described(self) -> SessionFacts:
        trial = self._facts.get("trial")
        words = [f"task {as_text(self._facts.get('task_id'))}", f"trial {trial}" if isinstance(trial, int) else ""]
        moment = self._facts.get("start_time") or self._facts.get("timestamp")
        return SessionFacts(self._name, title=", ".join(filter(None, words)), created=as_time(moment))

    def _message(self, message: Mapping[str, Any]) -> Iterator[Item]:
        if message.get("role") == "tool" and message.get("requestor") == "user":
            text = as_text(message.get("content"))
            yield from self._steps.event("notice", f"[result of the user's own tool]\n{text}")
            return
        calls = as_list(message.get("tool_calls")) if message.get("role") == "user" else []
        for call in calls:
            yield from self._steps.event("notice", f"[call of the user's own tool]\n{json_text(call)}")
        if not calls or as_text(message.get("content")).strip():
            yield from super().message(message)


IMPORTER = importer("tau-bench", looks, Reader, _KEYS)
