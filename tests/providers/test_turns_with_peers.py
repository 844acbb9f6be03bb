"""Turns against servers that others wrote: a real llama.cpp, and a mock that refuses in the vendors' own words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from refold import Host, Session
from refold.agent import events
from refold.agent.tools import HostTool

from .peers import llama_server, mock_server

SERVED = 2_048


@pytest.fixture(scope="module")
def llama() -> Iterator[str]:
    """A llama.cpp server with a tiny random model and a window of 2,048 tokens, one a byte."""
    with llama_server(SERVED) as address:
        yield address


def home_of(path: Path, protocol: str, url: str, model: str, **entry: Any) -> Path:
    path.mkdir(mode=0o700)
    provider = {"protocol": protocol, "baseUrl": url}
    if "key" in entry:
        provider["keyEnv"] = entry.pop("key")
    count = entry.pop("count", False)
    id = f"peer/{model}"
    file = {"providers": {"peer": {**provider, "count": count}}, "models": {id: entry}, "default": id}
    (path / "models.json").write_text(json.dumps(file))
    return path


def fill(session: Session, turns: int, text: str) -> None:
    for n in range(turns):
        session.user(f"Question {n}?")
        session.assistant(f"{n}: {text}")


class Brief:
    """A summarizer that costs no model: the one under test writes noise."""

    name, window = "brief", None

    def complete(self, prompt: Any, limit: int, deadline: Any) -> Any:
        from refold.summarize.reply import Reply

        return Reply("They asked and were answered.", "end", "brief", copied=True)


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic"])
def test_llama_cpp_that_serves_less_than_configured_is_recovered(llama: str, tmp_path: Path, protocol: str) -> None:
    heard = list[Any]()
    home = home_of(tmp_path / "home", protocol, llama, "tiny", window=100_000, maxOutput=16)
    with Host(home, summarizers=[Brief()]) as host:
        session = host.new("s")
        fill(session, 12, "so many words that say nothing new at all. " * 6)
        finished = session.send("And now?", on_event=heard.append)
        assert finished.stop in ("end", "length")
        booked = session.requests()
        assert [each.outcome for each in booked][:2] == ["too_large", "ok"]
        assert booked[0].tokens is not None  # what the real server counted
        assert booked[0].tokens > SERVED >= (booked[1].tokens or 0) > 0
        shown = session.context()
        assert (shown["context_window_tokens"], shown["context_window_source"]) == (SERVED, f"refused at {SERVED:,}")
        assert any(isinstance(event, events.UsageChanged) and event.source == "reported_usage" for event in heard)
        asked = len(booked)
        assert session.send("Again?").stop in ("end", "length")
        assert [each.outcome for each in session.requests()[asked:]][-1] == "ok"


def test_llama_cpp_counts_a_request_before_it_is_sent(llama: str, tmp_path: Path) -> None:
    home = home_of(tmp_path / "home", "anthropic", llama, "tiny", window=SERVED, maxOutput=8, count=True)
    with Host(home, summarizers=[Brief()]) as host:
        session = host.new("s")
        session.send("Hello there")
        compaction = session.context()["compaction"]
        assert compaction["size_source"] == "count_endpoint"
        assert 0 < compaction["counted_tokens"] <= compaction["provider_input_tokens"]  # its count leaves tools out


# A mock with vendors' own refusals


@pytest.fixture(scope="module")
def mock() -> Iterator[str]:
    with mock_server(1_500) as address:
        yield address


WIRES = [
    ("openai-chat", "/v1", "gpt-4o"),
    ("openai-responses", "/v1", "gpt-4o"),
    ("anthropic", "/anthropic", "claude-sonnet-4-5"),
    ("gemini", "/gemini/v1beta", "gemini-2.5-flash"),
]


@pytest.mark.parametrize(("protocol", "path", "model"), WIRES, ids=[wire[0] for wire in WIRES])
def test_a_refusal_in_the_vendors_words_is_recovered_on_every_protocol(
    mock: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str, path: str, model: str
) -> None:
    monkeypatch.setenv("MOCK_KEY", "mock-key-0123456789")
    home = home_of(tmp_path / "home", protocol, mock + path, model, window=100_000, maxOutput=64, key="MOCK_KEY")
    with Host(home, summarizers=[Brief()]) as host:
        session = host.new("s")
        fill(session, 30, "so many words that say nothing new at all. " * 8)
        assert session.send("And now?").text
        outcomes = [each.outcome for each in session.requests()]
        assert outcomes[:2] == ["too_large", "ok"]
        assert set(outcomes[1:]) == {"ok"}  # the mock calls any tool that is offered
        assert session.record.compactions


@pytest.mark.parametrize(("protocol", "path", "model"), WIRES, ids=[wire[0] for wire in WIRES])
def test_the_mock_gets_the_results_of_the_tools_that_it_calls(
    mock: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str, path: str, model: str
) -> None:
    monkeypatch.setenv("MOCK_KEY", "mock-key-0123456789")
    home = home_of(tmp_path / "home", protocol, mock + path, model, window=100_000, maxOutput=64, key="MOCK_KEY")
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    (home / "extensions.json").write_text('{"compaction": {"enable": false}}')
    with Host(home) as host:
        session = host.new("s")
        session.tools = (
            HostTool("weather", "The weather in a city.", schema, lambda given: f"rain in {given['city']}"),
        )
        assert session.send("What is the weather in Oslo?").stop == "end"
        assert next(row.text for row in session.rows() if row.kind == "result").startswith("rain in ")
