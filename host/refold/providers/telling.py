"""Turns whatever goes wrong while a provider is asked into one error for people, without the key."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from refold.providers import provider as account
from refold.providers.decoding import CutOff, RefusedInside, Unreadable
from refold.providers.failures import Cancelled, Interrupted, ProviderError, Unreachable, refused
from refold.providers.lines import Stopped
from refold.providers.provider import ProviderConfig
from refold.providers.redaction import without
from refold.providers.refusals import Refusal, classify, one_line
from refold.providers.sse import TooLong


class RefusedAtOnce(Exception):
    """An answer whose status is an error."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str]) -> None:
        super().__init__(status)
        self.status, self.text, self.headers = status, text, headers


class Telling:
    """A context: what goes wrong inside leaves it as a ProviderError. `streamed` is set when pieces were handed out."""

    def __init__(self, provider: ProviderConfig) -> None:
        self._provider = provider
        self.streamed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and (told := self._told(error)) is not None:
            raise told from None  # the cause may quote what was sent

    def _told(self, error: Exception) -> ProviderError | None:
        import httpx

        name, streamed = self._provider.name, self.streamed
        kept = "the text that came of it is kept" if streamed else "nothing came back"
        match error:
            case RefusedAtOnce():
                return refused(name, classify(error.status, "", error.text, error.headers, self._hide), error.status)
            case RefusedInside():
                refusal = classify(error.status, error.code, error.text, {}, self._hide)
                return refused(name, refusal, error.status, streamed)
            case Stopped():
                return stopped(name, streamed)
            case CutOff() | httpx.ReadError() | httpx.RemoteProtocolError() | httpx.DecodingError():
                return Interrupted(
                    f"provider {name} broke off its answer; {kept}; try again",
                    Refusal("other", words=self._words(error)),
                    streamed,
                    transient=True,
                )
            case Unreadable() | TooLong():
                words = self._words(error) or "an event that is too long"
                return ProviderError(
                    f"provider {name} answered something that is no answer; {kept};"
                    f" check baseUrl and protocol in models.json: {words}",
                    Refusal("other", words=words),
                    streamed,
                )
            case httpx.ReadTimeout():
                return Unreachable(
                    f"provider {name} fell silent; {kept}; try again later",
                    Refusal("other", words=self._words(error)),
                    streamed,
                )
            case httpx.HTTPError() | httpx.InvalidURL():
                words = self._words(error)
                return Unreachable(
                    f"provider {name} cannot be reached; nothing came back; check baseUrl and the network: {words}",
                    Refusal("other", words=words),
                    streamed,
                    transient=not isinstance(error, (httpx.UnsupportedProtocol, httpx.InvalidURL)),
                )
            case _:
                return None

    def _words(self, error: Exception) -> str:
        return one_line(self._hide(str(error)) or type(error).__name__)

    def _hide(self, text: str) -> str:
        return without(account.secret(self._provider), text)


def stopped(name: str, streamed: bool = False) -> Cancelled:
    """The error of a request that was stopped on request."""
    return Cancelled(
        f"the request to provider {name} was stopped; the conversation is kept; send again to go on",
        Refusal("other"),
        streamed,
    )
