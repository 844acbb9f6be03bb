"""A strict Claude on the loopback: Anthropic Messages with thinking that is bound to what it was made behind.

Each answer begins with thinking whose signature covers the system prompt, the tools and the messages in front of it as
they came, and the thinking before it. Every request is checked against the signatures that it carries, as the provider
documents it: a block is refused when anything in front of it differs (cache marks aside), when thinking between two
blocks is missing, and when thinking is back that was gone when a later block was made. A leading run of blocks, or all
of them, may stay out. What breaks the protocol's rules of order is refused as well.

    with serving() as claude:
        claude.plays(lambda body: Reply("done"))
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from attrs import define, field, frozen

Body = dict[str, Any]

ACCOUNT = "They talked about part0, part1, part2, part3 and part4: what /src says each returns."
THINKING = ("thinking", "redacted_thinking")
BOUND = (
    "messages.{}.content.{}: Invalid `signature` in `thinking` block. The block is bound to a different conversation."
    ' Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting'
    " requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
)


@frozen
class Reply:
    """One answer: words, calls (id, name, arguments), why it ends. Blank `thinking`: it does not think."""

    text: str = ""
    calls: tuple[tuple[str, str, Any], ...] = ()
    stop: str = "end_turn"
    thinking: str = "let me see"
    usage: tuple[int, int] | None = None


class Refused(Exception):
    """The 400 that the server answers; a script may raise it too."""


@define
class Claude:
    """The server. `script` answers a body; `window` is tokens (bytes by four), beyond which a request is too long.

    `answered` are the bodies of streamed requests that were served, `whole` those that were not streamed (summarizers),
    `counted` those of count requests, `refused` pairs a body with the words of its refusal.
    """

    url: str = ""
    script: Callable[[Body], Reply] = lambda body: Reply("Fine.")
    summary: Callable[[Body], Reply] = lambda body: Reply(ACCOUNT, thinking="")
    window: int | None = None
    answered: list[Body] = field(factory=list)
    whole: list[Body] = field(factory=list)
    counted: list[Body] = field(factory=list)
    refused: list[tuple[Body, str]] = field(factory=list)
    lock: threading.Lock = field(factory=threading.Lock)
    _secret: bytes = b"first"

    def plays(self, script: Callable[[Body], Reply]) -> None:
        self.script = script

    def forgets(self) -> None:
        """No signature that was given out so far is taken any more."""
        self._secret += b"+"

    def take(self, body: Body) -> Body:
        """The answer to a body as a whole message. Raises Refused."""
        with self.lock:
            streamed = bool(body.get("stream"))
            try:
                self._check(body)
                reply = (self.script if streamed else self.summary)(body)
            except Refused as refusal:
                self.refused.append((body, str(refusal)))
                raise
            (self.answered if streamed else self.whole).append(body)
            return self._message(body, reply)

    def count(self, body: Body) -> int:
        self.counted.append(body)
        try:
            self._check(body)
        except Refused as refusal:
            self.refused.append((body, str(refusal)))
            raise
        return tokens(body)

    def _check(self, body: Body) -> None:
        fault = next(faults(body), None) or next(self._mismatches(body), None)
        if fault:
            raise Refused(fault)
        if self.window is not None and tokens(body) > self.window:
            raise Refused(f"prompt is too long: {tokens(body)} tokens > {self.window} maximum")

    def _mismatches(self, body: Body) -> Iterator[str]:
        before = ""
        for at, message in enumerate(body["messages"]):
            for place, block in enumerate(blocks(message)):
                if block["type"] not in THINKING:
                    continue
                front = digest(body, at, place)
                sealed = self._opened(block["signature"])
                said = short(block["thinking"])
                if (
                    sealed is None
                    or sealed[:3] != [body["model"], front, said]
                    or (before and sealed[3] != short(before))
                ):
                    yield BOUND.format(at, place)
                before = block["signature"]

    def _message(self, body: Body, reply: Reply) -> Body:
        content: list[Body] = []
        if reply.thinking:
            content.append({"type": "thinking", "thinking": reply.thinking, "signature": self._sealed(body, reply)})
        if reply.text:
            content.append({"type": "text", "text": reply.text})
        content += [{"type": "tool_use", "id": id, "name": name, "input": given} for id, name, given in reply.calls]
        stop = "tool_use" if reply.calls and reply.stop == "end_turn" else reply.stop
        given, written = reply.usage or (tokens(body), 20)
        usage = {"input_tokens": given, "output_tokens": written}
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": stop,
            "usage": usage,
        }

    def _sealed(self, body: Body, reply: Reply) -> str:
        before = (signatures(body) or [""])[-1]
        seal = [body["model"], digest(body, len(body["messages"])), short(reply.thinking), short(before)]
        text = json.dumps(seal, separators=(",", ":")).encode()
        return base64.b64encode(hmac.digest(self._secret, text, "sha256")[:8] + text).decode()

    def _opened(self, signature: str) -> list[str] | None:
        raw = base64.b64decode(signature)
        mark, text = raw[:8], raw[8:]
        if mark != hmac.digest(self._secret, text, "sha256")[:8]:
            return None
        opened: list[str] = json.loads(text)
        return opened


def blocks(message: Body) -> list[Body]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def signatures(body: Body) -> list[str]:
    """Of the thinking that a request carries, oldest first."""
    return [
        block["signature"] for message in body["messages"] for block in blocks(message) if block["type"] in THINKING
    ]


def tokens(body: Body) -> int:
    return len(json.dumps([body.get("system"), body.get("tools"), body["messages"]])) // 4


def bare(value: Any) -> Any:
    """A part of a request without thinking and cache marks."""
    if isinstance(value, list):
        return [bare(each) for each in value if not (isinstance(each, dict) and each.get("type") in THINKING)]
    if isinstance(value, dict):
        return {key: bare(each) for key, each in value.items() if key != "cache_control"}
    return value


def digest(body: Body, messages: int, place: int = 0) -> str:
    """Of what stands in front of a block: so many messages, and so many blocks of the next one."""
    begun = [bare(blocks(message)[:place]) for message in body["messages"][messages : messages + 1]]
    front = [body.get("system"), body.get("tools"), body["messages"][:messages]]
    return short(json.dumps([bare(front), *filter(None, begun)], sort_keys=True))


def short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def faults(body: Body) -> Iterator[str]:
    """What breaks the protocol's rules of order."""
    open_calls: list[str] = []
    for at, message in enumerate(body["messages"]):
        role, content = message["role"], blocks(message)
        if role != ("user", "assistant")[at % 2]:
            yield f"messages.{at}: roles must alternate"
        if not content:
            yield f"messages.{at}: all messages must have non-empty content"
        results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        if sorted(results) != sorted(open_calls):
            yield f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after"
        open_calls = [block["id"] for block in content if block["type"] == "tool_use"]
        if open_calls and not body.get("tools"):
            yield "tools: must be defined"
        if any(block["type"] == "text" and not block["text"].strip() for block in content):
            yield f"messages.{at}: text content blocks must contain non-whitespace text"
        kinds = [block["type"] in THINKING for block in content]
        if kinds != sorted(kinds, reverse=True) or (all(kinds) and kinds):
            yield f"messages.{at}: thinking must stand in front of the answer that it belongs to"
    if open_calls or body["messages"][-1]["role"] != "user":
        yield "This model does not support assistant message prefill. The conversation must end with a user message."


def extends(before: Body, after: Body) -> bool:
    """Whether a request begins with what another one held, so that the prompt cache serves it."""
    first, then = bare_of_marks(before), bare_of_marks(after)
    if (first.get("system"), first.get("tools")) != (then.get("system"), then.get("tools")):
        return False
    *whole, last = first["messages"]
    if whole != then["messages"][: len(whole)] or len(then["messages"]) < len(first["messages"]):
        return False
    return bool(blocks(then["messages"][len(whole)])[: len(blocks(last))] == blocks(last))


def bare_of_marks(value: Any) -> Any:
    if isinstance(value, list):
        return [bare_of_marks(each) for each in value]
    if isinstance(value, dict):
        return {key: bare_of_marks(each) for key, each in value.items() if key != "cache_control"}
    return value


def events(message: Body) -> Iterator[Body]:
    """A message as it is streamed."""
    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        if block["type"] == "thinking":
            opening = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        elif block["type"] == "text":
            opening, deltas = {"type": "text", "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        else:
            opening = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        yield {"type": "content_block_start", "index": index, "content_block": opening}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    written = {"output_tokens": message["usage"]["output_tokens"]}
    yield {"type": "message_delta", "delta": {"stop_reason": message["stop_reason"]}, "usage": written}
    yield {"type": "message_stop"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *words: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send(200, {"data": []})

    def do_POST(self) -> None:
        claude: Claude = self.server.claude
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            try:
                if self.path.endswith("count_tokens"):
                    self._send(200, {"input_tokens": claude.count(body)})
                    return
                message = claude.take(body)
            except Refused as refusal:
                error = {"type": "invalid_request_error", "message": str(refusal)}
                self._send(400, {"type": "error", "error": error})
                return
            if not body.get("stream"):
                self._send(200, message)
                return
            stream = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events(message))
            self._send(200, stream, "text/event-stream")

    def _send(self, status: int, body: Any, kind: str = "application/json") -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextlib.contextmanager
def serving() -> Iterator[Claude]:
    claude = Claude()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.claude = claude
    claude.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield claude
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
