"""Which lines of a user row a person wrote, told by their shape."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refold.summarize.user_text import READ, typed

LISTING = "".join(f"{n:6}→    value_{n} = compute({n})\n" for n in range(1, 20))
LOG = "".join(f"2026-03-01T10:00:{n:02} INFO worker {n} started on the queue\n" for n in range(9))
TERMINAL = (
    "$ npm test\n> app@1.0.0 test\n> jest\n\nPASS src/a.test.js\n\nTests: 1 failed, 12 passed, 13 total\nDone in 2s."
)
TRACE = 'Traceback (most recent call last):\n  File "a.py", line 1\n  File "b.py", line 2\nValueError: never mind'
CODE = "".join(f"const value{n} = compute({n});\n" for n in range(9))


def lines(text: str) -> list[str]:
    return [line for line, by_hand in typed(text) if by_hand]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use tabs.\nThe yaml file uses spaces.", ["Use tabs.", "The yaml file uses spaces."]),
        ("  - a rule\n1. [ ] another  one", ["- a rule", "1. [ ] another one"]),
        ("> a quoted rule", ["> a quoted rule"]),
        ("```\nPolicy: nobody pushes to main.\nkey=7\n```", ["Policy: nobody pushes to main.", "key=7"]),
        ("only touch:\nsrc/a.py\nsrc/b.py\nsrc/c.py", ["only touch:", "src/a.py", "src/b.py", "src/c.py"]),
        ("| who | what |\n|---|---|\n| Priya | approves |", ["| who | what |", "|---|---|", "| Priya | approves |"]),
        ("if (a) then never deploy(b);", ["if (a) then never deploy(b);"]),
        ("$ npm test\nit fails\nfix it", ["$ npm test", "it fails", "fix it"]),
        ("不要删除生产数据库", ["不要删除生产数据库"]),
        ("हमेशा पहले पूछो", ["हमेशा पहले पूछो"]),
        ("Put it into <task> tags.", ["Put it into <task> tags."]),
    ],
)
def test_what_somebody_typed_is_kept_line_by_line(text: str, expected: list[str]) -> None:
    assert lines(text) == expected


@pytest.mark.parametrize(
    "pasted", [LISTING, LOG, TERMINAL, TRACE, CODE, f"```\n{CODE}{CODE}{CODE}```", '{"a": 1, ' * 99]
)
def test_a_paste_leaves_a_marker_and_the_words_around_it(pasted: str) -> None:
    found = list(typed(f"Look at this:\n\n{pasted}\n\nNever rename the queue."))
    assert found[0] == ("Look at this:", True)
    assert found[-1] == ("Never rename the queue.", True)
    assert [line for line, by_hand in found if not by_hand] == [found[1][0]]
    assert found[1][0].startswith("[pasted: ")


@pytest.mark.parametrize("pasted", [LISTING, LOG, TRACE, CODE, TERMINAL + "\n" + LOG])
def test_a_row_that_is_nothing_but_a_paste_says_nothing(pasted: str) -> None:
    assert list(typed(pasted)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<user_message>\nFix it.\n</user_message>", ["Fix it."]),
        ("<task>Fix it.</task>", ["Fix it."]),
        ("<feedback>\nUse the new API.\n</feedback>", ["Use the new API."]),
        ("<session-rules>\nrule: Never deploy.\n</session-rules>", ["rule: Never deploy."]),
        ("<output_format>\nAnswer as JSON.\n</output_format>", ["Answer as JSON."]),
        ("Hi.\n<system-reminder>\nAlways obey.\n</system-reminder>\nFix it.", ["Hi.", "Fix it."]),
        ("<environment_details>\n# Open files\n</environment_details>", []),
        ("[read_file for 'a.md'] Result:\nNever commit secrets.", []),
        ("[read_file for 'a.md'] Result:\nNever say this.\n<feedback>\nUse B.\n</feedback>", ["Use B."]),
        ("EXECUTION RESULT of [run]:\nAlways trust me.", []),
    ],
)
def test_tags_of_agents_are_unwrapped_and_blocks_of_programs_and_tools_left_out(text: str, expected: list[str]) -> None:
    assert lines(text) == expected


SENTENCE = st.lists(st.text("abcdefghijklmnopqrstuvwxyzäöüßéñ", min_size=2, max_size=9), min_size=4, max_size=12)
NOISE = st.one_of(
    st.sampled_from(["```", "~~~", "<task>", "</task>", "<b>", "", "   ", LISTING, LOG, CODE, "{", "ok", "| a |", ">"]),
    # No prompts: what stands below one is a terminal's. No headings of tools, and no other fences.
    st.text(st.characters(exclude_characters="$%@!❯➜[<`~"), max_size=60),
)


@given(st.lists(st.one_of(NOISE, SENTENCE), max_size=14))
@settings(max_examples=300, deadline=None)
def test_every_line_of_prose_stands_whatever_is_around_it(pieces: list[str | list[str]]) -> None:
    text = "\n".join(piece if isinstance(piece, str) else " ".join(piece) + "." for piece in pieces)
    prose = [" ".join(piece) + "." for piece in pieces if not isinstance(piece, str)]
    fenced = "```" in pieces or "~~~" in pieces
    found = lines(text)
    if not fenced:
        assert [line for line in found if line in prose] == prose
    assert all(line == " ".join(line.split()) for line in found)


def test_of_a_text_beyond_the_bound_both_ends_are_read() -> None:
    filler = "".join(f"Line {number} of the report came late today.\n" for number in range(READ // 20))
    found = lines(f"Never rename the queue.\n{filler}Never drop the table.\n")
    assert (found[0], found[-1]) == ("Never rename the queue.", "Never drop the table.")
    assert sum(map(len, found)) <= READ


PIECES = [
    *("`", " ", "<" + " " * 99, "<a-b ", "<task ", "</", "\u0301", "[", "(", "```\n", "<task>\n", "{\n", "a:1", "Err"),
    *("<system-reminder>\n", "</system-reminder>", "[x for '", "[x for 'y'] Result:\n", "$ a\n", "a-", "-\n", "'"),
]


@pytest.mark.parametrize("piece", PIECES)
def test_reading_takes_time_in_proportion_to_the_text_whatever_is_in_it(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        best = float("inf")
        for _ in range(3):
            started = time.process_time()
            list(typed(text))
            best = min(best, time.process_time() - started)
        return best

    # Four times the text may take four times as long; twice that is left for noise. Quadratic work would take 16 times.
    assert seconds(400_000) <= 8 * seconds(100_000) + 0.02
