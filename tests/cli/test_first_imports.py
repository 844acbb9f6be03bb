"""Ctrl-C before anything of refold is loaded is answered for like any other."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys

class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Pressed())
from refold.cli.main import main
sys.argv = ["refold", "sessions"]
main()
"""


@pytest.mark.parametrize("name", ["click", "refold.cli.root", "refold.cli.sessions", "refold.agent.host"])
def test_an_interrupt_in_the_first_imports_is_one_line(name: str) -> None:
    program = PROGRAM.format(name=name)
    if name == "click":  # pressed once: what tells of it may be imported afterwards
        program = program.replace("raise KeyboardInterrupt", "sys.meta_path.remove(self); raise KeyboardInterrupt")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 130
    assert done.stderr.strip() == "refold: error: interrupted; what was committed is kept"
