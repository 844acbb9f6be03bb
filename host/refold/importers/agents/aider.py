"""Aider chat histories (`.aider.chat.history.md`): Markdown, every chat of a folder one behind the other.

A chat begins with `# aider chat started at`. Lines of the user begin with `#### `, lines of the program with `> `, and
both end with two spaces; anything else is the model's, whose own headings and quotes do not. A slash command that
no model answers is an event with what it printed. What the program said becomes notices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Literal

from refold.importers.conversations import Item
from refold.importers.lines import BOM, LINE_LIMIT, as_time
from refold.importers.steps import Steps
from refold.values.tools import Importer, SessionFacts

Voice = Literal["user", "program", "model"]

_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_MARKED = re.compile(rb"#### .*\S  \r?\n?\Z")


def detect(head: bytes) -> bool:
    """A first line that starts a chat."""
    return _START.match(head.removeprefix(BOM).lstrip()[:200].decode("utf-8", "replace")) is not None


def rows(stream: BinaryIO) -> Iterator[Item]:
    """The rows of every chat in which something was said, or why a chat is left out."""
    is_marked = any(_MARKED.match(line) for line in _lines(stream))
    stream.seek(0)
    chat: _Chat | None = None
    count = 0
    for raw in _lines(stream):
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if start := _START.fullmatch(line):
            if chat is not None:
                yield from chat.close()
            count += 1
            chat = _Chat(f".{count}" if count > 1 else "", start[1], is_marked)
        elif chat is not None:
            yield from chat.line(line)
        elif line.strip(" \ufeff"):
            yield "text in front of the first chat"
    if chat is not None:
        yield from chat.close()


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    while line := stream.readline(LINE_LIMIT):
        yield line


class _Chat:
    """One chat. Lines of one voice that follow each other are one text."""

    def __init__(self, name: str, started: str, is_marked: bool) -> None:
        self._steps = Steps(name)
        self._started = started
        self._is_marked = is_marked
        self._is_told = False
        self._voice: Voice = "program"
        self._said: list[str] = []
        self._fence = ""
        self._waiting: list[str] = []
        """A command, and what it printed: whether a model answers it shows later."""
        self._notices: list[str] = []
        """What the program said before anybody else did; a chat of nothing else is no session."""

    def line(self, line: str) -> Iterator[Item]:
        """The next line of the chat."""
        if not line.strip() and self._voice == "user":
            yield from self._flush()  # what stands behind it is another prompt
            return
        voice, text = self._voice_of(line)
        if voice != self._voice:
            yield from self._flush()
            self._voice = voice
        if voice == "model":
            self._watch_fence(line)
        self._said.append(text)

    def close(self) -> Iterator[Item]:
        """The chat is over."""
        yield from self._flush()
        yield from self._settle()
        if not self._is_told:
            yield f"the chat of {self._started}, in which nothing was said"
        yield from self._steps.close()

    def _voice_of(self, line: str) -> tuple[Voice, str]:
        marked = line.endswith("  ") or not self._is_marked
        if line.startswith("####") and marked and line[4:5] in (" ", ""):
            return "user", line[5:].rstrip()
        if not self._fence and line.startswith(">") and marked:
            return "program", line[1:].strip()
        if not line.strip() and self._voice != "model":
            return self._voice, ""
        return "model", line

    def _watch_fence(self, line: str) -> None:
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~"):
            self._fence = "" if self._fence == mark else self._fence or mark

    def _flush(self) -> Iterator[Item]:
        """Gives out what one voice said."""
        text, self._said = "\n".join(self._said).strip("\n"), []
        voice = self._voice
        self._fence = ""
        if not text.strip() or (voice == "user" and text == "<blank>"):
            return
        if voice == "user":
            yield from self._settle()
            yield from self._begin()
            if text.startswith(("/", "!")):
                self._waiting = [text]
            else:
                yield from self._steps.user(text)
        elif voice == "model":
            yield from self._begin()
            if self._waiting:
                (words, *printed), self._waiting = self._waiting, []
                yield from self._steps.user(words)
                for each in printed:
                    yield from self._steps.event("notice", each)
            yield from self._steps.close()
            yield from self._steps.answer(text=text)
        elif self._waiting:
            self._waiting.append(text)
        elif self._is_told:
            yield from self._steps.event("notice", text)
        else:
            self._notices.append(text)

    def _settle(self) -> Iterator[Item]:
        """No model answered the command."""
        if self._waiting:
            yield from self._steps.event("command", "\n".join(self._waiting))
            self._waiting = []

    def _begin(self) -> Iterator[Item]:
        if not self._is_told:
            self._is_told = True
            yield SessionFacts(self._steps.session, created=as_time(self._started))
            for notice in self._notices:
                yield from self._steps.event("notice", notice)


IMPORTER = Importer(format="aider", detect=detect, rows=rows)
