"""What a provider sends, without the key that it was sent: servers and gateways quote it in errors, and in answers too.

A key that comes in pieces is found as well: the end of a piece that may be the beginning of the key is held back until
more comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve

from refold.providers.exchange import Answer, CallDelta, Delta
from refold.values.json_text import json_text

MARK = "[key]"
SHORTEST = 6
"""Characters: a shorter one is no secret, and would be found inside other words."""


def without(secret: str, text: str) -> str:
    """The text with a mark in place of the secret; unchanged where the secret is "" or too short to be one.

    >>> without("sk-12345", "bad key sk-12345")
    'bad key [key]'
    """
    return text.replace(secret, MARK) if len(secret) >= SHORTEST else text


def answer_without(secret: str, answer: Answer) -> Answer:
    """The answer without the secret. An opaque item that holds it is left out: changed, it would be refused."""
    if len(secret) < SHORTEST:
        return answer
    quoted = json_text(secret)[1:-1]
    return evolve(
        answer,
        text=without(secret, answer.text),
        calls=tuple(
            evolve(
                call,
                id=without(secret, call.id),
                name=without(secret, call.name),
                arguments=_value_without(secret, dict(call.arguments)),
            )
            for call in answer.calls
        ),
        replays=tuple(each for each in answer.replays if secret not in each.payload and quoted not in each.payload),
        model=without(secret, answer.model),
        raw_stop=without(secret, answer.raw_stop),
    )


def pieces_without(secret: str, pieces: Iterable[Delta | Answer]) -> Iterator[Delta | Answer]:
    """The pieces of one answer without the secret, also where it is cut into several of them."""
    if len(secret) < SHORTEST:
        yield from pieces
        return
    held: dict[object, Delta] = {}  # by text, reasoning, or index of a call: the end that may be a beginning
    try:
        for piece in pieces:
            if isinstance(piece, Answer):
                yield from held.values()
                held.clear()
                yield answer_without(secret, piece)
                continue
            stream = piece.index if isinstance(piece, CallDelta) else type(piece)
            before = held.pop(stream, None)
            said = without(secret, (_said(before) if before else "") + _said(piece))
            ready = len(said) - _begun(secret, said)
            if ready < len(said):
                held[stream] = _with(CallDelta(piece.index) if isinstance(piece, CallDelta) else piece, said[ready:])
            if ready or (isinstance(piece, CallDelta) and (piece.id or piece.name)):
                yield _named(secret, _with(piece, said[:ready]))
    except Exception:  # it broke off: what came is kept, but for the greater part of a key
        for piece in held.values():
            yield piece if len(_said(piece)) < SHORTEST else _with(piece, MARK)
        raise


def _begun(secret: str, text: str) -> int:
    """How many characters at the end of the text are a beginning of the secret."""
    longest = min(len(secret) - 1, len(text))
    return next((length for length in range(longest, 0, -1) if text.endswith(secret[:length])), 0)


def _said(piece: Delta) -> str:
    return piece.arguments if isinstance(piece, CallDelta) else piece.text


def _with(piece: Delta, said: str) -> Delta:
    return evolve(piece, arguments=said) if isinstance(piece, CallDelta) else evolve(piece, text=said)


def _named(secret: str, piece: Delta) -> Delta:
    if not isinstance(piece, CallDelta):
        return piece
    return evolve(piece, id=without(secret, piece.id), name=without(secret, piece.name))


def _value_without(secret: str, value: Any) -> Any:
    if isinstance(value, str):
        return without(secret, value)
    if isinstance(value, Mapping):
        return {without(secret, key): _value_without(secret, each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_value_without(secret, each) for each in value]
    return value
