"""models.json, listings, the catalog, and what a model id resolves to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refold.providers import catalog
from refold.providers.listing import Listed
from refold.providers.models import Models
from refold.providers.models_file import ModelsFile, read_models
from refold.providers.provider import ProviderConfig
from refold.transcript import limits
from refold.transcript.database import Database
from refold.transcript.sessions import create
from refold.values.errors import NotFound, Refused
from refold.values.sizes import Window

LOCAL = {"protocol": "openai-chat", "baseUrl": "http://127.0.0.1:8080/v1"}
SECRET = "sk-live-0123456789abcdef"


def _write(home: Path, sections: Any) -> ModelsFile:
    (home / "models.json").write_text(sections if isinstance(sections, str) else json.dumps(sections))
    return read_models(home)


def _nothing_listed(provider: ProviderConfig) -> Sequence[Listed]:
    return ()


# The file


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    file = _write(
        tmp_path,
        {
            "providers": {"local": {**LOCAL, "keyEnv": "LOCAL_API_KEY", "count": True}},
            "models": {
                "local/small": {"window": 8192, "maxOutput": 1024, "inputs": ["text"], "imageLimits": {"maxEdge": 2000}}
            },
            "default": "local/small",
            "summarizer": {"model": "local/small", "fallbacks": ["local/other"]},
        },
    )
    assert file.faults == ()
    assert file.providers["local"] == ProviderConfig(
        "local", LOCAL["protocol"], LOCAL["baseUrl"], "LOCAL_API_KEY", True
    )
    entry = file.models["local/small"]
    assert (entry.window, entry.max_output, entry.inputs, entry.image_limits.max_edge) == (8192, 1024, ("text",), 2000)
    assert (file.default, file.summarizer.model, file.summarizer.fallbacks) == (
        "local/small",
        "local/small",
        ("local/other",),
    )


def test_a_missing_file_is_empty(tmp_path: Path) -> None:
    assert read_models(tmp_path) == ModelsFile()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"provider": {}}, "$.provider: unknown key; did you mean providers?"),
        ({"default": "nowhere"}, "$.default: a model is named provider/model"),
        ({"default": "other/x"}, "$.default: no provider that can be used is named 'other'; known: local"),
        ({"default": 3}, "$.default: is a whole number"),
        ({"models": {"local/x": {"window": 0}}}, "$.models['local/x'].window: "),
        ({"models": {"local/x": {"window": True}}}, "$.models['local/x'].window: is true or false"),
        ({"models": {"local/x": {"windows": 1}}}, "$.models['local/x'].windows: unknown key; did you mean window?"),
        (
            {"models": {"local/x": {"inputs": ["sound"]}}},
            "$.models['local/x'].inputs[0]: must be one of 'text', 'image'",
        ),
        ({"models": {"x": {}}}, "$.models['x']: a model is named provider/model"),
        ({"summarizer": {"modle": "local/x"}}, "$.summarizer.modle: unknown key; did you mean model?"),
        ({"summarizer": {"fallbacks": ["x"]}}, "$.summarizer.fallbacks: a model is named provider/model"),
        ({"providers": {"b": {"baseUrl": "http://x"}}}, "$.providers['b']: protocol must be given"),
        ({"providers": {"b/c": LOCAL}}, "$.providers['b/c']: a provider's name is not empty and has no '/'"),
        ({"providers": {"b": {**LOCAL, "protocol": "openai"}}}, "$.providers.b.protocol: must be one of openai-chat"),
        ({"providers": {"b": {**LOCAL, "baseUrl": "ftp://x"}}}, "$.providers.b.baseUrl: must be an address"),
        (
            {"providers": {"b": {**LOCAL, "baseURL": "http://x"}}},
            "$.providers.b.baseURL: unknown key; did you mean baseUrl?",
        ),
    ],
)
def test_a_fault_is_told_with_its_path(tmp_path: Path, change: dict[str, Any], fault: str) -> None:
    sections = {"providers": {"local": LOCAL}, **change}
    sections["providers"] = {"local": LOCAL, **change.get("providers", {})}
    found = _write(tmp_path, sections)
    assert [each for each in found.faults if each.startswith(fault)], found.faults
    assert "local" in found.providers  # what has no fault serves


@pytest.mark.parametrize(
    "entry",
    [
        {**LOCAL, "keyEnv": SECRET},
        {**LOCAL, "keyEnv": "AIzaSyA0123456789abcdefghij"},
        {**LOCAL, "apiKey": SECRET},
        {**LOCAL, "key": SECRET},
        {**LOCAL, "token": SECRET},
        {**LOCAL, "baseUrl": f"https://user:{SECRET}@example.org/v1"},
        {**LOCAL, "baseUrl": f"https://example.org/v1?key={SECRET}"},
    ],
)
def test_a_key_itself_is_refused_and_never_repeated(tmp_path: Path, entry: dict[str, Any]) -> None:
    file = _write(tmp_path, {"providers": {"p": entry}})
    assert "p" not in file.providers
    assert any("a key never stands in this file" in fault for fault in file.faults)
    assert not any(SECRET in fault or "AIzaSy" in fault for fault in file.faults)


def test_all_faults_are_told_at_once_and_the_good_entries_serve(tmp_path: Path) -> None:
    file = _write(
        tmp_path,
        {
            "providers": {"good": LOCAL, "bad": {"protocol": 3}},
            "models": {"good/a": {"window": 5}, "good/b": {"window": "5"}},
            "default": "good/a",
        },
    )
    assert len(file.faults) == 2
    assert (set(file.providers), set(file.models), file.default) == ({"good"}, {"good/a"}, "good/a")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1, "a": 2}', "\x00"])
def test_a_file_that_cannot_be_read_is_one_fault(tmp_path: Path, text: str) -> None:
    [fault] = _write(tmp_path, text).faults
    assert fault.startswith("models.json ")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(["providers", "models", "default", "summarizer", "x"]), _JSON))
def test_any_file_is_read_without_a_raise(tmp_path_factory: pytest.TempPathFactory, sections: Any) -> None:
    file = _write(tmp_path_factory.mktemp("home"), sections)
    assert all("\n" not in fault for fault in file.faults)


# The catalog


@pytest.mark.parametrize(
    ("name", "address", "model", "known"),
    [
        ("mine", "https://api.openai.com/v1", "gpt-4.1", True),
        ("mine", "https://api.anthropic.com", "claude-sonnet-4-5", True),
        ("mine", "https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.5", True),
        ("mine", "https://generativelanguage.googleapis.com", "models/gemini-2.5-pro", True),
        ("openai", "https://gateway.example.org/v1", "gpt-4.1", True),
        ("mine", "https://api.openai.com/v1", "claude-sonnet-4-5", False),
        ("mine", "http://127.0.0.1:8080/v1", "never-heard-of", False),
        ("mine", "https://api.openai.com/v1", "gpt-6-astra", True),
        ("mine", "https://api.openai.com/v1", "gpt-6.1-sol", True),
        ("mine", "https://api.anthropic.com", "claude-opus-5-5", True),
        ("mine", "https://api.anthropic.com", "claude-fable-5-1", True),
        ("mine", "https://api.anthropic.com", "claude-sonnet-5-5", True),
        ("mine", "https://api.anthropic.com", "claude-opus-5-5-20260901", True),
        ("mine", "https://generativelanguage.googleapis.com", "gemini-3.5-flash", True),
        ("mine", "https://generativelanguage.googleapis.com", "models/gemini-3.1-pro-preview", True),
        ("mine", "https://openrouter.ai/api/v1", "anthropic/claude-opus-5.5", True),
    ],
)
def test_the_catalog_knows_models_by_their_provider(name: str, address: str, model: str, known: bool) -> None:
    found = catalog.look_up(ProviderConfig(name, "openai-chat", address), model)
    assert (found is not None) is known
    if found is not None:
        assert found.window is not None
        assert found.window >= 100_000
        assert found.inputs is None or "text" in found.inputs


@pytest.mark.parametrize(
    ("address", "model", "reads"),
    [
        ("https://api.anthropic.com", "claude-opus-5-5", {"text", "image"}),
        ("https://api.openai.com/v1", "gpt-6-sol", {"text", "image"}),
        ("https://api.openai.com/v1", "o3-mini", {"text"}),
    ],
)
def test_the_catalog_knows_outputs_and_who_reads_pictures(address: str, model: str, reads: set[str]) -> None:
    found = catalog.look_up(ProviderConfig("mine", "openai-chat", address), model)
    assert found is not None
    assert found.inputs == reads
    assert found.max_output is not None
    assert found.window is not None
    assert found.max_output < found.window


def test_an_unknown_provider_gets_the_smallest_window_that_anyone_gives_the_model() -> None:
    here = catalog.look_up(ProviderConfig("lan", "openai-chat", "http://127.0.0.1:9/v1"), "deepseek-chat")
    there = catalog.look_up(ProviderConfig("x", "openai-chat", "https://api.deepseek.com"), "deepseek-chat")
    assert here is not None
    assert there is not None
    assert here.window is not None
    assert there.window is not None
    assert here.window <= there.window


# Resolving


def test_each_window_says_who_said_so_in_the_order_of_authority(tmp_path: Path) -> None:
    provider = {"protocol": "openai-responses", "baseUrl": "https://api.openai.com/v1"}
    _write(
        tmp_path,
        {
            "providers": {"oa": provider},
            "models": {"oa/gpt-4.1": {"window": 5000, "imageLimits": {"maxEdge": 2000, "maxImages": 9}}},
            "default": "oa/gpt-4.1",
        },
    )
    models = Models(tmp_path, lambda provider: [Listed("gpt-4.1", 6000, 700, frozenset({"text"})), Listed("other", 7)])
    found = models.resolve()
    assert found.id == "oa/gpt-4.1"
    assert found.windows[:2] == (Window(5000, "models.json"), Window(6000, "listing"))
    assert (found.windows[2].source, found.max_output) == ("catalog", 700)
    model = found.model
    assert (model.id, model.protocol, model.owner) == ("gpt-4.1", "openai-responses", "oa/-/gpt-4.1")
    assert (model.inputs, model.max_edge, model.max_images) == (frozenset({"text"}), 2000, 9)
    assert [each.id for each in models.all()] == ["oa/gpt-4.1", "oa/other"]


def test_a_model_that_the_file_does_not_list_is_taken_as_it_is_named(tmp_path: Path) -> None:
    _write(tmp_path, {"providers": {"local": LOCAL}})
    found = Models(tmp_path, _nothing_listed).resolve("local/org/very-own")
    assert (found.model.id, [window.tokens for window in found.windows]) == ("org/very-own", [None, None, None])


def test_nobody_is_asked_about_a_model_that_the_file_tells_all_about(tmp_path: Path) -> None:
    entry = {"window": 100, "maxOutput": 10, "inputs": ["text"]}
    _write(tmp_path, {"providers": {"local": LOCAL}, "models": {"local/x": entry}})
    asked = list[ProviderConfig]()

    def source(provider: ProviderConfig) -> Sequence[Listed]:
        asked.append(provider)
        return ()

    assert Models(tmp_path, source).resolve("local/x").max_output == 10
    assert asked == []


def test_what_cannot_be_resolved_says_why(tmp_path: Path) -> None:
    models = Models(tmp_path, _nothing_listed)
    with pytest.raises(Refused, match="no model is chosen"):
        models.resolve()
    _write(tmp_path, {"providers": {"local": LOCAL, "broken": {"protocol": "x"}}})
    for id in ("local", "local/", "nowhere/x", "broken/x"):
        with pytest.raises(NotFound, match=r"are local; nothing was sent; it has a fault: \$\.providers"):
            models.resolve(id)


def test_a_change_of_the_file_serves_at_once(tmp_path: Path) -> None:
    models = Models(tmp_path, _nothing_listed)
    for window in (100, 200):
        _write(tmp_path, {"providers": {"local": LOCAL}, "models": {"local/x": {"window": window}}})
        assert models.resolve("local/x").windows[0] == Window(window, "models.json")


def test_limits_that_refusals_reveal_only_fall_and_belong_to_one_model(tmp_path: Path) -> None:
    with Database(tmp_path / "refold.db") as database:
        with database.write() as writer:
            session = create(writer).id
            for tokens in (9000, 8000, 8500):
                limits.learn(writer, session, "p/m", tokens)
        with database.read() as reader:
            assert limits.learnt(reader, session, "p/m") == 8000
            assert limits.learnt(reader, session, "p/n") is None
