"""Aider chat histories."""

from __future__ import annotations

import pytest
from refold.importers.agents.aider import IMPORTER
from refold.importers.formats import detect
from refold.importers.store import import_file
from refold.transcript.sessions import find

EMPTY = """
# aider chat started at 2026-03-04 05:00:00

> You can skip this check with --no-gitignore~

""".replace("~", "  ")
TALK = """
# aider chat started at 2026-03-04 05:06:07

> Aider v0.86.1~
> Repo-map: using 4096 tokens~

#### /add a.py~
> Added a.py to the chat~

#### Say hello~
#### ~
#### and bye~

#### A heading of the model's

Here:

```md
> a quote in a file~
# a title
```

> a quote of the model's

> Tokens: 1k sent, 2k received.~
> Applied edit to a.py~

#### /ask why?~

Because.

#### <blank>~

#### /exit~
""".replace("~", "  ")
"""Two spaces at the end of a line stand as `~` above."""


def test_voices_are_told_apart_and_a_chat_in_which_nothing_was_said_is_reported(read, told):
    data = (EMPTY + TALK).encode()
    assert detect(data) is IMPORTER
    rows, skipped = read(IMPORTER, data)
    assert {row.ref.session for row in rows} == {".2"}
    answer = TALK.partition("and bye  \n\n")[2].partition("\n\n> Tokens")[0]
    assert told(rows) == [
        ("notice", "Aider v0.86.1\nRepo-map: using 4096 tokens"),
        ("command", "/add a.py\nAdded a.py to the chat"),
        ("opens", "Say hello\n\nand bye"),
        ("assistant", answer),
        ("notice", "Tokens: 1k sent, 2k received.\nApplied edit to a.py"),
        ("opens", "/ask why?"),
        ("assistant", "Because."),
        ("command", "/exit"),
    ]
    assert skipped == ["the chat of 2026-03-04 05:00:00, in which nothing was said"]


def test_a_history_whose_trailing_spaces_an_editor_took_away_is_read_by_its_marks_alone(read, told):
    data = b"# aider chat started at 2026-03-04 05:06:07\n\n#### hi\n> Tokens: 1k\n\nhello\n"
    rows, _ = read(IMPORTER, data)
    assert told(rows) == [("opens", "hi"), ("notice", "Tokens: 1k"), ("assistant", "hello")]


def test_every_chat_is_a_session_named_after_its_folder_and_the_last_one_grows(database, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    path = folder / ".aider.chat.history.md"
    first = TALK + TALK.replace("05:06:07", "06:00:00").partition("#### /ask")[0]
    path.write_text(first)
    assert [(each.session, each.rows) for each in import_file(database, path).sessions] == [
        ("project", 8),
        ("project.2", 5),
    ]
    path.write_text(first + "#### go on  \n\nyes\n" + EMPTY + TALK.replace("hello", "again"))
    done = import_file(database, path)
    assert [(each.session, each.rows) for each in done.sessions] == [
        ("project", 0),
        ("project.2", 2),
        ("project.4", 8),
    ]
    with database.read() as reader:
        assert find(reader, "project.2").created == "2026-03-04T06:00:00Z"


@pytest.mark.parametrize("head", [b"# aider chat", b"# A page\n\n#### x\n", b"x\n# aider chat started at 2026-03-04"])
def test_other_markdown_is_no_history(head):
    assert not IMPORTER.detect(head)
