"""What of users' words stands for the whole session, what is said of the moment, and how much of a text is judged."""

from __future__ import annotations

import subprocess
import sys

import pytest
from refold import Row, SourceRef
from refold.summarize.detect import said
from refold.summarize.flatten import flatten
from refold.summarize.offline import Offline
from refold.summarize.sentences import READ, sentences
from refold.summarize.service import summarize
from refold.summarize.standing import KEPT, Item, Standing, read
from refold.summarize.supersede import merged

ASKED_ONCE = [
    "Please review queue.py: where can it wait, and is every wait bounded?",
    "Could you look at the parser: why must it read each file twice?",
    "alright, let's tackle main.py.",
    "propose where each of these files should go.",
    "ok, read the @src/modes/mode.ts file in full please and tell me if there are any others",
    "split it into separate modules where appropriate, with a description of each module",
    "yes need to be fully clean",
    "then we need to tackle this bug:",
]

THOUGHT_ALOUD = [
    "it feels like we have a lot of code duplication.",
    "we have a bunch of things in src directly that we also use.",
    "no, we want to put it in the pending list, and on the next submit we move it.",
    "i have a feeling you need to read the session in full to complete this well",
    "if we could get rid of the coupling then the session could be reused for all modes.",
]


@pytest.mark.parametrize("text", ASKED_ONCE)
def test_a_request_for_the_moment_is_no_standing_line(text: str) -> None:
    assert [item for item in said(text) if item.kind in KEPT] == []


def test_a_question_behind_a_polite_request_is_not_even_a_note() -> None:
    assert list(said("Please review queue.py: where can it wait, and is every wait bounded?")) == []
    assert list(said("Please review base64: where can it wait?")) == []


@pytest.mark.parametrize(
    "text",
    [
        "Could you always answer in German?",
        "Can you please never push to main?",
        "Would you keep your answers short?",
        "Please never push to main, is that ok?",
    ],
)
def test_an_order_put_as_a_question_stands(text: str) -> None:
    assert [item.kind in KEPT for item in said(text)] == [True]


def test_the_request_that_opens_a_session_is_its_goal_even_if_it_asks() -> None:
    ask = "Please review queue.py: where can it wait, and is every wait bounded?"
    assert list(said(ask, opening=True)) == [Item("goal", ask)]


@pytest.mark.parametrize("text", THOUGHT_ALOUD)
def test_what_users_think_aloud_is_a_note_at_most(text: str) -> None:
    assert {item.kind for item in said(text)} <= {"note", "state"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Goal: ship the exporter this month.", Item("goal", "ship the exporter this month.")),
        ("Rule: never push to main.", Item("rule", "never push to main.")),
        ("- Limit: 300 EUR in all", Item("limit", "300 EUR in all")),
        ("**Preference:** short answers", Item("preference", "short answers")),
    ],
)
def test_a_label_in_the_text_is_the_kind_and_stands_once(text: str, expected: Item) -> None:
    assert list(said(text)) == [expected]
    assert Standing((expected,)).render().lower().count(f"{expected.kind}:") == 1


def test_words_of_withdrawal_are_a_rule_only_when_they_withdraw_something() -> None:
    (item,) = said("remove any code duplication")
    assert item.kind == "note"
    assert merged(Standing(), [item]).items == (item,)
    standing = merged(Standing(), said("Never use the package left-pad."))
    (later,) = merged(standing, said("Forget the rule about left-pad.")).items
    assert later == Item("rule", "Forget the rule about left-pad.")


@pytest.mark.parametrize(
    "text",
    [
        "~/src/pi-mono (refactor)",
        "Node.js v23.4.0",
        "CHANGELOG.md  LICENSE  README.md  src/main.py",
        "total 48\ndrwxr-xr-x 2 root root  4096 Nov 30 02:21 src\n-rw-r--r-- 1 root root 14935 Nov 30 02:12 a.py",
        "move @src/utils/config.ts to src/",
        "alright, read @src/main.ts @src/tui/renderer.ts in full.",
    ],
)
def test_exact_names_alone_are_no_fact(text: str) -> None:
    assert [item for item in said(text) if item.kind == "fact"] == []


@pytest.mark.parametrize(
    "text",
    [
        (
            ' Error: 400 {"type":"error","error":{"message":"messages.236: `tool_use`\n ids were found without results'
            ' behind: toolu_019tYDrbz. Each\n `tool_use` block must have a result in the next\n one."},"id":"req_01"}'
        ),
        (
            "Error: ENOENT: no such file, open 'a/package.json'\n    at readFileSync (node:fs:443:20)\n"
            "    at async run (node:internal/loader:547:26) {\n  errno: -2,\n  code: 'ENOENT',\n  path: 'a/b.json'\n}"
        ),
        '{\n  "rule": "Never deploy",\n  "limit": 30\n}',
        'ids must always match."},"request_id":"req_011CVvAQ"}',
    ],
)
def test_pasted_json_and_error_lines_are_no_sentences(text: str) -> None:
    assert list(sentences(text)) == []
    after = [sentence.text for sentence in sentences(f"{text}\n\nNever rename the queue.")]
    assert after == ["Never rename the queue."]


def test_words_right_behind_a_pasted_line_are_read() -> None:
    for pasted in ('{"a": {"b": 1}}', 'Error: 400 {"type": {"cut off', "at run (/srv/main.js:4:1) {"):
        assert [sentence.text for sentence in sentences(f"{pasted}\nNever rename the queue.")] == [
            "Never rename the queue."
        ]


def test_a_bracket_that_is_open_holds_its_sentence_together() -> None:
    text = "After that remove the old files (main.ts, cli.ts right? nothing else), and add a map."
    assert [sentence.text for sentence in sentences(text)] == [text]


def test_of_a_huge_text_the_beginning_and_the_end_are_judged_and_code_does_not_count() -> None:
    filler = "".join(f"Line {number} of the log came late today.\n" for number in range(30_000))
    text = f"Never rename the queue.\n{filler}Never open port 99.\n{filler}Never drop the table.\n"
    kept = [item.text for item in said(text) if item.kind == "rule"]
    assert kept == ["Never rename the queue.", "Never drop the table."]
    assert sum(len(sentence.text) for sentence in sentences(text)) <= READ
    fenced = (
        f"Never rename the queue.\n```\n{filler}```\nNever open port 99.\n```\n{filler}```\nNever drop the table.\n"
    )
    assert [item.text for item in said(fenced)] == [
        "Never rename the queue.", "Never open port 99.", "Never drop the table.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "piece",
    ["x y ", "xy", "`", " ", "e.g. ", "<a-b ", "<a-b>", "</", "(", "; ", "~~~\n", "\"':{", "🙂", "<session-rules>\n"],
)
def test_five_megabytes_in_one_row_are_summarized(piece: str) -> None:
    text = piece * (5_000_000 // len(piece.encode()))
    rows = [
        Row(SourceRef("s", 1), "user", 2, 0, opens=True, text=f"Never rename the queue.\n{text}"),
        Row(SourceRef("s", 2), "assistant", 2, 1, text=text),
    ]
    (user, _) = flatten(rows, {})
    assert len(user.words) < 2 * READ
    summary = summarize(rows, summarizers=[Offline()], source_tokens=10_000_000)
    assert "rule: Never rename the queue." in summary.text.splitlines()


def test_a_text_full_of_openings_without_an_end_is_read_once() -> None:
    standing, body = read("<session-rules>\nrule: a b\n" * 200_000)
    assert not standing
    assert body.startswith("<session-rules>")


def test_no_pattern_is_compiled_when_the_summarizer_is_imported() -> None:
    code = (
        "import re, refold, attrs, orjson\n"
        "import refold.sizing.estimate\n"
        "made = []\n"
        "real = re.compile\n"
        "re.compile = lambda *given, **named: made.append(given) or real(*given, **named)\n"
        "import refold.summarize.service, refold.summarize.offline\n"
        "own = [given for given in made if len(given[0]) > 200]\n"
        "assert own == [], own\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
