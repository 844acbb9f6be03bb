"""Connections to one provider that can be cut from outside.

A blocking read ends early in one way only: another thread shuts its socket down. So each line is a client of httpx with
one connection, whose socket is known from the moment it is made.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    import httpx

_POLL = 0.05  # seconds between two questions whether to stop
_IDLE_LINES = 4


@frozen
class Patience:
    """How long a provider is waited for, in seconds, and how often it is asked.

    `silence` is the longest wait for the next bytes, the first ones included: a local model reads a long prompt for
    minutes before it says a word. A provider that asks to wait longer than `longest_wait` is not asked again.
    """

    connect: float = 10.0
    silence: float = 600.0
    attempts: int = 4
    first_wait: float = 0.5
    longest_wait: float = 60.0
    lookup: float = 10.0


USUAL = Patience()


class Stopped(Exception):
    """The line was cut on request."""


class Line:
    """One connection."""

    def __init__(self, patience: Patience) -> None:
        import httpx

        self.http = httpx.Client(
            timeout=httpx.Timeout(patience.silence, connect=patience.connect, write=60.0),
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=60.0),
            verify=_certificates(),
        )
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self.was_cut = False

    @contextmanager
    def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, seconds: float | None = None
    ) -> Iterator[httpx.Response]:
        """Sends, and gives the answer with its body unread. `seconds` bounds each wait, else the line's patience does.

        Raises Stopped when the line was cut, httpx's errors for everything else.
        """
        import httpx

        asked = self.http.build_request(
            method,
            url,
            headers=dict(headers),
            content=body,
            extensions={"trace": self._trace},
            timeout=httpx.USE_CLIENT_DEFAULT if seconds is None else seconds,
        )
        response = None
        try:
            response = self.http.send(asked, stream=True)
            yield response
        except Exception as error:
            if self.was_cut:
                raise Stopped from error
            raise
        finally:
            if response is not None:
                with contextlib.suppress(Exception):
                    response.close()

    def cut(self) -> None:
        """Ends whatever the line does, now or when it next connects."""
        with self._lock:
            self.was_cut = True
            if self._socket is not None:
                _shut(self._socket)

    def close(self) -> None:
        """Closes the connection."""
        self.http.close()

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event not in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            return
        with self._lock:
            self._socket = info["return_value"].get_extra_info("socket")
            if self.was_cut and self._socket is not None:
                _shut(self._socket)


class Lines:
    """The lines to one provider: as many as run at once; a few stay open for the next request. Safe to share."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._lock = threading.Lock()
        self._idle: list[Line] = []
        self._closed = False

    @contextmanager
    def line(self, cancelled: Callable[[], bool] | None = None) -> Iterator[Line]:
        """A line for one request. When `cancelled` says so, from any thread, it is cut."""
        with self._lock:
            line = self._idle.pop() if self._idle else None
        line = line or Line(self._patience)
        try:
            with _watched(line, cancelled):
                yield line
        finally:
            with self._lock:
                keep = not self._closed and not line.was_cut and len(self._idle) < _IDLE_LINES
                if keep:
                    self._idle.append(line)
            if not keep:
                line.close()

    def close(self) -> None:
        """Closes the idle lines; one in use is closed when its request ends."""
        with self._lock:
            self._closed, idle = True, self._idle
            self._idle = []
        for line in idle:
            line.close()


@contextmanager
def _watched(line: Line, cancelled: Callable[[], bool] | None) -> Iterator[None]:
    if cancelled is None:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_POLL):
            if cancelled():
                line.cut()
                return

    watcher = threading.Thread(target=watch, name="refold-cancel", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


_shared: list[Any] = []


def _certificates() -> Any:
    """One TLS context for all lines: making one takes longer than a whole request on a loopback."""
    if not _shared:
        import httpx

        _shared.append(httpx.create_ssl_context())
    return _shared[0]


def _shut(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):
        # The plain socket's way, for a TLS socket too: its own would first forget the session under a running read.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)
