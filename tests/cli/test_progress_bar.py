"""Progress is for people who watch: it goes to a terminal on standard error, and nowhere else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import orjson
import pytest

from .pseudo_terminal import on_terminal


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "long.json"
    messages = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} " * 400} for n in range(4000)]
    path.write_bytes(orjson.dumps(messages))
    return path


def test_an_import_into_pipes_shows_no_progress(refold, file: Path) -> None:
    done = refold("import", file, "--json")
    assert done.document["rows"] == 4000
    assert done.err == ""


@pytest.mark.skipif(os.name == "nt", reason="a pseudo terminal of POSIX")
def test_an_import_on_a_terminal_shows_a_bar_and_standard_output_stays_data(refold, file: Path) -> None:
    refold.environment["TERM"] = "xterm"
    process, shown = on_terminal(lambda end: refold.start("import", file, "--json", stderr=end))
    out, _ = process.communicate(timeout=30)
    assert json.loads(out)["rows"] == 4000
    assert b"importing long.json" in shown
    assert b"MB" in shown
    assert b"Traceback" not in shown
