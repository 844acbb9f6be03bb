"""What the decoders of all protocols share: the shape of a decoder, and reading values nobody vouches for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import orjson

from refold.providers.exchange import UNPARSED, Answer, CallDelta, Delta
from refold.providers.sse import Event
from refold.values.json_text import json_bytes
from refold.values.rows import Call

_MOST = 1 << 53
# Characters. Whoever tells of it cuts it shorter, and takes the key out before: here it could be cut in two.
_SHOWN = 4_096
_HALF = re.compile(r"[\ud800-\udbff]\Z")


class RefusedInside(Exception):
    """The provider refused inside an answer that had begun under status 200. `status` is 0 when it named none."""

    def __init__(self, text: str, code: str = "", status: int = 0) -> None:
        super().__init__(text)
        self.text, self.code, self.status = text, code, status


class Unreadable(Exception):
    """What came is not what the protocol says; the words say what came."""


class CutOff(Exception):
    """The stream ended before the answer did."""


class Decoder(Protocol):
    """The state of one streamed answer.

    `feed` gives the pieces that an event adds; `answer` is called once, when the stream has ended. Both raise
    RefusedInside and Unreadable, `answer` also CutOff.
    """

    def feed(self, event: Event) -> Iterable[Delta]:
        """The pieces that this event adds."""

    def whole(self, body: Mapping[str, Any]) -> Answer:
        """The answer of a body that was not streamed; then `feed` and `answer` are not called."""

    def answer(self) -> Answer:
        """The whole answer."""


def object_of(data: str | bytes) -> dict[str, Any]:
    """A JSON object. Raises Unreadable."""
    try:
        value = _loads(data)
    except ValueError:
        shown = data[:_SHOWN] if isinstance(data, str) else data[:_SHOWN].decode("utf-8", "replace")
        raise Unreadable(f"no JSON: {shown}") from None
    if not isinstance(value, dict):
        raise Unreadable(f"JSON, but no object: {str(value)[:_SHOWN]}")
    return value


def raise_error(value: Mapping[str, Any]) -> None:
    """Raises RefusedInside when an object of the stream is an error, in any of the shapes that servers use."""
    error = value.get("error")
    if error is None and value.get("object") == "error":
        error = value
    if error is None:
        return
    code = error.get("code") if isinstance(error, Mapping) else value.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 0
    raise RefusedInside(json_bytes(dict(value)).decode(), code if isinstance(code, str) else "", status)


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def objects(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list; what else stands in it is left out."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """The value if it is a text, else ""."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int | None:
    """A number that counts something: not negative, not absurd, else None."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < _MOST:
        return None
    return int(value)


def prompt_count(value: Any) -> int | None:
    """The tokens of a prompt. No prompt is empty, so 0 means that the server does not count."""
    return count(value) or None


def total(*parts: int | None) -> int | None:
    """The sum of the known parts; None when none is known."""
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def call(index: int, id: str, name: str, arguments: Any) -> Call:
    """A call as the model made it.

    An id is derived from the place when the server gave none. Arguments that are no JSON object are kept as they were
    written, under UNPARSED; no arguments at all are an empty object.
    """
    if isinstance(arguments, Mapping):
        value: Any = dict(arguments)
    elif isinstance(arguments, str) and arguments.strip():
        try:
            # Not orjson, which makes a float of a whole number beyond 64 bits.
            value = json.loads(arguments, parse_constant=_no_number)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            value = {UNPARSED: arguments}
    else:
        value = {}
    return Call(id or f"call_{index + 1}", name, value)


def joined(pieces: Iterable[str]) -> str:
    """The pieces as one text. A character that the server cut into two escapes is whole again."""
    whole = "".join(pieces)
    if whole.isascii():
        return whole
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def characters(pieces: Iterable[Delta | Answer]) -> Iterator[Delta | Answer]:
    """The same pieces, with the first half of a character held back until its second half comes."""
    held: dict[object, Delta] = {}
    for piece in pieces:
        if isinstance(piece, Answer):
            yield from (_with_text(half, joined([_text(half)])) for half in held.values())
            yield piece
            continue
        stream = piece.index if isinstance(piece, CallDelta) else type(piece)
        half = held.pop(stream, None)
        said = (_text(half) if half else "") + _text(piece)
        if _HALF.search(said):
            said, held[stream] = said[:-1], _with_text(_nameless(piece), said[-1])
        if said or (isinstance(piece, CallDelta) and (piece.id or piece.name)):
            yield _with_text(piece, joined([said]))


def _text(piece: Delta) -> str:
    return piece.arguments if isinstance(piece, CallDelta) else piece.text


def _nameless(piece: Delta) -> Delta:
    """A call's id and name come once, with its first piece."""
    return CallDelta(piece.index) if isinstance(piece, CallDelta) else piece


def _with_text(piece: Delta, text: str) -> Delta:
    if isinstance(piece, CallDelta):
        return CallDelta(piece.index, piece.id, piece.name, text)
    return type(piece)(text)


def replayed(items: list[Any]) -> str:
    """The payload of a `Replay` that holds these wire items, unchanged."""
    return json_bytes(items[0] if len(items) == 1 else items).decode()


def _loads(data: str | bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        # Half of an escaped pair is JSON all the same: some servers cut between the halves.
        return json.loads(data, parse_constant=_no_number)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
