"""Servers that are full and do not say so in words: an answer that stops at once, a blank refusal, another language."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refold import ProviderError, Session
from refold.agent import events
from refold.agent.turn import Overflow

from .wires import Refuse, Say

PROTOCOLS = ("anthropic", "gemini", "openai-chat", "openai-responses")
FULL = 8_000


def tokens_of(body: dict[str, Any]) -> int:
    asked = [body.get(key) for key in ("messages", "input", "contents", "tools", "system", "instructions")]
    return len(json.dumps(asked).encode()) // 4


def asked_for(body: dict[str, Any]) -> int:
    given = [body.get(key) for key in ("max_tokens", "max_completion_tokens", "max_output_tokens")]
    given.append(body.get("generationConfig", {}).get("maxOutputTokens"))
    return next(each for each in given if each is not None)


def full_at(limit: int, answer: str = "All of it is fine. " * 20) -> Callable[[dict[str, Any]], Any]:
    """Refuses nothing: it writes until prompt and answer fill its window, as llama.cpp does. A word is a token."""

    def play(body: dict[str, Any]) -> Any:
        prompt, words = tokens_of(body), answer.split(" ")
        room = max(0, limit - prompt)
        if len(words) <= min(room, asked_for(body)):
            return Say(answer, usage=(prompt, len(words)))
        written = min(room, asked_for(body))
        return Say(" ".join(words[:written]), stop="length", usage=(min(prompt, limit), written))

    return play


@pytest.fixture
def wide(session: Session, configure: Any, talk: Any) -> Session:
    """History under a window that is said to be far larger than what is served."""
    configure(window=200_000, maxOutput=1_000)
    talk(session, 12)
    return session


def summarized_by_chat(home: Path) -> None:
    """The scripted model answers whole requests as chat alone."""
    file = json.loads((home / "models.json").read_text())
    file["providers"]["chat"] = {**file["providers"]["local"], "protocol": "openai-chat"}
    file["summarizer"] = {"model": "chat/m"}
    (home / "models.json").write_text(json.dumps(file))


@pytest.mark.parametrize("room", [0, 1, 20, 60])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_that_stops_at_once_at_a_full_server_is_recovered(
    wide: Session, model: Any, configure: Any, home: Path, protocol: str, room: int, heard: list[Any]
) -> None:
    configure(protocol, window=200_000, maxOutput=1_000)
    summarized_by_chat(home)
    limits: list[int] = []

    def play(body: dict[str, Any]) -> Any:
        limits[:] = limits or [tokens_of(body) + room]
        return full_at(limits[0])(body)

    model.plays(play)
    finished = wide.send("And now?", on_event=heard.append)
    assert finished.stop == "end"
    assert finished.text.endswith("All of it is fine. ")
    assert wide.record.compactions == 1
    assert [event.demand for event in heard if isinstance(event, events.CompactionStarted)] == ["overflow"]
    assert tokens_of(model.asked[-1]) < limits[0] // 2
    assert wide.rows()[-1].text == finished.text
    assert "".join(event.text for event in heard if isinstance(event, events.AnswerText)) == finished.text


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_that_reaches_the_output_limit_is_gone_on_with_and_nothing_is_folded(
    wide: Session, model: Any, configure: Any, protocol: str
) -> None:
    configure(protocol, window=200_000, maxOutput=20)
    model.plays(full_at(10**6, "one two three four five six seven eight nine ten " * 4))
    assert wide.send("Count").stop == "length"
    assert wide.record.compactions == 0
    assert len(model.asked) == 4


def test_where_nothing_can_be_folded_a_full_server_ends_the_turn_with_the_figures(session: Session, model: Any) -> None:
    model.plays(lambda body: Say("The", stop="length", usage=(tokens_of(body), 1)))
    with pytest.raises(Overflow, match=r"the provider counted .* tokens.* broke off its answer at the limit"):
        session.send("word " * 8_000)
    assert session.rows()[-1].text == "The\n[the answer broke off here]"


def test_a_small_request_whose_answer_stops_at_once_is_not_taken_for_a_full_window(
    session: Session, model: Any
) -> None:
    model.plays(Say("", stop="length", usage=(60, 0)))
    assert session.send("Hello").stop == "length"
    assert session.record.compactions == 0


def test_a_request_no_larger_than_one_that_was_answered_is_not_taken_for_a_full_window(
    wide: Session, model: Any
) -> None:
    model.plays(Say("Fine.", usage=(6_000, 3)))
    wide.send("And now?")
    wide.compact()
    model.plays(Say("x", stop="length", usage=(2_000, 1)), Say("y", usage=(2_000, 1)))
    assert wide.send("And now?").text == "xy"
    assert wide.record.compactions == 1


def test_without_automatic_compaction_what_came_of_the_answer_is_kept(wide: Session, model: Any, home: Any) -> None:
    settings = json.loads((home / "extensions.json").read_text())
    (home / "extensions.json").write_text(json.dumps({**settings, "compaction": {"auto": False}}))
    wide.host.reload()
    model.plays(Say("The beginning", stop="length", usage=(7_990, 2)))
    assert wide.send("And now?").text.startswith("The beginning")


# Refusals without words, and with words of other languages


def full_and(refusal: Refuse, limit: int = FULL) -> Callable[[dict[str, Any]], Any]:
    return lambda body: refusal if tokens_of(body) > limit else Say("Fine.", usage=(tokens_of(body), 2))


WORDS = {
    "blank": Refuse(400, ""),
    "blank, of spaces": Refuse(400, " \n"),
    "blank 413": Refuse(413, ""),
    "Chinese": Refuse(400, {"error": {"message": "上下文长度超过模型最大限制"}}),
    "GLM": Refuse(400, {"error": {"code": "1261", "message": "Prompt 超长"}}),
    "Japanese": Refuse(400, {"error": {"message": "入力がモデルの最大コンテキスト長を超えています"}}),
    "Russian": Refuse(422, {"error": {"message": "Превышена максимальная длина контекста модели"}}),
}


@pytest.mark.parametrize("words", WORDS)
def test_a_refusal_without_english_words_is_recovered(wide: Session, model: Any, words: str) -> None:
    model.plays(full_and(WORDS[words], limit=4_000))
    assert wide.send("And now?").text == "Fine."
    assert wide.record.compactions == 1
    assert len(model.asked) == 2


def test_a_blank_refusal_of_a_small_request_is_the_error_that_it_is(session: Session, model: Any) -> None:
    model.plays(Refuse(400, ""))
    with pytest.raises(ProviderError, match="status 400, without a word"):
        session.send("Hello")
    assert len(model.asked) == 1
    assert session.record.compactions == 0


def test_a_blank_refusal_teaches_no_window(wide: Session, model: Any) -> None:
    model.plays(full_and(Refuse(400, ""), limit=4_000))
    wide.send("And now?")
    assert wide.context()["context_window_tokens"] == 200_000


# Figures that cannot be


IMPOSSIBLE = 5_000_000


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_impossible_usage_is_believed_nowhere(
    session: Session, configure: Any, model: Any, protocol: str, heard: list[Any]
) -> None:
    configure(protocol, window=32_000, maxOutput=1_000)
    session.user("word " * 1_000)
    session.assistant("I see.")
    model.plays(Say("Fine.", usage=(IMPOSSIBLE, 3)))
    before = session.check().size
    for _ in range(3):
        session.send("And now?", on_event=heard.append)
    shown = session.context()["compaction"]
    assert session.record.compactions == 0
    assert shown["size_source"] == "estimate"
    assert "provider_input_tokens" not in shown
    assert shown["estimated_input_tokens"] < 2 * before
    assert session.prepare().size.tokens < 2 * before
    assert all(event.used < 2 * before for event in heard if isinstance(event, events.UsageChanged))
    assert [each.usage["input_tokens"] for each in session.requests()] == [IMPOSSIBLE] * 3  # as it was reported


def test_impossible_usage_of_a_blank_answer_is_no_overflow(session: Session, model: Any) -> None:
    model.plays(Say("", usage=(IMPOSSIBLE, 0)))
    assert session.send("Hello").stop == "end"


def test_a_count_of_a_part_alone_is_not_believed_either(wide: Session, model: Any) -> None:
    """Some gateways count what no cache held."""
    model.plays(lambda body: Say("Fine.", usage=(9, 3)))
    for _ in range(3):
        wide.send("x y z w. " * 900)
    size = wide.context()["compaction"]["estimated_input_tokens"]
    assert size > 12_000
    assert wide.prepare().size.source == "estimate"


def test_an_impossible_count_before_sending_is_not_believed(session: Session, configure: Any, model: Any) -> None:
    configure("anthropic", count=True, window=32_000, maxOutput=1_000)
    model.count = lambda body: {"input_tokens": IMPOSSIBLE}
    model.plays(Say("Fine."))
    session.send("Hello")
    assert model.counted
    assert session.record.compactions == 0
    assert session.context()["compaction"]["size_source"] == "estimate"


def test_an_impossible_count_in_a_refusal_is_not_believed(wide: Session, model: Any) -> None:
    words = (
        f"This model's maximum context length is 5000 tokens. However, your messages resulted in {IMPOSSIBLE} tokens."
    )
    model.plays(full_and(Refuse(400, {"error": {"message": words, "code": "context_length_exceeded"}}), limit=5_000))
    assert wide.send("And now?").text == "Fine."
    assert tokens_of(model.asked[-1]) > 500  # less was folded than the count would have asked for
    assert "elided" not in json.dumps(model.asked[-1])
