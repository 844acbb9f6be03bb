"""A provider as `models.json` names it, and whose account speaks to it. Its key is read at each call, kept nowhere."""

from __future__ import annotations

import os
from hashlib import sha256

from attrs import frozen

from refold.values.errors import Refused


@frozen
class ProviderConfig:
    """Where a provider is and how it speaks. `key_env` names the environment variable that holds the key; None: no key.

    `count`: requests are counted by the provider before they are sent, where its protocol can.
    """

    name: str
    protocol: str
    base_url: str
    key_env: str | None = None
    count: bool = False


def key(provider: ProviderConfig) -> str | None:
    """The key as it stands in the environment now. Raises Refused when the named variable is empty."""
    if provider.key_env is None:
        return None
    found = _from_environment(provider)
    if not found:
        raise Refused(
            f"the environment variable {provider.key_env}, which holds the key of provider {provider.name}, is not set;"
            " nothing was sent; set it and try again"
        )
    if not (found.isascii() and found.isprintable()):
        raise Refused(
            f"the environment variable {provider.key_env} holds characters that no key has;"
            " nothing was sent; set it anew"
        )
    return found


def secret(provider: ProviderConfig) -> str:
    """What must not be found in anything that the provider says: its key as it stands now; "" without one."""
    return _from_environment(provider)


def owner(provider: ProviderConfig, model: str) -> str:
    """What `Model.owner` is: provider, account and model. Opaque items go back only where all three are equal.

    The account is eight hexadecimal digits of the key's SHA-256, `-` without a key: it tells accounts apart and says
    nothing of the key. A key that is not set yet has none either.

    >>> owner(ProviderConfig("local", "openai-chat", "http://127.0.0.1:8080/v1"), "small")
    'local/-/small'
    """
    found = _from_environment(provider)
    account = sha256(found.encode("utf-8", "surrogateescape")).hexdigest()[:8] if found else "-"
    return f"{provider.name}/{account}/{model}"


def _from_environment(provider: ProviderConfig) -> str:
    return os.environ.get(provider.key_env, "").strip() if provider.key_env else ""
