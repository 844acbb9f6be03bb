"""What servers list of their models, and how long a listing is trusted."""

from __future__ import annotations

import json
import stat
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refold.providers.client import Client
from refold.providers.failures import ProviderError
from refold.providers.listing import Listed, read_listing
from refold.providers.listings import AGAIN, TRUSTED, Listings
from refold.providers.models import Models
from refold.providers.models_file import ModelsFile, read_models
from refold.providers.provider import ProviderConfig
from refold.providers.refusals import Refusal

LOCAL = {"protocol": "openai-chat", "baseUrl": "http://127.0.0.1:8080/v1"}
SECRET = "sk-live-0123456789abcdef"


def _write(home: Path, sections: Any) -> ModelsFile:
    (home / "models.json").write_text(sections if isinstance(sections, str) else json.dumps(sections))
    return read_models(home)


def _nothing_listed(provider: ProviderConfig) -> Sequence[Listed]:
    return ()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("server", "body", "expected"),
    [
        ("OpenAI", {"data": [{"id": "m", "object": "model"}]}, Listed("m")),
        (
            "Anthropic",
            {
                "data": [
                    {
                        "id": "m",
                        "max_input_tokens": 200,
                        "max_tokens": 64,
                        "capabilities": {"image_input": {"supported": True}},
                    }
                ]
            },
            Listed("m", 200, 64, frozenset({"text", "image"})),
        ),
        (
            "Gemini",
            {"models": [{"name": "models/m", "inputTokenLimit": 200, "outputTokenLimit": 64}]},
            Listed("m", 200, 64),
        ),
        (
            "OpenRouter",
            {
                "data": [
                    {
                        "id": "a/m",
                        "context_length": 300,
                        "top_provider": {"context_length": 200, "max_completion_tokens": 64},
                        "architecture": {"input_modalities": ["text", "image", "file"]},
                    }
                ]
            },
            Listed("a/m", 200, 64, frozenset({"text", "image"})),
        ),
        ("vLLM", {"data": [{"id": "m", "max_model_len": 200}]}, Listed("m", 200)),
        ("llama.cpp", {"data": [{"id": "m", "meta": {"n_ctx": 200, "n_ctx_train": 900}}]}, Listed("m", 200)),
        (
            "LM Studio",
            {
                "data": [
                    {
                        "id": "m",
                        "type": "vlm",
                        "state": "loaded",
                        "loaded_context_length": 200,
                        "max_context_length": 900,
                    }
                ]
            },
            Listed("m", 200, None, frozenset({"text", "image"})),
        ),
        (
            "LM Studio, not loaded",
            {"data": [{"id": "m", "type": "llm", "state": "not-loaded", "max_context_length": 900}]},
            Listed("m", None, None, frozenset({"text"})),
        ),
        ("Ollama", {"models": [{"name": "m", "model": "m", "context_length": 200}]}, Listed("m", 200)),
        ("Groq", {"data": [{"id": "m", "context_window": 200, "max_completion_tokens": 64}]}, Listed("m", 200, 64)),
        (
            "Mistral",
            {"data": [{"id": "m", "max_context_length": 200, "capabilities": {"vision": False}}]},
            Listed("m", 200, None, frozenset({"text"})),
        ),
        (
            "Copilot",
            {
                "data": [
                    {
                        "id": "m",
                        "capabilities": {
                            "limits": {
                                "max_context_window_tokens": 400,
                                "max_prompt_tokens": 128,
                                "max_output_tokens": 64,
                                "vision": {"max_prompt_images": 1},
                            },
                            "supports": {"vision": True},
                        },
                    }
                ]
            },
            Listed("m", 128, 64, frozenset({"text", "image"}), 1),
        ),
        ("Kimi", {"data": [{"id": "m", "context_length": 200}]}, Listed("m", 200)),
    ],
)
def test_every_servers_listing_is_read(server: str, body: Any, expected: Listed) -> None:
    assert read_listing(body) == (expected,)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(["data", "models", "id"]), _JSON))
def test_any_listing_is_read_without_a_raise(body: Any) -> None:
    assert all(listed.id for listed in read_listing(body))


@pytest.mark.parametrize(
    ("protocol", "path"),
    [
        ("openai-chat", "/v1/models"),
        ("openai-responses", "/v1/models"),
        ("anthropic", "/v1/models?limit=1000"),
        ("gemini", "/v1beta/models?pageSize=1000"),
    ],
)
def test_a_provider_is_asked_for_its_listing(provider: Any, protocol: str, path: str) -> None:
    provider.plays(provider.says({"data": [{"id": "m", "max_model_len": 4096}]}))
    with Client(ProviderConfig("p", protocol, provider.url)) as client:
        assert client.models() == (Listed("m", 4096),)
    assert [asked.path for asked in provider.asked] == [path]


def test_a_local_server_without_windows_is_asked_what_it_has_loaded(provider: Any) -> None:
    provider.plays(
        provider.says({"data": [{"id": "m"}, {"id": "n"}]}),
        provider.says("no", 404),
        provider.says({"models": [{"name": "m", "context_length": 2048}]}),
    )
    with Client(ProviderConfig("p", "openai-chat", provider.url + "/v1")) as client:
        assert client.models() == (Listed("m", 2048), Listed("n"))
    assert [asked.path for asked in provider.asked] == ["/v1/models", "/api/v0/models", "/api/ps"]


class _Source:
    """Counts how often it is asked."""

    def __init__(self, answer: Callable[[], Sequence[Listed]]) -> None:
        self.answer, self.asked = answer, 0

    def __call__(self, provider: ProviderConfig) -> Sequence[Listed]:
        self.asked += 1
        return self.answer()


CONFIG = ProviderConfig("p", "openai-chat", "http://127.0.0.1:1/v1")


def _fails() -> Sequence[Listed]:
    raise ProviderError("no", Refusal("other"))


def test_a_listing_is_trusted_for_an_hour_across_processes(tmp_path: Path) -> None:
    clock = [1_000_000.0]
    listed = Listed("m", 200, 64, frozenset({"text"}), 3)
    source = _Source(lambda: [listed])
    for _ in range(2):  # a second process reads what the first one kept
        listings = Listings(tmp_path, source, lambda: clock[0])
        assert listings.models(CONFIG) == {"m": listed}
    assert source.asked == 1
    clock[0] += TRUSTED
    assert Listings(tmp_path, source, lambda: clock[0]).models(CONFIG) == {"m": listed}
    assert source.asked == 2
    assert stat.S_IMODE((tmp_path / "listings.json").stat().st_mode) == 0o600


def test_a_listing_that_failed_is_tried_again_after_five_minutes_and_the_last_one_serves(tmp_path: Path) -> None:
    clock = [1_000_000.0]
    answers: list[Callable[[], Sequence[Listed]]] = [lambda: [Listed("m", 200)]]
    source = _Source(lambda: answers[0]())
    listings = Listings(tmp_path, source, lambda: clock[0])
    listings.models(CONFIG)
    clock[0], answers[0] = clock[0] + TRUSTED, _fails
    for wait, asked in ((0, 2), (AGAIN - 1, 2), (1, 3)):
        clock[0] += wait
        assert listings.models(CONFIG) == {"m": Listed("m", 200)}
        assert source.asked == asked


def test_nobody_waits_long_for_a_listing(tmp_path: Path) -> None:
    go = threading.Event()

    def late() -> Sequence[Listed]:
        go.wait(10)
        return [Listed("m", 200)]

    source = _Source(late)
    listings = Listings(tmp_path, source, wait=0.2)
    began = time.monotonic()
    assert listings.models(CONFIG) == {}
    assert listings.models(CONFIG) == {}  # the wait counts from when the reading began
    assert time.monotonic() - began < 1
    go.set()
    until = time.monotonic() + 5
    while not listings.models(CONFIG) and time.monotonic() < until:
        time.sleep(0.01)
    assert listings.models(CONFIG) == {"m": Listed("m", 200)}
    assert source.asked == 1


def test_a_listing_of_another_address_or_a_broken_file_is_not_believed(tmp_path: Path) -> None:
    Listings(tmp_path, _Source(lambda: [Listed("m", 200)])).models(CONFIG)
    moved = ProviderConfig("p", "openai-chat", "http://127.0.0.1:2/v1")
    assert Listings(tmp_path, _Source(_fails)).models(moved) == {}
    (tmp_path / "listings.json").write_text("{broken")
    source = _Source(lambda: [Listed("n", 1)])
    for _ in range(2):  # it is written anew
        assert Listings(tmp_path, source).models(CONFIG) == {"n": Listed("n", 1)}
    assert source.asked == 1


def test_listings_of_several_providers_are_read_at_the_same_time(tmp_path: Path) -> None:
    together = threading.Barrier(3, timeout=5)

    def waits_for_the_others(provider: ProviderConfig) -> Sequence[Listed]:
        together.wait()
        return [Listed("m", 200, 20, frozenset({"text"}))]

    _write(tmp_path, {"providers": dict.fromkeys("abc", LOCAL)})
    assert [each.id for each in Models(tmp_path, waits_for_the_others).all()] == ["a/m", "b/m", "c/m"]
