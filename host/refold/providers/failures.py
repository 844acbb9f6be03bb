"""What goes wrong between here and a provider.

ProviderError            the provider refused, or its answer could not be read; `refusal` says which
├── Unreachable          no connection, or no answer in time
├── Interrupted          the connection ended inside an answer
└── Cancelled            somebody asked to stop; the connection is closed
"""

from __future__ import annotations

from refold.providers.refusals import Refusal, RefusalKind
from refold.values.errors import RefoldError


class ProviderError(RefoldError):
    """A request that brought no answer.

    `streamed`: pieces of an answer were handed out before it failed, so it must not be asked again unseen. `transient`:
    the same request may be answered later. The message is one line and ends with the provider's own words, shortened
    and without any key.
    """

    code = "provider_failed"

    def __init__(self, message: str, refusal: Refusal, streamed: bool = False, transient: bool = False) -> None:
        super().__init__(message)
        self.refusal = refusal
        self.streamed = streamed
        self.transient = transient and not streamed


class Unreachable(ProviderError):
    """Nothing could be sent, or nothing came back in time."""

    code = "provider_unreachable"


class Interrupted(ProviderError):
    """The answer broke off."""

    code = "provider_interrupted"


class Cancelled(ProviderError):
    """Stopped on request."""

    code = "cancelled"


_SAID: dict[RefusalKind, tuple[str, str]] = {
    "too_large": ("refused the request as larger than the model's window", "run /compact or split the task"),
    "too_many_bytes": ("refused the request because it has too many bytes", "leave out or shrink images"),
    "output_cap": (
        "refused the length of the answer that was asked for",
        "lower maxOutput of the model in models.json",
    ),
    "opaque_item": (
        "refused thinking of an earlier answer",
        "send again, or use another model, which leaves such items out",
    ),
    "rate": ("refused the request for its rate limit", "wait and try again"),
    "overloaded": ("could not answer", "try again later"),
    "auth": ("refused the key", "check the environment variable that keyEnv names"),
    "quota": ("refused the request for the account's quota", "check the account or use another model"),
    "not_found": ("does not know the address or the model", "check baseUrl and the model's id in models.json"),
    "malformed": ("refused the request as malformed", "try again, or use another model"),
    "other": ("did not answer", "try again, or use another model"),
}


def refused(provider: str, refusal: Refusal, status: int, streamed: bool = False) -> ProviderError:
    """The error of a refusal. `status` is shown when the provider said nothing; 0: there was none."""
    said, advice = _SAID[refusal.kind]
    if refusal.kind == "rate" and refusal.limit and refusal.requested and refusal.requested > refusal.limit:
        advice = f"it can never pass: the account takes {refusal.limit:,} tokens at once; run /compact"
    words = refusal.words or (f"status {status}, without a word" if status else "")
    tail = f": {words}" if words else ""
    kept = "the text that came is kept" if streamed else "nothing came back"
    message = f"provider {provider} {said}; {kept}; {advice}{tail}"
    return ProviderError(message, refusal, streamed, refusal.transient)
