"""What an extension answered, checked before anything uses it.

Nobody type-checks an extension. So an answer is held against the types that the contract's classes state, all the way
down, inside the very call that asked: whoever answered wrongly is named, and nobody else stumbles over it. On the way
every text becomes one that can be written (lone surrogates by their escapes, as in the transcript).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import attrs

from refold.transcript.encoding import legible

T = TypeVar("T")
K = TypeVar("K")

EXACT = 1 << 53
"""Every JSON reader keeps integers up to this size exactly; no count or seq comes near it."""

_Check = Callable[[Any, str], Any]
"""Takes a value and what to call it; gives the value, with writable texts. Raises TypeError."""


def checked(answer: object, *kinds: type[T]) -> T:
    """The answer, an instance of one of these classes of the contract. Raises TypeError in one line.

    >>> from refold.values.tools import ContextBlock
    >>> checked(ContextBlock("rules", "House rules", None), ContextBlock)
    Traceback (most recent call last):
    TypeError: ContextBlock.text is NoneType, not str
    """
    check: _Check = _either(cast(Any, kinds))
    found: T = check(answer, "the answer")
    return found


def checked_all(answer: object, kind: type[T]) -> tuple[T, ...]:
    """The items of the answer, a generator's too; None has none. Raises TypeError, and what a generator raises."""
    found: tuple[T, ...] = () if answer is None else _items(cast(Any, kind))(answer, "the answer")
    return found


def checked_map(answer: object, key: type[K], value: type[T]) -> Mapping[K, T]:
    """The mapping that was answered; None is an empty one. Raises TypeError."""
    found: Mapping[K, T] = {} if answer is None else _mapping(cast(Any, key), cast(Any, value))(answer, "the answer")
    return found


@cache
def _check(kind: Any) -> _Check:
    if kind is Any:
        return lambda value, name: value
    if kind is str:
        return _text
    if kind is int:
        return _number
    if isinstance(kind, type) and attrs.has(kind):
        return _record(kind)
    parts = get_args(kind)
    match get_origin(kind):
        case origin if origin is Literal:
            return _word(parts)
        case origin if origin is Union or origin is UnionType:
            return _either(parts)
        case origin if origin is tuple:
            return _items(parts[0])
        case origin if origin is Mapping:
            return _mapping(*parts)
    return _instance(get_origin(kind) or kind)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise _odd(value, name, "str")
    return legible(value)


def _number(value: Any, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _odd(value, name, "int")
    if not -EXACT <= value <= EXACT:
        raise TypeError(f"{name} is beyond 2**53")
    return value


def _word(words: tuple[Any, ...]) -> _Check:
    def check(value: Any, name: str) -> Any:
        if not isinstance(value, str) or value not in words:
            raise TypeError(f"{name} is {str(value)[:40]!r}, not one of {', '.join(words)}")
        return value

    return check


def _instance(kind: type) -> _Check:
    def check(value: Any, name: str) -> Any:
        if not isinstance(value, kind):
            raise _odd(value, name, kind.__name__)
        return value

    return check


@cache
def _record(kind: Any) -> _Check:
    """A class of the contract: each of its fields."""
    hints = get_type_hints(kind)
    fields = [(each.name, f"{kind.__name__}.{each.name}", _check(hints[each.name])) for each in attrs.fields(kind)]

    def check(value: Any, name: str) -> Any:
        if not isinstance(value, kind):
            raise _odd(value, name, kind.__name__)
        changed = {}
        for field, place, part in fields:
            given = getattr(value, field)
            if (found := part(given, place)) is not given:
                changed[field] = found
        return attrs.evolve(value, **changed) if changed else value

    return check


@cache
def _either(kinds: tuple[Any, ...]) -> _Check:
    names = " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)

    def check(value: Any, name: str) -> Any:
        for kind in kinds:
            if isinstance(value, kind):
                return _check(kind)(value, name)
        raise _odd(value, name, names)

    return check


@cache
def _items(kind: Any) -> _Check:
    part = _check(kind)

    def check(value: Any, name: str) -> tuple[Any, ...]:
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
            raise _odd(value, name, "a list")
        given = value if isinstance(value, tuple) else tuple(value)
        found = tuple([part(each, f"an item of {name}") for each in given])
        return given if all(new is old for new, old in zip(found, given, strict=True)) else found

    return check


@cache
def _mapping(key: Any, value: Any) -> _Check:
    keys, values = _check(key), _check(value)

    def check(given: Any, name: str) -> Mapping[Any, Any]:
        if not isinstance(given, Mapping):
            raise _odd(given, name, "a mapping")
        found = {keys(k, f"a key of {name}"): values(v, f"a value of {name}") for k, v in given.items()}
        kept = all(k in given and given[k] is v for k, v in found.items())
        return given if kept else found

    return check


def _odd(value: object, name: str, wanted: str) -> TypeError:
    return TypeError(f"{name} is {type(value).__name__}, not {wanted}")
