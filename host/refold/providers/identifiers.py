"""Call ids and tool names that a provider accepts, whatever a transcript holds."""

from __future__ import annotations

import re
from hashlib import blake2b

from attrs import Factory, define, field, frozen

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


@frozen
class IdRule:
    """What a provider takes as a call id: a pattern, and how a derived id is made of hexadecimal digits."""

    legal: re.Pattern[str]
    prefix: str
    digits: int


USUAL = IdRule(re.compile(r"[a-zA-Z0-9_-]{1,64}"), "call_", 24)
SHORT = IdRule(re.compile(r"[a-zA-Z0-9_-]{1,40}"), "call_", 24)
NINE = IdRule(re.compile(r"[a-zA-Z0-9]{9}"), "", 9)


@define
class CallIds:
    """The call ids of one request, in the order of its calls.

    An id is kept when it is legal and new in this request, and otherwise derived from itself and from how often it
    came before. An id thus never depends on what follows, and a longer history repeats the ids of a shorter one.
    """

    rule: IdRule
    _used: set[str] = field(init=False, default=Factory(set))
    _seen: dict[str, int] = field(init=False, default=Factory(dict))

    def take(self, id: str) -> str:
        """The id to send for the next call.

        >>> ids = CallIds(USUAL)
        >>> ids.take("a1"), ids.take("a1") == "a1"
        ('a1', False)
        """
        if id not in self._used and self.rule.legal.fullmatch(id):
            self._used.add(id)
            return id
        while True:
            count = self._seen[id] = self._seen.get(id, 0) + 1
            source = f"{count}\n{id}".encode("utf-8", "surrogatepass")
            derived = self.rule.prefix + blake2b(source).hexdigest()[: self.rule.digits]
            if derived not in self._used:
                self._used.add(derived)
                return derived


def tool_name(name: str, longest: int = 64) -> str:
    """A legal tool name: every character that is not a letter, digit, `_` or `-` becomes `_`.

    Tools that are offered have legal names; an imported call may have any.

    >>> tool_name("functions.exec"), tool_name("")
    ('functions_exec', 'tool')
    """
    return _NOT_IN_NAMES.sub("_", name)[:longest] or "tool"
