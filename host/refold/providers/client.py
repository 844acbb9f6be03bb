"""Asks one provider. A key passes through here and `provider.py` alone, and nothing that leaves them holds one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlsplit

from attrs import evolve

from refold.providers import provider as account
from refold.providers.decoding import Decoder, Unreadable, characters, object_of
from refold.providers.exchange import Answer, Delta
from refold.providers.failures import Cancelled, Interrupted, ProviderError, Unreachable
from refold.providers.lines import USUAL, Line, Lines, Patience, Stopped
from refold.providers.listing import Listed, merged, read_listing
from refold.providers.pictures import ImageBytes
from refold.providers.protocols import codec
from refold.providers.provider import ProviderConfig
from refold.providers.redaction import answer_without, pieces_without, without
from refold.providers.routes import ROUTES
from refold.providers.sse import Events
from refold.providers.telling import RefusedAtOnce, Telling, stopped
from refold.values.json_text import json_bytes
from refold.values.messages import Request

if TYPE_CHECKING:
    import httpx

ERROR_BYTES = 1 << 16
ANSWER_BYTES = 64 << 20
"""Bytes that are read of an error, and of an answer or a listing that is not streamed."""

_STEP = 0.05  # seconds between two looks at whether to stop, while waiting to ask again

T = TypeVar("T")
Cancel = Callable[[], bool]


class Client:
    """A provider that can be asked. Safe to share by threads; close it when it is done with.

    The key is read from the environment at each call. Refusals that pass by themselves (a rate, an overload, a failed
    connection) are tried again, as long as nothing of an answer was handed out, with growing waits or the provider's
    own. `cancelled` is asked twenty times a second, from another thread; when it says so the connection is closed.

    Every method raises ProviderError (Unreachable, Interrupted, Cancelled), and Refused when the key is missing.

        with Client(ProviderConfig("local", "openai-chat", "http://127.0.0.1:8080/v1")) as client:
            for piece in client.stream(request, image_bytes):
                ...
    """

    def __init__(self, provider: ProviderConfig, patience: Patience = USUAL) -> None:
        self.provider = provider
        self._patience = patience
        self._codec, self._route = codec(provider.protocol), ROUTES[provider.protocol]
        self._lines = Lines(patience)
        self._counts = provider.count and self._route.counting is not None

    def close(self) -> None:
        """Closes the idle connections; one in use closes when its request ends."""
        self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def stream(
        self, request: Request, image_bytes: ImageBytes, *, cancelled: Cancel | None = None
    ) -> Iterator[Delta | Answer]:
        """Asks, and gives the answer piece by piece; the last piece is the whole `Answer`.

        Ending the iteration early closes the connection.
        """
        body = self._body(request, image_bytes, streamed=True)
        first, rest = self._again(lambda: _begun(self._streamed(request, body, cancelled)), cancelled)
        try:
            yield first
            yield from rest
        finally:
            rest.close()

    def ask(self, request: Request, image_bytes: ImageBytes, *, cancelled: Cancel | None = None) -> Answer:
        """Asks, and waits for the whole answer."""
        body = self._body(request, image_bytes, streamed=False)
        path = self._route.path(request.model.id, False)

        def once() -> Answer:
            with self._telling():
                answer = self._exchange("POST", self._address(path), body, cancelled)
                answered = self._route.decoder(request.model.owner).whole(answer)
                return answer_without(account.secret(self.provider), answered)

        return self._again(once, cancelled)

    def count(self, request: Request, image_bytes: ImageBytes, *, cancelled: Cancel | None = None) -> int | None:
        """The input tokens of a request as the provider counts them.

        None when its protocol has no endpoint for that, it is switched off, or it failed: counting is a help and never
        ends a turn. An endpoint that is not there is not asked again. Raises Cancelled.
        """
        counting = self._route.counting
        if not self._counts or counting is None:
            return None
        wire = counting.body(self._codec.encode(request, image_bytes), request.model.id)
        address = self._address(counting.path(request.model.id))
        try:
            with self._telling():
                answer = self._exchange("POST", address, json_bytes(wire), cancelled, self._patience.lookup)
        except Cancelled:
            raise
        except (Interrupted, Unreachable):
            return None
        except ProviderError as error:
            self._counts = error.refusal.kind not in ("not_found", "malformed", "other")
            return None
        return self._route.counted(answer)

    def models(self) -> tuple[Listed, ...]:
        """The provider's own listing, asked once. Local servers are also asked what they have loaded."""
        seconds = self._patience.lookup
        with self._telling():
            listed = self._listed(self._address(self._route.listing), seconds)
        origin = urlsplit(self.provider.base_url)
        if origin.scheme != "http" or any(each.window for each in listed):
            return listed
        for path in ("/api/v0/models", "/api/ps"):  # LM Studio, Ollama
            try:
                with self._telling():
                    loaded = self._listed(f"http://{origin.netloc}{path}", seconds)
            except ProviderError:
                continue
            if any(each.window for each in loaded):
                return merged(listed, loaded)
        return listed

    def _listed(self, address: str, seconds: float) -> tuple[Listed, ...]:
        secret = account.secret(self.provider)
        listed = read_listing(self._exchange("GET", address, None, None, seconds))
        return tuple(evolve(each, id=without(secret, each.id)) for each in listed)

    def _address(self, path: str) -> str:
        return self._route.address(self.provider.base_url, path)

    def _body(self, request: Request, image_bytes: ImageBytes, *, streamed: bool) -> bytes:
        wire = self._codec.with_cache_marks(self._codec.encode(request, image_bytes))
        return json_bytes(self._route.body(wire, request.model.id, streamed))

    def _headers(self, accept: str, body: bytes | None) -> dict[str, str]:
        kind = {} if body is None else {"content-type": "application/json"}
        return {"accept": accept, "user-agent": "refold", **kind, **self._route.headers(account.key(self.provider))}

    def _streamed(self, request: Request, body: bytes, cancelled: Cancel | None) -> Iterator[Delta | Answer]:
        """One attempt."""
        address = self._address(self._route.path(request.model.id, True))
        decoder = self._route.decoder(request.model.owner)
        telling = self._telling()
        with telling, self._lines.line(cancelled) as line:
            headers = self._headers("text/event-stream", body)
            with line.request("POST", address, headers, body) as response:
                self._check(response)
                pieces = characters(_pieces(line, response, decoder))
                for piece in pieces_without(account.secret(self.provider), pieces):
                    telling.streamed = True
                    yield piece

    def _exchange(
        self, method: str, address: str, body: bytes | None, cancelled: Cancel | None, seconds: float | None = None
    ) -> dict[str, Any]:
        """One request whose answer is one JSON object."""
        with self._lines.line(cancelled) as line:
            headers = self._headers("application/json", body)
            with line.request(method, address, headers, body, seconds) as response:
                self._check(response)
                return object_of(_read(response, ANSWER_BYTES))

    def _check(self, response: httpx.Response) -> None:
        if not response.is_success:
            text = _read(response, ERROR_BYTES, cut=True).decode("utf-8", "replace")
            raise RefusedAtOnce(response.status_code, text, dict(response.headers))

    def _telling(self) -> Telling:
        return Telling(self.provider)

    def _again(self, once: Callable[[], T], cancelled: Cancel | None) -> T:
        """Tries until it works or is not worth another try."""
        from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt
        from tenacity.wait import wait_exponential, wait_random

        patience = self._patience
        first, longest = patience.first_wait, patience.longest_wait
        growing = wait_exponential(multiplier=first, max=longest) + wait_random(0, first)

        def wait(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            asked = error.refusal.retry_after if isinstance(error, ProviderError) else None
            return max(growing(state), asked or 0.0)  # a provider that asks for no wait at all is not hammered

        def sleep(seconds: float) -> None:
            until = time.monotonic() + seconds
            while (left := until - time.monotonic()) > 0:
                if cancelled is not None and cancelled():
                    raise stopped(self.provider.name)
                time.sleep(min(left, _STEP))

        retrying = Retrying(
            stop=stop_after_attempt(patience.attempts),
            wait=wait,
            retry=retry_if_exception(partial(_worth_another, longest=patience.longest_wait)),
            sleep=sleep,
            reraise=True,
        )
        if cancelled is not None and cancelled():
            raise stopped(self.provider.name)
        return retrying(once)


def _begun(pieces: Iterator[Delta | Answer]) -> tuple[Delta | Answer, Any]:
    """The first piece and the rest: from here on nothing is tried again."""
    return next(pieces), pieces


def _pieces(line: Line, response: httpx.Response, decoder: Decoder) -> Iterator[Delta | Answer]:
    kind = response.headers.get("content-type", "").lower()
    if "html" in kind:
        raise Unreadable("a web page")
    if "json" in kind and "ndjson" not in kind:  # a server that does not stream
        yield decoder.whole(object_of(_read(response, ANSWER_BYTES)))
        return
    events = Events()
    for chunk in response.iter_bytes():
        for event in events.feed(chunk):
            yield from decoder.feed(event)
    if line.was_cut:
        raise Stopped
    for event in events.end():
        yield from decoder.feed(event)
    yield decoder.answer()


def _read(response: httpx.Response, limit: int, cut: bool = False) -> bytes:
    """The body, of at most `limit` bytes. With `cut` the rest is left unread, else more raises Unreadable."""
    parts: list[bytes] = []
    left = limit
    for chunk in response.iter_bytes():
        parts.append(chunk[:left])
        left -= len(chunk)
        if left <= 0:
            if not cut:
                raise Unreadable(f"more than {limit:,} bytes")
            break
    return b"".join(parts)


def _worth_another(error: BaseException, longest: float) -> bool:
    if not isinstance(error, ProviderError) or not error.transient:
        return False
    return (error.refusal.retry_after or 0) <= longest
