"""The files of the home: read without failing, written whole or not at all."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time

import pytest
from refold.registry.home_file import LIMIT, read, update
from refold.values.errors import Refused


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "extensions.json"


def test_a_missing_file_has_no_sections_and_the_first_write_makes_it_private(path):
    assert read(path).sections == {}
    update(path, lambda sections: sections.update(enabled={"lcm": True}))
    assert read(path).sections == {"enabled": {"lcm": True}}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"{", "is not JSON: Expecting property name enclosed in double quotes, line 1 column 2"),
        (b"[]", "must hold a JSON object"),
        (b"\xff", "is not UTF-8: byte 0"),
        (b'{"a": 1, "a": 2}', 'is not usable JSON: the key "a" stands there twice'),
        (b'{"a": NaN}', "is not usable JSON: NaN is no JSON number"),
        (b'{"a": 1e999}', "is not usable JSON: 1e999 is too large"),
        (b"[" * 200000, "is not usable JSON"),
        (b" " * (LIMIT + 1), "is larger than 1 MiB"),
    ],
    ids=range(8),
)
def test_a_file_that_cannot_be_read_says_why_and_is_never_replaced(path, content, fault):
    path.parent.mkdir()
    path.write_bytes(content)
    assert read(path).fault.startswith(fault)
    assert read(path).sections == {}
    with pytest.raises(Refused, match="it was not changed"):
        update(path, lambda sections: sections.update(enabled={}))
    assert path.read_bytes() == content


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes there")
def test_a_pipe_or_a_folder_in_its_place_does_not_block(path):
    path.parent.mkdir()
    os.mkfifo(path)
    assert read(path).fault == "is not a regular file"
    path.unlink()
    path.mkdir()
    assert read(path).fault.startswith("cannot be read") or read(path).fault == "is not a regular file"


def test_a_write_changes_one_key_and_keeps_the_rest(path):
    path.parent.mkdir()
    rest = '"später": {"n": 12345678901234567890, "f": 0.1, "s": "\\ud800 ü", "l": [null, true]}'
    path.write_text(f'\ufeff{{{rest}, "enabled": {{"a": true}}}}', encoding="utf-8")
    before = dict(read(path).sections)
    update(path, lambda sections: sections.update(enabled={"b": True}))
    after = dict(read(path).sections)
    assert list(after) == list(before)
    assert after.pop("enabled") == {"b": True}
    assert before.pop("enabled") == {"a": True}
    assert after == before


def test_what_a_change_raises_and_a_change_without_effect_leave_the_file_alone(path):
    path.parent.mkdir()
    path.write_text('{"a":1}')
    with pytest.raises(ZeroDivisionError):
        update(path, lambda sections: sections.update(a=1 // 0))
    update(path, lambda sections: sections.update(a=1))
    assert path.read_text() == '{"a":1}'


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_stays_a_link_and_its_target_is_written(path, tmp_path):
    path.parent.mkdir()
    target = tmp_path / "dotfiles.json"
    target.write_text("{}")
    path.symlink_to(target)
    update(path, lambda sections: sections.update(a=1))
    assert path.is_symlink()
    assert json.loads(target.read_text()) == {"a": 1}


WRITER = """
import pathlib, sys
from refold.registry.home_file import update
path, name, times = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
def change(sections):
    sections[name] = sections.get(name, 0) + 1
    sections["filler"] = "x" * 20000
print("go", flush=True)
for _ in range(times):
    update(path, change)
"""


def writer(path, name: str, times: int) -> subprocess.Popen:
    command = [sys.executable, "-c", WRITER, str(path), name, str(times)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def test_writers_in_several_processes_lose_nothing(path):
    processes = [writer(path, name, 20) for name in ("one", "two", "three")]
    for process in processes:
        with process:
            assert process.wait(30) == 0
    assert {name: read(path).sections[name] for name in ("one", "two", "three")} == {"one": 20, "two": 20, "three": 20}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL there")
def test_a_writer_that_is_killed_leaves_the_old_file_or_the_new_one(path):
    last = 0
    for wait in (0.0, 0.003, 0.007, 0.012, 0.02):
        with writer(path, "count", 100000) as process:
            process.stdout.readline()
            time.sleep(wait)
            process.kill()
        found = read(path)
        assert found.fault is None
        assert found.sections.get("count", 0) >= last
        last = found.sections.get("count", 0)
    update(path, lambda sections: sections.update(after=True))
    assert read(path).sections == {**({"count": last, "filler": "x" * 20000} if last else {}), "after": True}
    assert sorted(each.name for each in path.parent.iterdir()) == [".extensions.json.lock", "extensions.json"]
