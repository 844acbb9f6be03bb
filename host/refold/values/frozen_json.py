"""JSON values that nobody can change: decoded rows are shared by everybody who reads them."""

from __future__ import annotations

from typing import Any, NoReturn


class FrozenDict(dict[str, Any]):
    """A dict that reads, compares and serializes as one, and refuses every change."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a durable row does not change; copy what you want to change")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (dict(self),)  # a copy is an ordinary dict


class FrozenList(list[Any]):
    """A list that reads, compares and serializes as one, and refuses every change."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a durable row does not change; copy what you want to change")

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> tuple[type[list[Any]], tuple[list[Any]]]:
        return list, (list(self),)  # a copy is an ordinary list


def frozen_json(value: Any) -> Any:
    """The value with every object and list in it frozen.

    >>> frozen_json({"lines": [1, 2]})["lines"].append(3)
    Traceback (most recent call last):
    TypeError: a durable row does not change; copy what you want to change
    """
    if isinstance(value, dict):
        return FrozenDict((key, frozen_json(item)) for key, item in value.items())
    if isinstance(value, list):
        return FrozenList(map(frozen_json, value))
    return value
