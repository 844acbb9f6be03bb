"""The account of the work that the offline summarizer writes."""

from __future__ import annotations

from collections.abc import Mapping

from refold import Call, Row, SourceRef
from refold.sizing.estimate import tokens
from refold.summarize.account import Account, parse
from refold.summarize.offline import Offline
from refold.summarize.service import summarize


class Work:
    """Rows of one turn, each call with its result."""

    def __init__(self) -> None:
        self.rows = [Row(SourceRef("s", 1), "user", 1, 0, opens=True, text="Make the tests pass, please.")]

    def call(self, name: str, arguments: Mapping[str, object], result: str, ok: bool = True) -> Work:
        seq = len(self.rows) + 1
        call = Call(f"c{seq}", name, dict(arguments))
        self.rows.append(Row(SourceRef("s", seq), "assistant", 1, seq, calls=(call,)))
        self.rows.append(Row(SourceRef("s", seq + 1), "result", 1, seq, text=result, call_id=call.id, ok=ok))
        return self

    def say(self, text: str) -> Work:
        seq = len(self.rows) + 1
        self.rows.append(Row(SourceRef("s", seq), "assistant", 1, seq, text=text))
        return self

    def summary(self, previous: str = "") -> str:
        return summarize(self.rows, previous=previous, summarizers=[Offline()], limit=900, source_tokens=100_000).text


def test_files_commands_errors_and_results_are_listed() -> None:
    text = (
        Work()
        .call("read", {"path": "src/parser.py"}, "def parse(): ...")
        .call("edit", {"path": "src/parser.py", "old_string": "a", "new_string": "b"}, "ok")
        .call("bash", {"command": "pytest -q"}, "TypeError: x is None\n3 failed, 12 passed", ok=False)
        .say("The parser still fails on empty input.")
        .summary()
    )
    assert "Files read:\n- src/parser.py" in text
    assert "Files changed:\n- src/parser.py" in text
    assert "Commands:\n- `pytest -q` (failed)" in text
    assert "Errors:\n- `pytest -q`: TypeError: x is None" in text
    assert "Results:\n- 3 failed, 12 passed" in text
    assert "The parser still fails on empty input." in text


def test_an_error_is_gone_when_the_same_command_runs_clean_later_even_in_a_later_pass() -> None:
    first = Work().call("bash", {"command": "make"}, "fatal: no rule", ok=False).say("It fails.").summary()
    assert "`make`: fatal: no rule" in first
    second = Work().call("bash", {"command": "make"}, "done").say("Fixed.").summary(previous=first)
    assert "fatal" not in second
    assert "- `make`\n" in second + "\n"


def test_files_of_a_patch_are_changed_files() -> None:
    text = Work().call("apply_patch", {"input": "*** Update File: a/b.py\n+x"}, "ok").say("Patched the file.").summary()
    assert "- a/b.py" in text


def test_the_account_reads_back() -> None:
    account = Account({"Errors": ("`x`: bad",), "Commands": ("`x`",)}, ("One sentence.", "Another."))
    again = parse(account.render(500))
    assert again.lists["Errors"] == ("`x`: bad",)
    assert again.prose == ("One sentence.", "Another.")


def test_the_newest_entries_stay_when_there_is_not_room_for_all() -> None:
    account = Account({"Commands": tuple(f"`run step {n}`" for n in range(200))})
    text = account.render(200)
    assert "`run step 199`" in text
    assert "`run step 3`" not in text
    assert tokens(text) <= 200


def test_a_body_of_a_model_becomes_prose_that_is_carried() -> None:
    text = Work().say("Now the writer.").summary(previous="The reader was rewritten in May by hand.")
    assert "The reader was rewritten in May by hand." in text
