"""The table of models that ships: what a script makes of kept packages, and nothing that it could not have made."""

from __future__ import annotations

import datetime
import importlib.util
import json
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from refold.providers import catalog

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("refold_catalog_script", ROOT / ".ci/catalog.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_as_the_script_writes_it(script: ModuleType) -> None:
    text = script.TABLE.read_text()
    table = json.loads(text)
    made = {
        name: {id: script.Limits(*limits) for id, limits in entry["models"].items()}
        for name, entry in table["providers"].items()
    }
    assert script.written(table["date"], table["sources"], made) == text


def test_the_table_says_its_sources_and_when_it_was_made(script: ModuleType) -> None:
    assert tuple(catalog.origin().sources) == script.SOURCES
    assert datetime.date.fromisoformat(catalog.origin().date).year >= 2026


def test_every_entry_is_a_window_and_a_smaller_output(script: ModuleType) -> None:
    providers = json.loads(script.TABLE.read_text())["providers"]
    hosts = [host for entry in providers.values() for host in entry["hosts"]]
    assert len(hosts) == len(set(hosts))
    for entry in providers.values():
        for window, output, inputs in entry["models"].values():
            assert window > 0
            assert output is None or 0 < output < window
            assert inputs in (None, "text", "text image")


def wheel(path: Path, **files: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/", 1) + (".json" if text.startswith("{") else ".py"), text)
    return path


def test_the_script_takes_chat_models_and_of_two_entries_the_smaller_window(script: ModuleType, tmp_path: Path) -> None:
    def entry(provider: str, window: int, output: int, **more: Any) -> dict[str, Any]:
        sizes = {"max_input_tokens": window, "max_output_tokens": output}
        return {"litellm_provider": provider, "mode": "chat", **sizes, **more}

    first = {
        "gemini/one": entry("gemini", 2000, 100, supports_vision=True),
        "one": entry("gemini", 1000, 100, supports_vision=True),
        "gemini/two": entry("gemini", 500, 500),
        "gemini/drawer": entry("gemini", 500, 50, mode="image_generation"),
        "gemini/unknown": {"litellm_provider": "gemini", "mode": "chat"},
    }
    second = """providers: list[Provider] = [
        Provider(id='google', models=[ModelInfo(id='one', context_window=9), ModelInfo(id='three', context_window=8)]),
        Provider(id='other', models=[ModelInfo(id='two')]),
    ]"""
    found = script.table(
        script._litellm(wheel(tmp_path / "a", litellm__model_prices_and_context_window_backup=json.dumps(first))),
        script._genai_prices(wheel(tmp_path / "b", genai_prices__data=second)),
    )
    assert found["google"] == {
        "one": (1000, 100, "text image"),
        "two": (500, None, "text"),
        "three": (8, None, None),
    }
    assert found["openai"] == {}
