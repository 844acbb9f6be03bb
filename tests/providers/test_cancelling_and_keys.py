"""The client against a real server: how a request is stopped, and where the key goes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from refold.providers.client import Client
from refold.providers.exchange import TextDelta
from refold.providers.failures import Cancelled, ProviderError
from refold.providers.lines import Patience
from refold.providers.provider import ProviderConfig, owner
from refold.values.errors import Refused

from .asking import DONE, HELLO, KEY, QUICK, config_of, everything, no_images, request_for


@pytest.fixture
def client(provider: Any) -> Iterator[Client]:
    with Client(config_of(provider), QUICK) as made:
        yield made


def test_cancelling_a_silent_provider_closes_the_connection_at_once(provider: Any, client: Client) -> None:
    provider.plays(provider.silence)
    until = time.monotonic() + 0.2
    began = time.monotonic()
    with pytest.raises(Cancelled):
        everything(client, cancelled=lambda: time.monotonic() > until)
    assert time.monotonic() - began < 1
    assert len(provider.asked) == 1


def test_cancelling_inside_a_stream_closes_the_connection(provider: Any, client: Client) -> None:
    provider.plays(provider.streams(HELLO[0], end="hang"))
    stop = threading.Event()
    pieces = client.stream(request_for(), no_images, cancelled=stop.is_set)
    assert next(pieces) == TextDelta("Hel")
    stop.set()
    with pytest.raises(Cancelled) as caught:
        next(pieces)
    assert caught.value.streamed
    assert provider.hung_up.wait(2)


def test_ending_the_iteration_closes_the_connection(provider: Any, client: Client) -> None:
    provider.plays(provider.streams(HELLO[0], end="hang"))
    pieces = client.stream(request_for(), no_images)
    next(pieces)
    pieces.close()
    assert provider.hung_up.wait(2)


def test_cancelling_ends_a_wait_between_two_tries(provider: Any) -> None:
    provider.plays(provider.says("later", 503))
    until = time.monotonic() + 0.2
    with Client(config_of(provider), Patience(first_wait=30.0)) as client, pytest.raises(Cancelled):
        everything(client, cancelled=lambda: time.monotonic() > until)
    assert time.monotonic() - until < 1


def test_nothing_is_sent_when_it_is_cancelled_before(provider: Any, client: Client) -> None:
    with pytest.raises(Cancelled):
        everything(client, cancelled=lambda: True)
    assert provider.asked == []


def test_a_client_serves_again_after_a_cancelledrequest_for(provider: Any, client: Client) -> None:
    provider.plays(provider.silence, provider.streams(*HELLO, DONE))
    until = time.monotonic() + 0.1
    with pytest.raises(Cancelled):
        everything(client, cancelled=lambda: time.monotonic() > until)
    assert everything(client)[1].text == "Hello"


# The key


@pytest.mark.parametrize(
    ("protocol", "header", "value"),
    [
        ("openai-chat", "authorization", f"Bearer {KEY}"),
        ("openai-responses", "authorization", f"Bearer {KEY}"),
        ("anthropic", "x-api-key", KEY),
        ("gemini", "x-goog-api-key", KEY),
    ],
)
def test_the_key_is_read_when_it_is_needed_and_goes_into_one_header(
    provider: Any, monkeypatch: pytest.MonkeyPatch, protocol: str, header: str, value: str
) -> None:
    provider.plays(provider.says("no", 400))
    config = config_of(provider, protocol, key_env="TEST_PROVIDER_KEY")
    with Client(config, QUICK) as client:
        with pytest.raises(Refused, match="TEST_PROVIDER_KEY"):
            client.ask(request_for(protocol), no_images)
        monkeypatch.setenv("TEST_PROVIDER_KEY", KEY)
        with pytest.raises(ProviderError):
            client.ask(request_for(protocol), no_images)
    [asked] = provider.asked
    assert asked.headers[header] == value
    assert KEY not in asked.path
    assert KEY not in str(asked.body)


def test_no_error_or_log_holds_the_key(
    provider: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("TEST_PROVIDER_KEY", KEY)
    config = config_of(provider, key_env="TEST_PROVIDER_KEY")
    provider.plays(
        provider.says({"error": {"message": f"Incorrect API key provided: {KEY}"}}, 401),
        provider.streams({"error": {"message": f"bad {KEY}"}}),
        provider.says(f"{{broken {KEY}"),
    )
    with Client(config, QUICK) as client:
        for _ in range(3):
            with pytest.raises(ProviderError) as caught:
                everything(client)
            shown = (
                f"{caught.value!r} {caught.value} {caught.value.refusal} {caught.value.__cause__} {client!r} {config}"
            )
            assert KEY not in shown
            assert "[key]" in shown
    assert KEY not in caplog.text


def test_a_key_that_no_header_can_hold_is_refused_without_being_told(
    provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_PROVIDER_KEY", "sk-a\nb")
    with Client(config_of(provider, key_env="TEST_PROVIDER_KEY"), QUICK) as client, pytest.raises(Refused) as caught:
        client.ask(request_for(), no_images)
    assert "sk-a" not in str(caught.value)


def test_the_owner_of_opaque_items_tells_accounts_apart_and_holds_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    config = ProviderConfig("p", "anthropic", "https://api.anthropic.com", "TEST_PROVIDER_KEY")
    names = set()
    for key in ("", "first-key", "second-key"):
        monkeypatch.setenv("TEST_PROVIDER_KEY", key)
        names.add(owner(config, "a/b"))
        assert not key or key not in owner(config, "a/b")
    assert len(names) == 3
