"""Windows, limits and inputs of models from a table that ships with refold: no network is used.

`.ci/catalog.py` makes the table, `catalog.json`, from packages that are kept; it says which and when. One model has
other limits at other providers, so the provider is looked for first: by its address, else by its name. At a provider
that the table does not know (a local server, say), the smallest window that any provider gives a model of exactly this
id is taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
from attrs import frozen

from refold.providers.listing import Listed
from refold.providers.provider import ProviderConfig

_FILE = Path(__file__).with_name("catalog.json")
_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})
_SNAPSHOT = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")


@frozen
class Origin:
    """Where the table is from: packages with their versions, and the day it was made (ISO 8601)."""

    date: str
    sources: Mapping[str, str]


def origin() -> Origin:
    """Where the table is from."""
    return Origin(_table()["date"], _table()["sources"])


def look_up(provider: ProviderConfig, model: str) -> Listed | None:
    """What the table says of a provider's model; None: it does not know it.

    A dated snapshot that the table does not have is taken for the model it is one of.
    """
    id = model.removeprefix("models/")
    return _found(provider, id) or _found(provider, _SNAPSHOT.sub("", id))


def _found(provider: ProviderConfig, id: str) -> Listed | None:
    providers = _table()["providers"]
    known = providers.get(_provider_id(provider))
    places = providers.values() if known is None else (known,)
    found = [_listed(id, each["models"][id]) for each in places if id in each["models"]]
    return min(found, key=lambda listed: listed.window or 0, default=None)


def _listed(id: str, limits: list[Any]) -> Listed:
    window, output, inputs = limits
    return Listed(id, window, output, frozenset(inputs.split()) if inputs else None)


def _provider_id(provider: ProviderConfig) -> str:
    host = urlsplit(provider.base_url).hostname
    by_host = {each: id for id, entry in _table()["providers"].items() for each in entry["hosts"]}
    return by_host.get(host) or ("" if host in _LOCAL else provider.name)


@lru_cache(maxsize=1)
def _table() -> Any:
    """Parsed once, in a millisecond or two."""
    return orjson.loads(_FILE.read_bytes())
