"""A provider that says back the key it was sent does not get it stored or shown, wherever it says it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from refold import Host
from refold.providers.protocols import PROTOCOLS

from .test_send_and_chat_commands import here
from .wires import Refuse, Say

KEY = "sk-ver+y/secret-0123456789"
SAYS = f"your key is {KEY}, keep it"

ESCAPED = json.dumps({"error": {"message": SAYS}}).replace("/", "\\/").replace("+", "\\u002b")
"""As some servers' JSON encoders write it."""


@pytest.fixture
def keyed(configure: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A home with the session `s`, whose provider has a key."""
    monkeypatch.setenv("ECHOED_KEY", KEY)

    def write(protocol: str) -> None:
        configure(protocol, window=32_000, maxOutput=1_000)
        file = json.loads((home / "models.json").read_text())
        file["providers"]["local"]["keyEnv"] = "ECHOED_KEY"
        (home / "models.json").write_text(json.dumps(file))
        with Host(home) as host:
            host.new("s")

    return write


def stored(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file())


def everywhere(home: Path, *shown: str) -> str:
    """All that a home holds on disk and all that was shown."""
    return stored(home).decode("latin-1") + "".join(shown)


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
@pytest.mark.parametrize("pieces", [1, 7, 40])
def test_an_answer_that_quotes_the_key_is_stored_and_shown_without_it(
    keyed: Any, model: Any, home: Path, protocol: str, pieces: int
) -> None:
    keyed(protocol)
    model.plays(Say(SAYS, ((f"id-{KEY}", "nosuch", {"path": SAYS, KEY: 1}),), pieces=pieces), Say(SAYS, pieces=pieces))
    code, out, err = here(home, "send", "s", "What is it?")
    assert code == 0, err
    assert "your key is [key], keep it" in out
    _, rows, _ = here(home, "show", "--json")
    assert [row["text"] for row in json.loads(rows)["rows"] if row["role"] == "assistant"] == [
        "your key is [key], keep it"
    ] * 2
    assert KEY not in everywhere(home, out, err, rows)


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
@pytest.mark.parametrize("said", [SAYS, ESCAPED], ids=["plain", "escaped"])
def test_a_refusal_that_quotes_the_key_is_told_without_it_however_it_is_escaped(
    keyed: Any, model: Any, home: Path, protocol: str, said: str
) -> None:
    keyed(protocol)
    model.plays(Refuse(400, said))
    code, out, err = here(home, "send", "s", "What is it?", "--json")
    assert code == 1
    assert "your key is [key], keep it" in err
    assert KEY not in everywhere(home, out, err)


def test_an_answer_that_breaks_off_inside_the_key_keeps_no_great_part_of_it(keyed: Any, model: Any, home: Path) -> None:
    keyed("openai-chat")
    model.plays(Say(f"your key is {KEY[:-2]}", end="cut"))
    code, out, err = here(home, "send", "s", "What is it?")
    assert code == 1
    assert "your key is [key]" in out
    assert KEY[:-2] not in everywhere(home, out, err)


def test_a_summary_that_quotes_the_key_is_stored_without_it(
    keyed: Any, model: Any, home: Path, host: Any, talk: Any
) -> None:
    keyed("openai-chat")
    session = host.session("s")
    talk(session, 60)
    model.summaries[:] = [Say(f"They talked about part0, part1, part2, part3, part4 and part5. {SAYS}.")]
    prepared = session.compact(window=8_000)
    assert model.summarized
    assert "your key is [key], keep it" in repr(prepared.request)
    assert KEY not in everywhere(home, repr(prepared))
