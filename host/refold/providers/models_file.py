"""`models.json` in the home: providers, models, the default model, the summarizer.

It is read without ever failing: every fault is reported with its path, an entry with a fault is left out, the others
serve. No key ever stands in it: `keyEnv` names the environment variable that holds one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from attrs import Attribute, field, frozen, validators

from refold.providers.protocols import PROTOCOLS
from refold.providers.provider import ProviderConfig
from refold.registry import home_file
from refold.registry.settings import Reader

NAME = "models.json"

T = TypeVar("T")

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY_NAMES = re.compile(r"(?:api)?[-_]?(?:key|token|secret|password)|authorization", re.IGNORECASE)
_NO_KEY = "a key never stands in this file: put it into an environment variable and name that in keyEnv"


def _protocol(_: object, __: Attribute[str], value: str) -> None:
    if value and value not in PROTOCOLS:
        raise ValueError(f"must be one of {', '.join(PROTOCOLS)}")


def _address(_: object, __: Attribute[str], value: str) -> None:
    if not value:
        return
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an address that begins with http:// or https://")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError(f"must hold no name, password or query; {_NO_KEY}")


def _variable(_: object, __: Attribute[str | None], value: str | None) -> None:
    if value is None:
        return
    # Names of variables are short and of one case; keys are long and mix letters with digits.
    like_key = len(value) >= 20 and any(map(str.isdigit, value)) and any(map(str.islower, value))
    if not _VARIABLE.fullmatch(value) or like_key:
        raise ValueError(f"must be the name of an environment variable; {_NO_KEY}")


_COUNT = validators.optional(validators.ge(1))


@frozen
class _Provider:
    protocol: str = field(default="", validator=_protocol)
    base_url: str = field(default="", validator=_address)
    key_env: str | None = field(default=None, validator=_variable)
    count: bool = False


@frozen
class ImageLimits:
    """What a model takes of pictures: pixels of the longer edge, and pictures in one request."""

    max_edge: int | None = field(default=None, validator=_COUNT)
    max_images: int | None = field(default=None, validator=_COUNT)


@frozen
class ModelEntry:
    """What the file says of one model. Sizes are tokens; None: it does not say.

    `bound_thinking`: whether its thinking counts only behind exactly what it was made behind.
    """

    window: int | None = field(default=None, validator=_COUNT)
    max_output: int | None = field(default=None, validator=_COUNT)
    inputs: tuple[Literal["text", "image"], ...] | None = None
    image_limits: ImageLimits = field(factory=ImageLimits)
    bound_thinking: bool | None = None


@frozen
class SummarizerEntry:
    """The model that writes summaries, and those asked when it fails. No model: the session's own."""

    model: str | None = None
    fallbacks: tuple[str, ...] = ()


@frozen
class _File:
    providers: dict[str, _Provider] = field(factory=dict)
    models: dict[str, ModelEntry] = field(factory=dict)
    default: str | None = None
    summarizer: SummarizerEntry = field(factory=SummarizerEntry)
    max_steps: int | None = field(default=None, validator=_COUNT)


@frozen
class ModelsFile:
    """The file as it serves, and its faults, each with its path. Model ids are `provider/model`.

    `max_steps` bounds the answers of a turn; None: it does not say.
    """

    providers: Mapping[str, ProviderConfig] = field(factory=dict)
    models: Mapping[str, ModelEntry] = field(factory=dict)
    default: str | None = None
    summarizer: SummarizerEntry = field(factory=SummarizerEntry)
    faults: tuple[str, ...] = ()
    max_steps: int | None = None


def read_models(home: Path) -> ModelsFile:
    """The file of a home. A missing one is empty; it never raises."""
    found = home_file.read(home / NAME)
    if found.fault:
        return ModelsFile(faults=(f"{NAME} {found.fault}",))
    if not found.sections:
        return ModelsFile()  # most homes have none, and each check asks
    sections = dict(found.sections)
    read, faults = _structured(sections)
    providers = {
        name: ProviderConfig(name, each.protocol, each.base_url, each.key_env, each.count)
        for name, each in read.providers.items()
        if each.protocol and each.base_url and name and "/" not in name
    }
    faults += _incomplete(read.providers)
    models = {}
    for id, entry in read.models.items():
        if fault := _unknown_model(id, providers):
            faults.append(f"$.models[{id[:80]!r}]: {fault}")
        else:
            models[id] = entry
    default, summarizer = read.default, read.summarizer
    if default is not None and (fault := _unknown_model(default, providers)):
        faults.append(f"$.default: {fault}")
        default = None
    if summarizer.model is not None and (fault := _unknown_model(summarizer.model, providers)):
        faults.append(f"$.summarizer.model: {fault}")
        summarizer = SummarizerEntry(None, summarizer.fallbacks)
    wrong = {each: fault for each in summarizer.fallbacks if (fault := _unknown_model(each, providers))}
    faults += [f"$.summarizer.fallbacks: {fault}" for fault in wrong.values()]
    kept = tuple(each for each in summarizer.fallbacks if each not in wrong)
    summarizer = SummarizerEntry(summarizer.model, kept)
    return ModelsFile(providers, models, default, summarizer, tuple(faults), read.max_steps)


def _structured(sections: dict[str, Any]) -> tuple[_File, list[str]]:
    """The sections as values. With faults, every entry that has none of its own."""
    reader = Reader()
    whole = reader.section("", sections, _File)
    if not whole.faults:
        return whole.value, []
    keys = list(_keys(sections))
    hidden = tuple(f"{path}:" for path in keys)
    faults = [f"{path}: {_NO_KEY}" for path in keys]
    faults += [fault for each in whole.faults if not (fault := each.replace("$..", "$.", 1)).startswith(hidden)]
    providers = _entries(reader, sections.get("providers"), _Provider)
    models = _entries(reader, sections.get("models"), ModelEntry)
    default = sections.get("default")
    summarizer = reader.section("summarizer", sections.get("summarizer", {}), SummarizerEntry).value
    steps = sections.get("maxSteps")
    most = steps if type(steps) is int and steps >= 1 else None
    return _File(providers, models, default if isinstance(default, str) else None, summarizer, most), faults


def _entries(reader: Reader, section: Any, cls: type[T]) -> dict[str, T]:
    if not isinstance(section, dict):
        return {}
    read = {name: reader.section(name, entry, cls) for name, entry in section.items()}
    return {name: each.value for name, each in read.items() if not each.faults}


def _keys(sections: Mapping[str, Any]) -> Iterator[str]:
    """Where something called a key stands."""
    providers = sections.get("providers")
    for name, entry in providers.items() if isinstance(providers, dict) else ():
        for each in entry if isinstance(entry, dict) else ():
            if _KEY_NAMES.fullmatch(each):
                step = f".{name}" if re.fullmatch(r"[A-Za-z_][\w-]*", name) else f"[{name[:80]!r}]"
                yield f"$.providers{step}.{each}"


def _incomplete(providers: Mapping[str, _Provider]) -> list[str]:
    faults = []
    for name, each in providers.items():
        missing = [key for key, value in (("protocol", each.protocol), ("baseUrl", each.base_url)) if not value]
        if missing:
            faults.append(f"$.providers[{name[:80]!r}]: {' and '.join(missing)} must be given")
        if not name or "/" in name:
            faults.append(f"$.providers[{name[:80]!r}]: a provider's name is not empty and has no '/'")
    return faults


def _unknown_model(id: str, providers: Mapping[str, ProviderConfig]) -> str | None:
    provider, slash, model = id.partition("/")
    if not slash or not model:
        return "a model is named provider/model"
    if provider not in providers:
        return f"no provider that can be used is named {provider[:80]!r}; known: {', '.join(providers) or 'none'}"
    return None
