"""A provider on the loopback that works through files, counts what it is sent, and refuses what exceeds its window."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from attrs import define, field

BYTES_PER_TOKEN = 3.6
"""How this provider counts: it is not how refold estimates."""


@define
class Provider:
    """It answers `steps` requests with `calls` parallel reads each, then with words. `window` is in its own tokens;
    `bodies` are the requests that it answered, `refused` counts those that it did not. `keeps`: it asks that the first
    result of each step stays."""

    window: int
    steps: int
    calls: int
    keeps: bool = False
    url: str = ""
    bodies: list[dict[str, Any]] = field(factory=list)
    sizes: list[int] = field(factory=list)
    refused: int = 0

    def answer(self, body: dict[str, Any]) -> tuple[int, str]:
        size = int(len(json.dumps(body["messages"], ensure_ascii=False).encode()) / BYTES_PER_TOKEN)
        if size > self.window:
            self.refused += 1
            words = (
                f"This model's maximum context length is {self.window} tokens. However, your messages resulted in "
                f"{size} tokens."
            )
            return 400, json.dumps({"error": {"message": words, "code": "context_length_exceeded"}})
        step = len(self.bodies)
        self.bodies.append(body)
        self.sizes.append(size)
        return 200, "".join(f"data: {json.dumps(piece)}\n\n" for piece in self._pieces(step, size)) + "data: [DONE]\n\n"

    def _pieces(self, step: int, size: int) -> Iterator[dict[str, Any]]:
        going = step < self.steps
        for n in range(self.calls if going else 0):
            keep = {"keep": True} if self.keeps and n == 0 else {}
            arguments = json.dumps({"path": f"src/part_{step}/file_{n}.py", **keep})
            function = {"name": "read", "arguments": arguments}
            call = {"index": n, "id": f"call-{step}-{n}", "type": "function", "function": function}
            yield {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
        if not going:
            yield {"choices": [{"index": 0, "delta": {"content": "All files are in order."}}]}
        yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if going else "stop"}]}
        yield {"choices": [], "usage": {"prompt_tokens": size, "completion_tokens": 20}}


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *words: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send(200, "application/json", '{"data": []}')

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not self.path.endswith("chat/completions"):
            self._send(404, "application/json", "{}")
            return
        provider: Provider = self.server.provider
        status, text = provider.answer(body)
        self._send(status, "text/event-stream" if status == 200 else "application/json", text)

    def _send(self, status: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextlib.contextmanager
def serving(provider: Provider) -> Iterator[Provider]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.provider = provider
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
