"""Server-sent events from bytes, however the network cut them.

An own parser of forty lines, because the sender is not trusted: a line has a bound, what is no UTF-8 is replaced, and
an event that the end of the stream cut off from its blank line still counts, since several servers end that way.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import Factory, define, field, frozen

LONGEST = 64 << 20
"""Bytes of one event; a longer one is not read."""


@frozen
class Event:
    """One event; `name` is "" when the server gave none."""

    name: str
    data: str


class TooLong(ValueError):
    """An event is longer than LONGEST."""


@define
class Events:
    """The events of one stream, fed with its bytes.

    >>> events = Events()
    >>> list(events.feed(b"data: a\\ndata: b\\n\\nda")), list(events.feed(b"ta: c")), list(events.end())
    ([Event(name='', data='a\\nb')], [], [Event(name='', data='c')])
    """

    longest: int = LONGEST
    _rest: bytearray = field(init=False, default=Factory(bytearray))
    _searched: int = field(init=False, default=0)
    _name: str = field(init=False, default="")
    _data: list[str] = field(init=False, default=Factory(list))
    _size: int = field(init=False, default=0)
    _after_return: bool = field(init=False, default=False)

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that this chunk completes. Raises TooLong."""
        if self._after_return and chunk[:1] == b"\n":
            chunk = chunk[1:]  # the second half of a line end
        if chunk:
            self._after_return = chunk[-1:] == b"\r"
        self._rest += chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        start = 0
        while (stop := self._rest.find(b"\n", max(start, self._searched))) >= 0:
            event = self._line(self._rest[start:stop])
            start = stop + 1
            if event is not None:
                yield event
        del self._rest[:start]
        self._searched = len(self._rest)
        if self._size + len(self._rest) > self.longest:
            raise TooLong

    def end(self) -> Iterator[Event]:
        """The event that was under way when the stream ended."""
        for line in (bytes(self._rest), b""):
            event = self._line(line) if line or self._data else None
            if event is not None:
                yield event
        self._rest.clear()

    def _line(self, line: bytes | bytearray) -> Event | None:
        if not line:
            event = Event(self._name, "\n".join(self._data)) if self._data else None
            self._name, self._data, self._size = "", [], 0
            return event
        name, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        if name == b"data":
            self._data.append(text)
            self._size += len(value)
        elif name == b"event":
            self._name = text
        return None
