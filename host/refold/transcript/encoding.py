"""A row as it is stored, and back.

`text` stands in its own column. `rest` is a JSON object with everything else that is not the default: `step`
(always, and always first), `event`, `calls`, `call_id`, `ok`, `images`, `replay`; `exact` marks a row with integers
beyond 64 bits, which a fast JSON reader would turn into floats. What cannot be stored as it is, is replaced where a
person sees it: lone surrogates by their escape (`\\ud83d`), NaN and infinities by their names, deep nesting by a
remark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from attrs import frozen

from refold.values.frozen_json import frozen_json
from refold.values.rows import Call, Image, Kind, Replay, Row, SourceRef

DEPTH = 100
"""Levels of lists and objects in the arguments of a call; what is deeper is replaced by a remark."""

FOLDING_PLAIN, FOLDING_SIMPLE, FOLDING_FULL, FOLDING_NUL = range(4)
"""How a text can be searched: ASCII; no character folds to ASCII; some do (`ß`, `ﬁ`, Kelvin sign); holds a NUL."""

STEP = "CAST(substr(b.rest, 9, 20) AS INTEGER)"
"""The step of the row whose body is `b`, in SQL: a cast takes the digits that stand first, here behind `{"step":`."""

# Every character outside ASCII whose casefold holds an ASCII character; a test walks all of Unicode.
_FOLDS_TO_ASCII = re.compile("[\u00df\u0130\u0149\u017f\u01f0\u1e96-\u1e9a\u1e9e\u212a\ufb00-\ufb06]")
_DIGITS_LIMIT = 14_000  # bits; Python refuses to write integers of more than 4,300 digits


@frozen
class Stored:
    """The columns of a body."""

    folding: int
    text: str
    calls: str | None
    rest: str


def legible(text: str) -> str:
    """`text`, with lone surrogates replaced by their escapes: they cannot be written as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def legible_row(given: Row, ref: SourceRef, turn: int, step: int, opens: bool, images: tuple[Image, ...]) -> Row:
    """The row at its place, as it will be read back."""
    return Row(
        ref,
        given.kind,
        turn,
        step,
        opens,
        legible(given.event),
        legible(given.text),
        tuple([Call(legible(call.id), legible(call.name), _value(call.arguments)) for call in given.calls]),
        None if given.call_id is None else legible(given.call_id),
        given.ok,
        tuple([_legible_image(image) for image in images]),
        None if given.replay is None else _legible_item(given.replay),
    )


def encode(row: Row) -> Stored:
    """The columns of a legible row."""
    rest: dict[str, Any] = {"step": row.step}
    if row.event:
        rest["event"] = row.event
    if row.calls:
        rest["calls"] = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in row.calls]
    if row.call_id is not None:
        rest["call_id"] = row.call_id
    if not row.ok:
        rest["ok"] = False
    if row.images:
        rest["images"] = [_image_json(image) for image in row.images]
    if row.replay is not None:
        behind = {"behind": row.replay.behind} if row.replay.behind else {}
        rest["replay"] = {"owner": row.replay.owner, "payload": row.replay.payload, **behind}
    calls = "\n".join(_words(row.calls)) if row.calls else None
    return Stored(folding(row.text, calls or ""), row.text, calls, _dumps(rest))


def decode(ref: SourceRef, kind: Kind, opens: bool, turn: int, text: str, rest: str) -> Row:
    """The row that was stored."""
    fields: dict[str, Any] = json.loads(rest) if '"exact":true' in rest[:40] else orjson.loads(rest)
    images = fields.get("images", ())
    calls = fields.get("calls", ())
    replay = fields.get("replay")
    return Row(
        ref,
        kind,
        turn,
        fields["step"],
        opens,
        fields.get("event", ""),
        text,
        tuple([Call(call["id"], call["name"], frozen_json(call["arguments"])) for call in calls]) if calls else (),
        fields.get("call_id"),
        fields.get("ok", True),
        tuple([Image(**image) for image in images]) if images else (),
        None if replay is None else Replay(**replay),
    )


def folding(*texts: str) -> int:
    """The highest folding class of the texts."""
    worst = FOLDING_PLAIN
    for text in texts:
        if "\0" in text:
            return FOLDING_NUL
        if not text.isascii():
            worst = max(worst, FOLDING_FULL if _FOLDS_TO_ASCII.search(text) else FOLDING_SIMPLE)
    return worst


def _dumps(rest: dict[str, Any]) -> str:
    try:
        return orjson.dumps(rest).decode()
    except TypeError:  # an integer beyond 64 bits: everything else was made plain before
        exact = {"step": rest["step"], "exact": True, **rest}
        return json.dumps(exact, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _image_json(image: Image) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "key": image.key,
        "media_type": image.media_type,
        "width": image.width,
        "height": image.height,
    }
    if image.owner is not None:
        fields["owner"] = image.owner
    return fields


def _legible_image(image: Image) -> Image:
    owner = None if image.owner is None else legible(image.owner)
    return Image(legible(image.key), legible(image.media_type), image.width, image.height, owner)


def _legible_item(item: Replay) -> Replay:
    return Replay(legible(item.owner), legible(item.payload), legible(item.behind))


def _value(value: object, depth: int = 0) -> Any:
    """`value` made of what JSON has."""
    if isinstance(value, str):
        return legible(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if value.bit_length() < _DIGITS_LIMIT else hex(value)
    if isinstance(value, float):
        return float(value) if value - value == 0 else str(float(value))
    if depth >= DEPTH and isinstance(value, (Mapping, list, tuple)):
        return f"[nested deeper than {DEPTH} levels]"
    if isinstance(value, Mapping):
        return {name: _value(item, depth + 1) for name, item in zip(_names(value), value.values(), strict=True)}
    if isinstance(value, (list, tuple)):
        return [_value(item, depth + 1) for item in value]
    return legible(repr(value))


def _names(members: Mapping[Any, Any]) -> Iterator[str]:
    """The names of an object's members as JSON has them. One that had to be changed gives way, with a number, to what
    is there already: `{1: "a", "1": "b"}` has the names `1 (2)` and `1`."""
    taken = {name for name in members if type(name) is str and legible(name) == name}
    numbers: dict[str, int] = {}
    for name in members:
        if type(name) is str and name in taken:
            yield name
            continue
        wanted = plain = legible(str(name))
        while plain in taken:
            numbers[wanted] = numbers.get(wanted, 1) + 1
            plain = f"{wanted} ({numbers[wanted]})"
        taken.add(plain)
        yield plain


def _words(calls: tuple[Call, ...]) -> Iterator[str]:
    """The calls as a person would type them: names, then every argument on a line of its own, strings verbatim."""
    for call in calls:
        yield call.name
        yield from _argument_words("", call.arguments)


def _argument_words(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _argument_words(key, item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _argument_words(name, item)
    else:
        word = value if isinstance(value, str) else json.dumps(value)
        yield f"{name}: {word}" if name else word
