"""`refold compact` says what it is about to fold, refuses what cannot be, and names the ways back that there are."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from .pseudo_terminal import on_terminal


@pytest.mark.parametrize(
    "words",
    [["compact", "talk"], ["compact", "talk", "--dry-run"], ["compact", "talk", "rolling"], ["prepare", "talk"]],
)
def test_a_window_that_no_request_fits_changes_nothing(in_talk, words: list[str]) -> None:
    done = in_talk(*words, "--window", 10, "--json")
    assert done.code == 1
    assert done.document["error"]["code"] == "refused"
    assert "tools take " in done.err
    assert "nothing was changed; give at least " in done.err
    assert in_talk("tree", "talk", "--json").document["folds"] == []


def test_a_plan_tells_how_much_of_the_request_would_be_folded(in_talk) -> None:
    planned = in_talk("compact", "talk", "--window", 4000, "--dry-run", "--json").document
    assert 0 < planned["summarized_tokens"] < planned["before_tokens"]
    assert f"{planned['summarized_tokens']:,} tokens" in in_talk("compact", "--window", 4000, "--dry-run").out


@pytest.mark.skipif(os.name == "nt", reason="a pseudo terminal of POSIX")
def test_a_terminal_shows_the_rows_and_their_tokens_before_they_are_folded(in_talk) -> None:
    planned = in_talk("compact", "talk", "--window", 4000, "--dry-run", "--json").document
    in_talk.environment["TERM"] = "xterm"
    process, shown = on_terminal(
        lambda end: in_talk.start("compact", "talk", "--window", 4000, stdin=end, stdout=end, stderr=end)
    )
    assert process.wait(30) == 0
    text = " ".join(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode()).split())
    told = f"folding rows 1-{planned['last_seq']} of 160, {planned['summarized_tokens']:,} of"
    assert told in text
    assert text.index(told) < text.index("rows folded")


def test_what_is_piped_is_not_told_beforehand(in_talk) -> None:
    done = in_talk("compact", "talk", "--window", 4000)
    assert (done.code, done.err) == (0, "")


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
def test_the_ways_back_that_are_named_work(in_talk) -> None:
    done = in_talk("compact", "talk", "--window", 4000)
    ways = dict(re.findall(r"^([\w ]+): (.*refold .*)$", done.out, re.MULTILINE))
    assert set(ways) == {"look", "read what was folded", "branch from before its end"}
    run = {
        way: subprocess.run(command, shell=True, capture_output=True, text=True, env=in_talk.environment, check=True)
        for way, command in ways.items()
    }
    assert "Question 0: what does part 0 do?" in run["read what was folded"].stdout
    branch = run["branch from before its end"].stdout.split()[0]
    sections = in_talk("prepare", branch, "--window", 100_000, "--json").document["sections"]
    assert [each["id"] for each in sections if each["kind"] in ("summary", "recap")] == []
