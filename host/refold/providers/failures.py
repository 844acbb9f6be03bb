"""What goes wrong between here and a provider.

ProviderError            the provider refused, or its answer could not be read; `refusal` says which
├── Unreachable          no connection, or no answer in time
├── Interrupted          the connection ended inside an answer
└── Cancelled            somebody asked to stop; the connection is closed
"""

from __future__ import annotations

from refold.providers.refusals import Refusal
from refold.values.errors import RefoldError


class ProviderError(RefoldError):
    """A request that brought no answer.

    `streamed`: pieces of an answer were handed out before it failed, so it must not be asked again unseen. The message
    is one line and ends with the provider's own words, shortened and without any key.
    """

    code = "provider_failed"

    def __init__(self, message: str, refusal: Refusal, streamed: bool = False) -> None:
        super().__init__(message)
        self.refusal = refusal
        self.streamed = streamed


class Unreachable(ProviderError):
    """Nothing could be sent, or nothing came back in time."""

    code = "provider_unreachable"


class Interrupted(ProviderError):
    """The answer broke off."""

    code = "provider_interrupted"


class Cancelled(ProviderError):
    """Stopped on request."""

    code = "cancelled"
