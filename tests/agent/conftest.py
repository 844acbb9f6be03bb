"""A model on the loopback that says what a test scripts, on every protocol, and a home whose models.json names it."""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field
from refold import Host, Session
from refold.agent.events import Event

from .wires import STREAMS, Refuse, Say, chat_whole, faults_of_chat


@define
class Model:
    """The scripted model. `script` is served in order, its last entry for every further request; an entry may be a
    function of the request's body. Requests of summarizers (those that are not streamed) have a script of their own."""

    url: str = ""
    script: list[Any] = field(factory=list)
    summaries: list[Any] = field(
        factory=lambda: [Say("They talked about part0, part1, part2, part3 and part4: what /src says each returns. ")]
    )
    count: Any = None
    asked: list[dict[str, Any]] = field(factory=list)
    summarized: list[dict[str, Any]] = field(factory=list)
    counted: list[dict[str, Any]] = field(factory=list)
    faults: list[str] = field(factory=list)
    begun: threading.Event = field(factory=threading.Event)
    hung_up: threading.Event = field(factory=threading.Event)
    over: threading.Event = field(factory=threading.Event)

    def plays(self, *script: Any) -> None:
        self.script[:] = script

    def texts(self, n: int = -1) -> list[tuple[str, str]]:
        """Role and text of the messages of the n-th chat request."""
        return [(message["role"], str(message.get("content") or "")) for message in self.asked[n]["messages"]]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *words: Any) -> None:
        pass

    @property
    def model(self) -> Model:
        model: Model = self.server.model
        return model

    def do_GET(self) -> None:
        self._whole(200, {"data": []})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._answer(body)
            return
        self.model.hung_up.set()
        self.close_connection = True

    def _answer(self, body: dict[str, Any]) -> None:
        model, path = self.model, self.path
        if "count_tokens" in path or path.endswith(("input_tokens", ":countTokens")):
            model.counted.append(body)
            self._whole(*((404, {}) if model.count is None else (200, model.count(body))))
            return
        streamed = bool(body.get("stream")) or "streamGenerateContent" in path
        (model.asked if streamed else model.summarized).append(body)
        if "messages" in body and path.endswith("chat/completions"):
            model.faults += faults_of_chat(body)
        script = model.script if streamed else model.summaries
        say = script.pop(0) if len(script) > 1 else script[0]
        say = say(body) if callable(say) else say
        if isinstance(say, Refuse):
            self._whole(say.status, say.body)
        elif streamed:
            self._stream(STREAMS[_protocol(path)](say), say.end)
        else:
            self._whole(200, chat_whole(say))

    def _whole(self, status: int, body: Any) -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, pieces: Iterator[Any], end: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            self._piece(piece if isinstance(piece, str) else _event(piece))
        self.model.begun.set()
        if end == "cut":
            self.close_connection = True
            self.connection.close()
            return
        while end == "hang" and not self.model.over.wait(0.02):
            self._piece(":\n")
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _piece(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def _event(data: dict[str, Any]) -> str:
    name = f"event: {data['type']}\n" if "type" in data else ""
    return f"{name}data: {json.dumps(data)}\n\n"


def _protocol(path: str) -> str:
    if "generateContent" in path or "streamGenerateContent" in path:
        return "gemini"
    return "openai-responses" if path.endswith("responses") else "anthropic" if "messages" in path else "openai-chat"


@contextlib.contextmanager
def serving() -> Iterator[Model]:
    model = Model()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.model = model
    model.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """The scripted model. Every Chat Completions request that it got was legal."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as made:
        yield made
    assert made.faults == []


Configure = Callable[..., None]
_INSTALLED = sorted(entry_points(group="refold.extensions").names)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def configure(home: Path, model: Model) -> Configure:
    """Writes models.json: the model as `local/m` with the protocol and the figures that are given.

    Of the extensions that this environment happens to have, only `rolling` is on.
    """

    def write(protocol: str = "openai-chat", *, count: bool = False, models: Any = None, **entry: Any) -> None:
        home.mkdir(mode=0o700, exist_ok=True)
        if not (home / "extensions.json").exists():
            (home / "extensions.json").write_text(json.dumps({"enabled": {id: id == "rolling" for id in _INSTALLED}}))
        provider = {"protocol": protocol, "baseUrl": model.url, "count": count}
        summarizer = entry.pop("summarizer", None)
        file: dict[str, Any] = {
            "providers": {"local": provider},
            "models": {"local/m": entry, **(models or {})},
            "default": "local/m",
        }
        if summarizer is not None:
            file["summarizer"] = summarizer
        (home / "models.json").write_text(json.dumps(file))

    return write


@pytest.fixture
def host(home: Path) -> Iterator[Host]:
    with Host(home) as opened:
        yield opened


@pytest.fixture
def session(host: Host, configure: Configure) -> Session:
    """A session whose model is the scripted one: 32,000 tokens of window, 1,000 of output."""
    configure(window=32_000, maxOutput=1_000)
    return host.new("s")


@pytest.fixture
def heard() -> list[Event]:
    """What `on_event=heard.append` hears."""
    return []


@pytest.fixture
def talk() -> Callable[[Session, int], None]:
    """Appends whole turns with one tool call each, about 500 tokens a turn."""

    def say(session: Session, turns: int) -> None:
        from refold import Call

        for n in range(turns):
            session.user(f"Question {n}: what does part {n} do?")
            session.assistant("let me see", [Call(f"call-{n}", "read", {"path": f"/src/part{n}.py"})])
            session.results({f"call-{n}": f"def part{n}(): return {n}  # line\n" * 40})
            session.assistant(f"Part {n} returns {n}.")

    return say


Install = Callable[..., None]
_NAMES = itertools.count()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs an extension for this test: a module with its distribution on the path."""
    made: list[str] = []

    def make(id: str, body: str, **manifest: object) -> None:
        module = f"agent_extension_{next(_NAMES)}"
        facts = tmp_path / module / f"{module}-1.0.dist-info"
        facts.mkdir(parents=True)
        words = ", ".join(f"{k}={v!r}" for k, v in {"title": id, "summary": id, "default": True, **manifest}.items())
        preamble = f"from refold import *\n@hookimpl\ndef manifest(): return Manifest(id={id!r}, {words})\n"
        (facts.parent / f"{module}.py").write_text(preamble + body)
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text(f"[refold.extensions]\n{id} = {module}\n")
        (facts / "RECORD").write_text(f"{module}.py,,\n{facts.name}/METADATA,,\n{facts.name}/entry_points.txt,,\n")
        monkeypatch.syspath_prepend(facts.parent)
        made.append(module)

    yield make
    for module in made:
        sys.modules.pop(module, None)
