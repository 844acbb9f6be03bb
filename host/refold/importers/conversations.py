"""Message lists in the shapes in which people keep them, whatever the messages look like.

A document may be a list of messages, an object with such a list, or a list of such objects; lines may hold one message
or one conversation each. Every conversation but one becomes a session of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Protocol

from refold.importers.documents import members
from refold.importers.lines import BOM, Unreadable, as_map, records
from refold.importers.outline import beginning, is_lines
from refold.values.rows import Row
from refold.values.tools import Importer, SessionFacts

Item = Row | SessionFacts | str
"""What an importer gives: a row, what the file says of a session, or why something was skipped."""


class MessageReader(Protocol):
    """Makes rows of the messages of one conversation. Every method gives the rows that are complete by then."""

    def fact(self, key: str, value: Any) -> Iterator[Item]:
        """Anything that an object holds beside its messages."""
        ...

    def message(self, message: Any) -> Iterator[Item]:
        """One message, of whatever type the file has in its place."""
        ...

    def close(self) -> Iterator[Item]:
        """The conversation is over."""
        ...


Looks = Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]]], bool]
"""Whether a conversation is of a format, by its facts and its first messages."""


def importer(format: str, looks: Looks, reader: Callable[[str], MessageReader], keys: Sequence[str]) -> Importer:
    """An importer of message lists. `reader` gets a conversation's name; `keys` are what its list may be called."""

    def detect(head: bytes) -> bool:
        return looks(*first_messages(head, keys))

    def rows(stream: BinaryIO) -> Iterator[Item]:
        return read(stream, reader, keys)

    return Importer(format=format, detect=detect, rows=rows)


def read(stream: BinaryIO, reader: Callable[[str], MessageReader], keys: Sequence[str]) -> Iterator[Item]:
    """The rows of a file. Its first conversation bears the file's name, the others `.2`, `.3` and so on behind it."""
    current, number = reader(""), 1
    for place, key, value in conversations(stream, keys):
        if place != number:
            yield from current.close()
            current, number = reader(f".{place}"), place
        if isinstance(value, Unreadable):
            yield value.reason
        elif key in keys:
            yield from current.message(value)
        else:
            yield from current.fact(key, value)
    yield from current.close()


def conversations(stream: BinaryIO, keys: Sequence[str]) -> Iterator[tuple[int, str, Any]]:
    """The messages of a file, each as `(conversation, key, message)`, and the facts beside them under their own keys.

    Conversations count from 1. What cannot be read is an `Unreadable`.
    """
    lines = is_lines(stream)
    stream.seek(0)
    items = ((keys[0], record) for record in records(stream)) if lines else _document(stream, keys)
    count = 0
    for key, value in items:
        if isinstance(value, Unreadable) or key not in keys:
            yield max(count, 1), key, value
        elif (listed := _listed(value, keys)) is not None:
            count += 1
            for name, fact in as_map(value).items():
                if name not in listed:
                    yield count, name, fact
            for name, messages in listed.items():
                for message in messages:
                    yield count, name, message
        else:
            count = max(count, 1)
            yield count, key, value


def _document(stream: BinaryIO, keys: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The members of a document, those of an object that are no messages first, wherever in it they stand: what is read
    from them keeps its place when the list grows. An object without a list is itself a message, as in a file of one
    line."""
    facts: dict[str, Any] = {}
    listed = is_list = stream.read(64).removeprefix(BOM).lstrip()[:1] == b"["
    stream.seek(0)
    if not is_list:
        for key, value in members(stream, keys):
            if key in keys or isinstance(value, Unreadable):
                listed = True
            else:
                facts[key] = value
        stream.seek(0)
    yield from facts.items()
    if not listed and facts:
        yield keys[0], facts
        return
    yield from ((key, value) for key, value in members(stream, keys) if key in keys)


def first_messages(head: bytes, keys: Sequence[str]) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """The facts and the first messages of a file's first conversation, for `detect`."""
    found = beginning(head)
    values = found.document if isinstance(found.document, list) else [*found.lines, found.document]
    for value in values:
        if (listed := _listed(value, keys)) is not None:
            messages = _objects(listed)
            if messages and (inner := _listed(messages[0], keys)) is not None:
                value, listed = messages[0], inner
                messages = _objects(listed)
            return {name: fact for name, fact in as_map(value).items() if name not in listed}, messages
    return {}, [value for value in values if isinstance(value, dict)]


def _objects(listed: Mapping[str, list[Any]]) -> list[Mapping[str, Any]]:
    return [message for messages in listed.values() for message in messages if isinstance(message, dict)]


def _listed(value: Any, keys: Sequence[str]) -> Mapping[str, list[Any]] | None:
    """The messages of a conversation by the keys under which it lists them; None for a value that is none."""
    if isinstance(value, list):
        return {keys[0]: value}
    if not isinstance(value, dict) or "role" in value or "call_id" in value:
        return None
    return {key: value[key] for key in keys if isinstance(value.get(key), list)} or None
