"""Untrusted text cannot act on a terminal: no table and no error shows a control character."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refold import Call, Host, Row, SourceRef
from refold.cli.main import run
from refold.cli.visible import visible, visible_lines
from refold.providers.protocols import PROTOCOLS

from .pseudo_terminal import on_terminal

EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202egpj.exe\u2066\u2028\u200f\ufeff\x7f\r\0 [bold red]x[/] :bomb:"
_OURS = re.compile(r"\x1b\[[0-9;]*m")
"""Colours, which only we may set."""


def harmless(text: str) -> bool:
    return not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in text if char != "\n")


@given(st.text(alphabet=st.characters(codec=None)))
@settings(max_examples=200, deadline=None)
def test_no_invisible_character_passes_but_joiners(text: str) -> None:
    joined = text.replace("\u200c", "").replace("\u200d", "")
    assert harmless(visible(joined))
    assert "\n" not in visible(joined)
    assert harmless(visible_lines(joined).replace("\t", ""))


@pytest.mark.parametrize("text", ["grüß dich", "漢字かな", "שלום", "👩\u200d💻", "a\tb\nc", "naïve ½"])
def test_readable_text_stays_as_it_is(text: str) -> None:
    assert visible_lines(text) == text


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REFOLD_HOME", str(tmp_path / "home"))
    with Host(tmp_path / "home") as host:
        session = host.new("evil", title=EVIL)
        for n in range(12):
            session.user(f"needle {EVIL} {n}")
            session.assistant(EVIL, [Call(EVIL, EVIL, {EVIL: EVIL})])
            session.results({EVIL: EVIL * 40})
        session.append([Row(SourceRef("", 0), "event", 0, 0, event="notice", text=EVIL)])
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["sessions"],
        ["tree", "evil"],
        ["show", "evil", "--full"],
        ["search", "evil", "needle"],
        ["compact", "evil", "--window", "1500"],
        ["prepare", "evil"],
        ["import", EVIL],
        ["show", EVIL],
        ["compact", "evil", EVIL],
        ["extensions", "enable", EVIL],
        ["search", "evil", "needle", "--json"],
        ["show", "evil", "--json"],
        ["export", "evil", "--json"],
    ],
    ids=lambda words: words[0],
)
def test_no_command_shows_a_control_character_of_a_transcript(
    evil: Path, capfd: pytest.CaptureFixture[str], words: list[str]
) -> None:
    run([word.replace("\0", "") for word in words])
    out, err = capfd.readouterr()
    if "--json" in words and words[0] == "export":
        out = json.dumps(json.loads(out))
    assert out + err
    assert harmless(out)
    assert harmless(err)


def test_pages_of_a_section_are_as_safe_as_tables(evil: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["prepare", "evil"]) == 0
    assert run(["context", "evil", "tail"]) == 0
    out = capfd.readouterr().out
    assert "needle" in out
    assert harmless(out.replace("\t", ""))


def test_text_is_never_taken_for_markup(evil: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run(["show", "evil", "--limit", "1", "--full"])
    assert "[bold red]x[/] :bomb:" in capfd.readouterr().out


def test_json_keeps_the_text_and_escapes_only_what_a_terminal_obeys(
    evil: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Host() as host:
        host.new("umlauts").user("grüß 漢字 \x9b \u202e")
    run(["show", "umlauts", "--json"])
    out = capfd.readouterr().out
    assert json.loads(out)["rows"][0]["text"] == "grüß 漢字 \x9b \u202e"
    assert "grüß 漢字 \\u009b \\u202e" in out


@pytest.mark.skipif(os.name == "nt", reason="a pseudo terminal of POSIX")
@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}])
def test_a_terminal_of_80_columns_is_kept_and_no_color_is_respected(in_talk, environment: dict[str, str]) -> None:
    in_talk.environment |= {"TERM": "xterm-256color", **environment}
    process, shown = on_terminal(
        lambda end: in_talk.start("show", "talk", "--limit", 8, stdin=end, stdout=end, stderr=end)
    )
    assert process.wait(30) == 0
    text = shown.decode()
    lines = _OURS.sub("", text).replace("\r", "").splitlines()
    assert max(map(len, lines)) <= 80
    assert ("\x1b[1;36m" in text) == (not environment)
    assert harmless(_OURS.sub("", text).replace("\r", ""))


RAW = [
    ["export", "evil"],
    ["export", "evil", "--folds"],
    ["export", "evil", "--json"],
    *(["prepare", "evil", "--protocol", protocol] for protocol in PROTOCOLS),
]


def of_a_terminal(shown: bytes) -> str:
    """What was drawn, without our own colours and the cursor movements of a progress bar."""
    return re.sub(r"\x1b\[[0-9;?]*[mKAhl]", "", shown.decode()).replace("\r", "")


@pytest.mark.skipif(os.name == "nt", reason="a pseudo terminal of POSIX")
@pytest.mark.parametrize("words", RAW, ids=" ".join)
def test_raw_json_is_exact_in_a_pipe_and_cannot_act_on_a_terminal(evil: Path, refold, words: list[str]) -> None:
    piped = refold(*words)
    process, shown = on_terminal(lambda end: refold.start(*words, stdin=end, stdout=end, stderr=end))
    assert (process.wait(30), piped.code) == (0, 0)
    assert "\x9b31m\u202e" in piped.out
    drawn = of_a_terminal(shown)
    assert harmless(drawn)
    assert _documents(drawn) == _documents(piped.out)


def _documents(text: str) -> list[object]:
    return [json.loads(line) for line in text.strip().split("\n")]


@pytest.mark.skipif(os.name == "nt", reason="a pseudo terminal of POSIX")
def test_a_file_name_cannot_act_on_a_terminal_through_the_progress_bar(refold, tmp_path: Path) -> None:
    file = tmp_path / "\x1b]0;owned\x07\x9b31m\u202e.json"
    file.write_text(json.dumps([{"role": "user", "content": f"{n} " * 400} for n in range(2000)]))
    refold.environment["TERM"] = "xterm"
    process, shown = on_terminal(lambda end: refold.start("import", file, stdin=end, stdout=end, stderr=end))
    assert process.wait(30) == 0
    assert "importing \\x1b]0;owned" in shown.decode()
    assert harmless(of_a_terminal(shown))


def test_a_trace_for_authors_shows_no_control_character(
    evil: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*words: object) -> None:
        raise ValueError(EVIL)

    monkeypatch.setenv("REFOLD_TRACE", "1")
    monkeypatch.setattr(Host, "sessions", fails)
    assert run(["sessions"]) == 1
    err = capfd.readouterr().err
    assert "Traceback" in err
    assert harmless(err)
