"""Messages whose roles alternate and begin and end with the user, as most providers or their models want them."""

from __future__ import annotations

from typing import Any

from attrs import Factory, define, field

MISSING_START = "(The conversation begins with an answer.)"
"""The user's words in front of an answer that stands first."""

CONTINUE = "(continue)"
"""The user's words behind an answer that stands last. The one thing that a longer history does not repeat."""


@define
class Alternation:
    """The messages of one request, joined by role.

    What joins a message is put behind what is there, so a longer history only adds to the last message of a shorter
    one. `answers` is the protocol's role of the model, `parts` its key for what a message holds.
    """

    answers: str
    parts: str
    text: dict[str, Any]  # the protocol's text part without its text
    _messages: list[dict[str, Any]] = field(init=False, default=Factory(list))

    def user(self, parts: list[dict[str, Any]]) -> None:
        """Adds to the user's side."""
        self._add("user", parts)

    def answer(self, parts: list[dict[str, Any]]) -> None:
        """Adds to the model's side."""
        if not self._messages:
            self._add("user", [self._words(MISSING_START)])
        self._add(self.answers, parts)

    def closed(self) -> list[dict[str, Any]]:
        """The messages, the last of them the user's. Call it once, at the end."""
        if not self._messages or self._messages[-1]["role"] == self.answers:
            self._add("user", [self._words(CONTINUE)])
        return self._messages

    def _add(self, role: str, parts: list[dict[str, Any]]) -> None:
        if self._messages and self._messages[-1]["role"] == role:
            self._messages[-1][self.parts] += parts
        else:
            self._messages.append({"role": role, self.parts: parts})

    def _words(self, text: str) -> dict[str, Any]:
        return {**self.text, "text": text}
