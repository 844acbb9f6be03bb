"""A scripted provider on the loopback: real HTTP, one script a request."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from attrs import Factory, define, frozen

Script = Callable[["Handler"], None]


@frozen
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    client: tuple[str, int]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *words: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._take(None)

    def do_POST(self) -> None:
        self._take(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def _take(self, body: Any) -> None:
        provider = self.server.provider
        headers = {name.lower(): value for name, value in self.headers.items()}
        provider.asked.append(Asked(self.command, self.path, headers, body, self.client_address))
        script = provider.scripts.pop(0) if len(provider.scripts) > 1 else provider.scripts[0]
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            script(self)
            return
        provider.hung_up.set()
        self.close_connection = True

    def begin(self, status: int, kind: str, headers: Mapping[str, str] = {}) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("transfer-encoding", "chunked")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def piece(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def cut(self) -> None:
        self.close_connection = True
        self.connection.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    provider: Provider


@define
class Provider:
    """The scripted provider. The last script serves every further request."""

    url: str = ""
    scripts: list[Script] = Factory(list)
    asked: list[Asked] = Factory(list)
    hung_up: threading.Event = Factory(threading.Event)
    over: threading.Event = Factory(threading.Event)

    def plays(self, *scripts: Script) -> None:
        self.scripts[:] = scripts

    def says(
        self, body: Any, status: int = 200, headers: Mapping[str, str] = {}, kind: str = "application/json"
    ) -> Script:
        """A whole body; what is no text is sent as JSON."""

        def script(handler: Handler) -> None:
            data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
            handler.begin(status, kind, headers)
            if data:
                handler.piece(data)
            handler.piece(b"")

        return script

    def streams(self, *pieces: Any, end: str = "", kind: str = "text/event-stream") -> Script:
        """Events, one piece each: a text or bytes as they are, anything else as the JSON of one event.

        `end` is "" for a proper end, "cut" for a broken connection, "hang" for silence until the test is over.
        """

        def script(handler: Handler) -> None:
            handler.begin(200, kind)
            for piece in pieces:
                if isinstance(piece, bytes):
                    handler.piece(piece)
                elif isinstance(piece, str):
                    handler.piece(piece.encode())
                else:
                    handler.piece(f"data: {json.dumps(piece)}\n\n".encode())
            if end == "cut":
                handler.cut()
                return
            while end == "hang" and not self.over.wait(0.02):
                handler.piece(b": still here\n\n" if pieces and pieces[0] == "talk" else b":\n")
            handler.piece(b"")

        return script

    def silence(self, handler: Handler) -> None:
        """Takes the request and says nothing."""
        self.over.wait(20)
        handler.cut()


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    made = Provider()
    server = _Server(("127.0.0.1", 0), Handler)
    server.provider = made
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield made
    made.over.set()
    server.shutdown()
    server.server_close()
    thread.join()
