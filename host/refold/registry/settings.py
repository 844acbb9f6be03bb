"""Settings sections of `extensions.json` as frozen attrs classes.

A settings class has a default for every field. A field `tail_percent` is the key `tailPercent`. Types are strict
(true is no number, "90" is no number), ranges are attrs validators, rules over several fields a `ValueError` in
`__attrs_post_init__`. Reading finds all faults at once, and one fault puts the whole section on its defaults.

    @frozen
    class Settings:
        tail_percent: int = field(default=25, validator=[validators.ge(0), validators.le(90)])
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin

import attrs
from attrs import field, frozen, validators
from cattrs import Converter
from cattrs.dispatch import StructureHook

T = TypeVar("T")


@frozen
class Read(Generic[T]):
    """A section's value, and its faults, each with its JSON path. With faults the value is the defaults."""

    value: T
    faults: tuple[str, ...] = ()


@frozen
class CompactionSettings:
    """The host's own section `compaction`.

    `auto` off: compaction runs only when asked for. `enable` off: it does not run at all. What users said in rows that
    are not shown any more may take `user_lines_percent` of the window, but at least `user_lines_least` tokens and at
    most `user_lines_most` (0: it is not shown), and never more than a quarter of the window.
    """

    enable: bool = True
    auto: bool = True
    user_lines_percent: int = field(default=10, validator=[validators.ge(0), validators.le(50)])
    user_lines_least: int = field(default=2_048, validator=[validators.ge(0), validators.le(2**53)])
    user_lines_most: int = field(default=16_384, validator=[validators.ge(0), validators.le(2**53)])


class Reader:
    """Reads sections into settings classes. One per extension and generation: it holds the classes it has met."""

    def __init__(self) -> None:
        self._converter = _converter()

    def section(self, name: str, section: object, cls: type[T]) -> Read[T]:
        """The section called `name` as `cls`. It never raises for a fault in the section."""
        try:
            return Read(self._converter.structure(section, cls))
        except _Faults as faults:
            found = [f"$.{name}{path}: {text}" for path, text in faults.faults]
        except Exception as error:  # a validator of an extension may raise anything
            found = [f"$.{name}: {_words(error)}"]
        return Read(cls(), tuple(found))


def choices(section: object) -> Read[dict[str, bool]]:
    """The section `enabled`: on or off per extension. An entry with a fault is left out, the others serve."""
    if not isinstance(section, dict):
        return Read({}, (f"$.enabled: {_found(section)}, not an object",))
    good = {ext: on for ext, on in section.items() if isinstance(on, bool)}
    bad = [f"$.enabled{_step(ext)}: {_found(on)}, not true or false" for ext, on in section.items() if ext not in good]
    return Read(good, tuple(bad))


def class_fault(cls: object) -> str | None:
    """Why a class cannot hold settings; None: it can."""
    if not isinstance(cls, type) or not attrs.has(cls):
        return "settings must be a frozen attrs class"
    without = [each.name for each in attrs.fields(cls) if each.init and each.default is attrs.NOTHING]
    if without:
        return f"{cls.__name__} needs a default for {', '.join(without)}"
    try:
        attrs.resolve_types(cls)
        first = cls()
        if attrs.fields(cls):
            setattr(first, attrs.fields(cls)[0].name, None)
    except attrs.exceptions.FrozenInstanceError:
        return None
    except Exception as error:
        return f"{cls.__name__} does not accept its own defaults: {_words(error)}"
    return f"{cls.__name__} is not frozen" if attrs.fields(cls) else None


def key(name: str) -> str:
    """The JSON key of a field.

    >>> key("context_window_tokens")
    'contextWindowTokens'
    """
    head, *rest = name.strip("_").split("_")
    return head + "".join(each[:1].upper() + each[1:] for each in rest)


class _Faults(Exception):
    """Every fault below one value: path from that value on, and words."""

    def __init__(self, faults: Iterable[tuple[str, str]]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(f"{path}: {text}" for path, text in self.faults))


def _converter() -> Converter:
    converter = Converter(detailed_validation=False)
    for cls, article in ((bool, "true or false"), (int, "a whole number"), (str, "text")):
        converter.register_structure_hook(cls, _exactly(cls, article))
    converter.register_structure_hook(float, _float)
    converter.register_structure_hook_factory(attrs.has, lambda cls: _fields_hook(converter, cls))
    converter.register_structure_hook_factory(_is_list, lambda cls: _list_hook(converter, cls))
    converter.register_structure_hook_factory(_is_mapping, lambda cls: _mapping_hook(converter, cls))
    converter.register_structure_hook_func(_is_literal, _literal)
    return converter


def _exactly(cls: type, article: str) -> Callable[[Any, Any], Any]:
    def structure(value: Any, _: Any) -> Any:
        if type(value) is not cls:
            raise _Faults([("", f"{_found(value)}, not {article}")])
        return value

    return structure


def _float(value: Any, _: Any) -> float:
    if type(value) not in (int, float):
        raise _Faults([("", f"{_found(value)}, not a number")])
    return float(value)


def _literal(value: Any, cls: Any) -> Any:
    for allowed in get_args(cls):
        if type(allowed) is type(value) and allowed == value:
            return value
    raise _Faults([("", f"must be one of {', '.join(repr(each) for each in get_args(cls))}")])


def _is_list(cls: Any) -> bool:
    origin = get_origin(cls) or cls
    return isinstance(origin, type) and issubclass(origin, Collection) and not issubclass(origin, (str, bytes, Mapping))


def _is_literal(cls: Any) -> bool:
    origin: object = get_origin(cls)
    return origin is Literal


def _is_mapping(cls: Any) -> bool:
    origin = get_origin(cls) or cls
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _list_hook(converter: Converter, cls: Any) -> StructureHook:
    origin = get_origin(cls) or cls
    inner: list[Any] = [each for each in get_args(cls) if each not in (...,)]
    make: Any = origin if issubclass(origin, (tuple, list, set, frozenset)) else tuple
    fixed = issubclass(origin, tuple) and bool(inner) and Ellipsis not in get_args(cls)

    def structure(value: Any, _: Any) -> Any:
        if not isinstance(value, list):
            raise _Faults([("", f"{_found(value)}, not a list")])
        if fixed and len(value) != len(inner):
            raise _Faults([("", f"has {len(value)} items, not {len(inner)}")])
        types = inner if fixed else (inner or [Any]) * len(value)
        return make(
            _each(converter, [(f"[{place}]", *each) for place, each in enumerate(zip(value, types, strict=True))])
        )

    return structure


def _mapping_hook(converter: Converter, cls: Any) -> StructureHook:
    _, inner = get_args(cls) or (str, Any)

    def structure(value: Any, _: Any) -> Any:
        if not isinstance(value, dict):
            raise _Faults([("", f"{_found(value)}, not an object")])
        return dict(
            zip(value, _each(converter, [(_step(name), each, inner) for name, each in value.items()]), strict=True)
        )

    return structure


def _each(converter: Converter, items: Sequence[tuple[str, Any, Any]]) -> list[Any]:
    """Every (path, value, type) structured. Raises all faults together."""
    good: list[Any] = []
    faults: list[tuple[str, str]] = []
    for path, value, cls in items:
        try:
            good.append(value if cls is Any else converter.structure(value, cls))
        except _Faults as below:
            faults.extend((path + deeper, text) for deeper, text in below.faults)
        except Exception as error:
            faults.append((path, _words(error)))
    if faults:
        raise _Faults(faults)
    return good


def _fields_hook(converter: Converter, cls: Any) -> StructureHook:
    attrs.resolve_types(cls)
    fields = {key(each.name): each for each in attrs.fields(cls) if each.init}

    def structure(value: Any, _: Any) -> Any:
        if not isinstance(value, dict):
            raise _Faults([("", f"{_found(value)}, not an object")])
        given: dict[str, Any] = {}
        faults: list[tuple[str, str]] = []
        for name, each in value.items():
            if (known := fields.get(name)) is None:
                faults.append((_step(name), _unknown(name, fields)))
                continue
            try:
                item = (_step(name), each, known.type or Any)
                [given[known.alias or known.name]] = _each(converter, [item])
            except _Faults as below:
                faults.extend(below.faults)
        try:
            made = cls(**given)
        except Exception as error:
            faults.extend(_refused(cls, fields, given) or [("", _words(error))])
        if faults:
            raise _Faults(faults)
        return made

    return structure


def _refused(cls: Any, fields: Mapping[str, attrs.Attribute[Any]], given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Which single values the class refuses even beside its defaults; none: it is a rule over several fields."""
    faults = []
    for name, each in fields.items():
        if (alias := each.alias or each.name) in given:
            try:
                cls(**{alias: given[alias]})
            except Exception as error:
                faults.append((_step(name), _words(error).removeprefix(f"'{each.name}' ")))
    return faults


def _unknown(name: str, known: Iterable[str]) -> str:
    names = list(known)
    # Case and underscores are the usual slip, so they do not count as distance.
    plain = {each.lower(): each for each in names}
    near = difflib.get_close_matches(name.lower().replace("_", ""), plain, n=1, cutoff=0.5)
    if near:
        return f"unknown key; did you mean {plain[near[0]]}?"
    return f"unknown key; known: {', '.join(names) or 'none'}"


def _step(name: str) -> str:
    """One step of a JSON path."""
    return f".{name}" if re.fullmatch(r"[A-Za-z_][\w-]*", name) else f"[{name[:80]!r}]"


def _words(error: Exception) -> str:
    """An exception's own words on one line. attrs puts more than the words into `args`."""
    return " ".join(str(error.args[0] if error.args else error).split()) or type(error).__name__


def _found(value: object) -> str:
    """What stands there, in JSON's terms. The value itself may be a secret and is not repeated."""
    names = {
        bool: "is true or false",
        int: "is a whole number",
        float: "is a number",
        str: "is text",
        list: "is a list",
    }
    return "is null" if value is None else names.get(type(value), "is an object")
