"""docs/hooks.md says what the hookspecs say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from refold.hookspecs import Hooks

ROOT = Path(__file__).parents[2]


def test_the_hook_page_is_what_the_hookspecs_generate() -> None:
    made = subprocess.run([sys.executable, ROOT / "docs/hooks.py"], capture_output=True, text=True, check=True)
    assert (ROOT / "docs/hooks.md").read_text() == made.stdout, "run: python docs/hooks.py > docs/hooks.md"


def test_every_hook_has_a_heading_with_its_signature_and_an_example() -> None:
    sections = (ROOT / "docs/hooks.md").read_text().split("\n## ")[1:]
    hooks = [name for name in vars(Hooks) if not name.startswith("_")]
    assert [re.match(r"\w+", section).group() for section in sections] == hooks
    for section in sections:
        assert "-> " in section.splitlines()[0]
        assert "@hookimpl" in section
