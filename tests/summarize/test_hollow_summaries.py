"""A summary that tells nothing of what it replaces is refused; a terse honest one, in any language, is taken."""

from __future__ import annotations

import pytest
from refold import Row, SourceRef, SummaryFailed
from refold.summarize.hollow import hollow
from refold.summarize.reply import Reply
from refold.summarize.service import summarize

from .scripted import Scripted

MATERIAL = (
    """\
[user] The nightly import of Brandt GmbH fails since Tuesday with INV-20431. Find out why, leave billing.py alone.
[assistant] I read importer/rates.py and the log of the night.
[read importer/rates.py] def load_rates(path): raise ValueError(f"unknown currency {code}") ... 214 lines
[grep nightly.log] 03:12:44 ERROR ValueError: unknown currency XBT in INV-20431, row 12417
[assistant] The invoice holds the currency XBT, which load_rates does not know. I will add it to CURRENCIES and a test.
[edit importer/currencies.py] CURRENCIES |= {"XBT"}
[pytest tests/test_rates.py] 41 passed, 1 failed: test_unknown_currency_is_refused expected ValueError
[assistant] The old test used XBT as its unknown currency; it uses QQQ now. 42 passed.
"""
    * 3
)

HOLLOW = (
    "ok",
    "...",
    "Sure! How can I help?",
    "The conversation is empty.",
    "Okay, I will summarize now.",
    "Error generating summary: 500",
    "null",
    "N/A",
    "None",
    "{}",
    "[]",
    "the the the the the the the",
    "Summary:",
    "Here is the summary you asked for.",
    "I'm sorry, but I can't do that.",
    "Done.",
    "As requested, the conversation was summarized and all the important details were kept.",
    "<p>502 Bad Gateway</p><hr><center>nginx</center>",
    "好的，我来总结一下。",
    "Natürlich! Wie kann ich Ihnen helfen?",
    "Le résumé est vide.",
    "- \n- \n- ",
    "TODO",
    "undefined",
)

HONEST = (
    "load_rates refused XBT in INV-20431 (Brandt GmbH); added to CURRENCIES, the test uses QQQ; 42 passed.",
    "Import failed: unknown currency XBT, INV-20431, row 12417. Fixed in importer/currencies.py. billing.py untouched.",
    "The nightly import of Brandt GmbH failed: load_rates did not know a currency; it was added, the test adapted.",
    "Der nächtliche Import von Brandt scheiterte an der Währung XBT (INV-20431); currencies.py ergänzt, 42 Tests grün.",
    "L'import échouait sur XBT dans INV-20431; ajouté à CURRENCIES dans importer/currencies.py, 42 tests passent.",
    "夜间导入因 INV-20431 的未知货币 XBT 失败；已加入 importer/currencies.py 的 CURRENCIES，42 个测试通过。",
)


def written(text: str) -> Reply:
    """The text as a model's answer."""
    return Reply(text, "end", "model")


@pytest.mark.parametrize("text", HOLLOW)
def test_a_text_without_anything_of_the_material_is_hollow(text: str) -> None:
    assert hollow(text, MATERIAL)


@pytest.mark.parametrize("text", HONEST)
def test_a_terse_account_of_the_material_is_none(text: str) -> None:
    assert not hollow(text, MATERIAL)


def test_material_that_says_hardly_anything_may_be_told_in_any_words() -> None:
    assert not hollow("They agreed to go on.", "[user] yes, go on")


def test_a_summary_that_forgets_the_one_before_it_is_hollow() -> None:
    new = "[user] The docs of the parser lack a page on lookahead.\n[edit docs/lookahead.md] 80 lines\n" * 8
    assert hollow("docs/lookahead.md was written, a page on lookahead for the parser's docs.", new, previous=MATERIAL)


def test_a_hollow_answer_is_asked_for_once_more_and_then_the_next_model_is_asked() -> None:
    rows = [Row(SourceRef("s", 1), "assistant", 1, 1, text=MATERIAL)]
    lazy, good = Scripted(written("ok"), written("Sure! How can I help?"), name="lazy"), Scripted(written(HONEST[0]))
    assert summarize(rows, summarizers=[lazy, good]).text == HONEST[0]
    assert len(lazy.asked) == 2


def test_where_every_model_answers_hollowly_the_error_says_so() -> None:
    rows = [Row(SourceRef("s", 1), "assistant", 1, 1, text=MATERIAL)]
    with pytest.raises(SummaryFailed, match="tells nothing"):
        summarize(rows, summarizers=[Scripted(written("N/A"))])
