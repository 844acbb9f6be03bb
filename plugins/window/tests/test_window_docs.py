"""The examples in the docstrings and the README hold."""

from __future__ import annotations

import doctest
import importlib
import json
import re
from pathlib import Path

import cattrs
import pytest
from refold_window.settings import WindowSettings

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.parametrize("module", ["budget", "guard", "receipts"])
def test_the_examples_in_the_docstrings_are_true(module: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(f"refold_window.{module}"))
    assert (failed, tried > 0) == (0, True)


def test_the_readme_shows_the_defaults() -> None:
    shown = json.loads(re.findall(r"```json\n(.*?)```", README.read_text(), re.DOTALL)[0])["window"]
    named = {re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", key): value for key, value in shown.items()}
    known = cattrs.unstructure(WindowSettings())
    assert named == {key: value for key, value in known.items() if value is not None}
