"""The examples in docstrings hold."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = [
    "refold.agent.arguments",
    "refold.agent.commands",
    "refold.agent.recovery",
    "refold.agent.slash",
    "refold.agent.tools",
    "refold.prepare.overflow",
    "refold.providers.reasoning",
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    done = doctest.testmod(import_module(name))
    assert done.attempted > 0
    assert done.failed == 0
