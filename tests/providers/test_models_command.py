"""`refold models` as a program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .asking import KEY

FILE = {
    "providers": {"local": {"protocol": "openai-chat", "baseUrl": ""}},
    "models": {"local/small": {"window": 8192, "maxOutput": 1024, "inputs": ["text"], "imageLimits": {"maxImages": 2}}},
    "default": "local/small",
}


def _models(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "refold", "models", "--home", str(home), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def _write(home: Path, address: str, **more: Any) -> None:
    FILE["providers"]["local"]["baseUrl"] = address
    (home / "models.json").write_text(json.dumps({**FILE, **more}))


def test_models_lists_what_the_file_and_the_provider_say(tmp_path: Path, provider: Any) -> None:
    listing = {"data": [{"id": "small", "max_model_len": 4096}, {"id": "large", "max_model_len": 32768}, {"id": "odd"}]}
    provider.plays(provider.says(listing))
    _write(tmp_path, f"{provider.url}/v1")
    done = _models(tmp_path, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    nothing = {"max_output": None, "inputs": None, "image_limits": None}
    shown = json.loads(done.stdout)
    assert set(shown) == {"models", "catalog"}
    assert shown["models"] == [
        {"id": "local/large", "window": 32768, "window_source": "listing", **nothing},
        {"id": "local/odd", "window": None, "window_source": None, **nothing},
        {
            "id": "local/small",
            "window": 8192,
            "window_source": "models.json",
            "max_output": 1024,
            "inputs": ["text"],
            "image_limits": {"max_edge": None, "max_images": 2},
        },
    ]
    table = _models(tmp_path)
    assert table.returncode == 0
    assert "local/large" in table.stdout
    assert "32,768" in table.stdout
    assert f"catalog: {shown['catalog']['date']}, made from litellm" in table.stdout
    assert len(provider.asked) == 1  # the second program believes the first one's reading


def test_models_names_the_faults_of_the_file_and_lists_the_rest(tmp_path: Path, provider: Any) -> None:
    provider.plays(provider.says("no", 404))
    _write(tmp_path, f"{provider.url}/v1", defualt="local/small")
    done = _models(tmp_path, "--json")
    assert done.returncode == 0
    assert "refold: models.json: $.defualt: unknown key; did you mean default?" in done.stderr
    assert [each["id"] for each in json.loads(done.stdout)["models"]] == ["local/small"]


def test_models_without_a_file_says_where_it_belongs(tmp_path: Path) -> None:
    assert json.loads(_models(tmp_path, "--json").stdout)["models"] == []
    assert "models.json" in _models(tmp_path).stderr


def test_a_listing_that_quotes_the_key_is_stored_and_shown_without_it(
    tmp_path: Path, provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECHOED_KEY", KEY)
    provider.plays(provider.says({"data": [{"id": f"m-{KEY}", "max_model_len": 4096}]}))
    local = {"protocol": "openai-chat", "baseUrl": provider.url, "keyEnv": "ECHOED_KEY"}
    (tmp_path / "models.json").write_text(json.dumps({"providers": {"local": local}}))
    done = _models(tmp_path, "--json")
    assert [each["id"] for each in json.loads(done.stdout)["models"]] == ["local/m-[key]"]
    assert KEY not in done.stdout + done.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY in path.read_text()]
