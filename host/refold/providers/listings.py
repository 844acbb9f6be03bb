"""Providers' listings, read in the background and kept in the home.

A listing is trusted for an hour; one that could not be read is tried again after five minutes, and until then the last
one serves. Nobody waits for a listing longer than three seconds after its reading began.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from refold.providers.decoding import count, mapping, text
from refold.providers.listing import Listed
from refold.providers.provider import ProviderConfig
from refold.registry import home_file
from refold.values.errors import RefoldError, Refused

NAME = "listings.json"
TRUSTED, AGAIN, WAIT = 3600.0, 300.0, 3.0
"""Seconds: how long a listing holds, how long a failure does, how long a reader waits."""

Fetch = Callable[[ProviderConfig], Sequence[Listed]]


@frozen
class Kept:
    """A listing with the times (seconds since 1970) of the last reading and of a failure after it."""

    address: str
    read: float = 0.0
    failed: float = 0.0
    models: Mapping[str, Listed] = field(factory=dict)

    def due(self, now: float) -> bool:
        """Whether it should be read anew. A time that lies ahead was written by a clock that was wrong."""
        return not 0 <= now - self.read < TRUSTED and not 0 <= now - self.failed < AGAIN


class Listings:
    """The listings of one home. Safe to share by threads.

    `fetch` reads a provider's listing and may raise RefoldError. `now` is the wall clock.
    """

    def __init__(self, home: Path, fetch: Fetch, now: Callable[[], float] = time.time, wait: float = WAIT) -> None:
        self._path, self._fetch, self._now, self._wait = home / NAME, fetch, now, wait
        self._lock = threading.Lock()
        self._kept: dict[str, Kept] = {}
        self._reading: dict[str, tuple[threading.Thread, float]] = {}

    def begin(self, provider: ProviderConfig) -> None:
        """Begins to read the provider's listing if it is due, and waits for nothing."""
        if self._known(provider).due(self._now()):
            self._reader(provider)

    def models(self, provider: ProviderConfig) -> Mapping[str, Listed]:
        """What the provider lists, by id at the provider; empty when nobody knows (yet)."""
        kept = self._known(provider)
        if kept.due(self._now()):
            thread, began = self._reader(provider)
            thread.join(max(0.0, began + self._wait - time.monotonic()))
            kept = self._known(provider)
        return kept.models

    def _known(self, provider: ProviderConfig) -> Kept:
        address = f"{provider.protocol} {provider.base_url}"
        with self._lock:
            kept = self._kept.get(provider.name)
            if kept is None or kept.address != address:
                kept = _load(self._path, provider.name, address)
                self._kept[provider.name] = kept
            return kept

    def _reader(self, provider: ProviderConfig) -> tuple[threading.Thread, float]:
        with self._lock:
            running = self._reading.get(provider.name)
            if running is None or not running[0].is_alive():
                thread = threading.Thread(target=self._read, args=(provider,), name="refold-listing", daemon=True)
                running = self._reading[provider.name] = thread, time.monotonic()
                thread.start()
            return running

    def _read(self, provider: ProviderConfig) -> None:
        before = self._known(provider)
        try:
            models = {listed.id: listed for listed in self._fetch(provider)}
            kept = Kept(before.address, self._now(), 0.0, models)
        except Refused:  # the key is not set: nobody was asked, so nothing is learnt
            return
        except RefoldError:
            kept = Kept(before.address, before.read, self._now(), before.models)
        with self._lock:
            self._kept[provider.name] = kept
        with contextlib.suppress(RefoldError, OSError):  # a home that cannot be written has listings all the same
            if home_file.read(self._path).fault:
                self._path.unlink()  # nobody edits this file, and all of it can be read anew
            home_file.update(self._path, lambda sections: sections.update({provider.name: _stored(kept)}))


def _stored(kept: Kept) -> dict[str, Any]:
    models = {
        id: {
            key: value
            for key, value in (
                ("window", each.window),
                ("maxOutput", each.max_output),
                ("inputs", sorted(each.inputs) if each.inputs else None),
                ("maxImages", each.max_images),
            )
            if value is not None
        }
        for id, each in kept.models.items()
    }
    return {"address": kept.address, "read": kept.read, "failed": kept.failed, "models": models}


def _load(path: Path, name: str, address: str) -> Kept:
    entry = mapping(home_file.read(path).sections.get(name))
    if entry.get("address") != address:
        return Kept(address)
    models = {}
    for id, each in mapping(entry.get("models")).items():
        said, inputs = mapping(each), mapping(each).get("inputs")
        kinds = frozenset(map(text, inputs)) & {"text", "image"} if isinstance(inputs, list) else frozenset[str]()
        models[id] = Listed(
            id, count(said.get("window")), count(said.get("maxOutput")), kinds or None, count(said.get("maxImages"))
        )
    return Kept(address, float(count(entry.get("read")) or 0), float(count(entry.get("failed")) or 0), models)
