"""The examples in the docstrings of sizes and codecs are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "sizing.estimate",
    "sizing.families",
    "sizing.images",
    "sizing.learnt",
    "sizing.sizer",
    "providers.identifiers",
    "providers.protocols",
    "values.json_text",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(f"refold.{name}"))
    assert tried > 0
    assert failed == 0
