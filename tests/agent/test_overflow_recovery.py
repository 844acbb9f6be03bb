"""A request that the provider refuses as too large is made smaller and asked again, once a step."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refold import Host, Session
from refold.agent import events
from refold.agent.tools import HostTool
from refold.agent.turn import Overflow
from refold.providers.failures import Interrupted

from .wires import Refuse, Say, too_large

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
BYTES_A_TOKEN = 3


def tokens_of(body: dict[str, Any]) -> int:
    """As the scripted server counts: by bytes, more than refold estimates."""
    return len(json.dumps([body["messages"], body.get("tools")]).encode()) // BYTES_A_TOKEN


def serves(limit: int, play: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    """A server with so many tokens for prompt and answer together, as llama.cpp and vLLM have it."""

    def answer(body: dict[str, Any]) -> Any:
        counted = tokens_of(body)
        return too_large(limit, counted) if counted >= limit else play(body)

    return answer


def noticed(heard: list[Any]) -> str:
    return " | ".join(event.text for event in heard if isinstance(event, events.Noticed))


def finished(heard: list[Any]) -> list[events.CompactionFinished]:
    return [event for event in heard if isinstance(event, events.CompactionFinished)]


@pytest.fixture
def wide(session: Session, configure: Any, talk: Any) -> Session:
    """Ten thousand tokens of history under a window that is said to be far larger than what is served."""
    configure(window=200_000, maxOutput=500)
    talk(session, 20)
    return session


def test_a_server_that_serves_less_than_configured_is_recovered(wide: Session, model: Any, heard: list[Any]) -> None:
    model.plays(serves(8_000, lambda body: Say("Fine.", usage=(tokens_of(body), 3))))
    assert wide.send("And now?", on_event=heard.append).text == "Fine."
    assert len(model.asked) == 2
    assert tokens_of(model.asked[1]) < 8_000
    assert wide.record.compactions == 1
    assert [event.demand for event in heard if isinstance(event, events.CompactionStarted)] == ["overflow"]
    assert "the provider refused the request as too large" in noticed(heard)
    assert [(each.kind, each.outcome, each.replaced) for each in wide.requests() if each.kind == "answer"] == [
        ("answer", "too_large", True),
        ("answer", "ok", False),
    ]
    shown = wide.context()
    assert (shown["context_window_tokens"], shown["context_window_source"]) == (8_000, "refused at 8,000")


def test_the_learnt_limit_holds_so_the_next_request_is_not_refused_again(wide: Session, model: Any, talk: Any) -> None:
    model.plays(serves(8_000, lambda body: Say("Fine.", usage=(tokens_of(body), 3))))
    wide.send("And now?")
    asked = len(model.asked)
    for n in range(6):
        wide.user(f"Note {n}")
        wide.assistant("What part0, part1 and part2 of /src say. " * 120)
        assert wide.send("Still fine?").text == "Fine."
    assert len(model.asked) == asked + 6
    assert {each.outcome for each in wide.requests()[2:]} == {"ok"}


def test_the_learnt_limit_ends_with_the_model(wide: Session, model: Any, configure: Any) -> None:
    model.plays(serves(8_000, lambda body: Say("Fine.")))
    wide.send("And now?")
    configure(window=200_000, maxOutput=500, models={"local/other": {"window": 64_000}})
    wide.use_model("other")
    model.plays(Say("Fine."))
    wide.send("And with you?")
    assert wide.context()["context_window_tokens"] == 64_000


def test_a_refusal_without_numbers_is_recovered_too(wide: Session, model: Any) -> None:
    model.plays(Refuse(400, {"error": {"message": "prompt is too long"}}), Say("Fine."))
    assert wide.send("And now?").text == "Fine."
    assert tokens_of(model.asked[1]) < tokens_of(model.asked[0])


def test_too_many_bytes_are_recovered_and_teach_no_window(wide: Session, model: Any) -> None:
    model.plays(Refuse(413, {"error": {"message": "Request entity too large"}}), Say("Fine."))
    assert wide.send("And now?").text == "Fine."
    assert wide.context()["context_window_tokens"] == 200_000


def test_where_the_answer_alone_does_not_fit_the_revealed_window_is_the_providers(wide: Session, model: Any) -> None:
    words = "This model's maximum context length is 12000 tokens. However, you requested 12300 tokens (11800 in the"
    refused = Refuse(400, {"error": {"message": f"{words} messages, 500 in the completion)."}})
    model.plays(refused, Say("Fine."))
    assert wide.send("And now?").text == "Fine."
    assert wide.context()["context_window_source"] == "refused at 12,000"


def results(body: dict[str, Any]) -> list[str]:
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


def stepping(steps: int) -> Callable[[dict[str, Any]], Any]:
    """Calls the tool `look` once a request, so many times, then answers."""
    calls = iter(range(steps))

    def play(body: dict[str, Any]) -> Any:
        n = next(calls, None)
        return Say("That was all.") if n is None else Say(f"Step {n}.", ((f"call_{n}", "look", {"n": n}),))

    return play


def look(words: int = 500) -> HostTool:
    def call(arguments: Any) -> str:
        return f"part {arguments['n']}: " + f"line of {arguments['n']} " * words

    return HostTool("look", "Looks at a part.", SCHEMA, call)


def test_where_nothing_can_be_folded_the_oldest_results_of_the_turn_become_one_line(
    session: Session, model: Any, configure: Any, heard: list[Any]
) -> None:
    configure(window=200_000, maxOutput=500)
    session.tools = (look(),)
    model.plays(serves(8_000, stepping(5)))
    assert session.send("Look at five parts", on_event=heard.append).text == "That was all."
    sent = [results(body) for body in model.asked if tokens_of(body) < 8_000]
    assert sent[-1][0].startswith("[elided: this result did not fit the model's window; row 3 of")
    assert sent[-1][-1].startswith("part 4: line of 4")
    for body in model.asked:
        assert not results(body) or not results(body)[-1].startswith("[elided")
    assert model.texts()[0] == ("user", "Look at five parts")
    assert all("line of" in row.text for row in session.rows() if row.kind == "result")  # the transcript is complete
    assert session.context()["compaction"]["facts"]["results shown as one line"]


def test_forty_steps_in_one_turn_fit_an_8k_window_and_end_with_the_answer(
    session: Session, model: Any, configure: Any, talk: Any, heard: list[Any]
) -> None:
    configure(window=8_192, maxOutput=512)
    talk(session, 6)
    session.tools = (look(120),)
    model.plays(serves(8_192, stepping(40)))
    assert session.send("Look at forty parts", on_event=heard.append).text == "That was all."
    rows = session.rows()
    assert len([row for row in rows if row.kind == "result" and row.turn == 7]) == 40
    answered = [body for body in model.asked if tokens_of(body) < 8_192]
    assert len(answered) == 41
    assert all(
        any(m["role"] == "user" and m["content"].endswith("Look at forty parts") for m in body["messages"])
        for body in answered
    )
    assert "part 39: " in results(answered[-1])[-1]
    refused = len(model.asked) - len(answered)
    assert refused < 20  # each recovery makes room for some steps, not for one


REFUSED_TWICE = [
    "refold estimated about",
    "the window is 200,000 tokens (models.json)",
    "against a limit of 4,000",
    "the request was made smaller and asked again, and refused again",
    "run /compact, start a new session, or split the task into smaller steps",
    "set the model's window in models.json to 4000",
    "This model's maximum context length is 4000 tokens",
]


def test_a_second_refusal_ends_the_turn_with_every_figure(wide: Session, model: Any) -> None:
    model.plays(lambda body: too_large(4_000, tokens_of(body) + 4_000))
    with pytest.raises(Overflow) as caught:
        wide.send("And now?")
    for words in REFUSED_TWICE:
        assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(model.asked) == 2
    assert wide.rows()[-1].text == "And now?"


def test_what_cannot_be_made_smaller_is_not_asked_again(session: Session, model: Any) -> None:
    model.plays(lambda body: too_large(100, tokens_of(body)))
    with pytest.raises(Overflow, match="the provider counted"):
        session.send("Hello? " * 100)
    assert len(model.asked) == 1


def test_nothing_is_recovered_after_text_was_seen(wide: Session, model: Any) -> None:
    model.plays(Say("Half of", end="cut"))
    with pytest.raises(Interrupted):
        wide.send("And now?")
    assert len(model.asked) == 1
    assert wide.record.compactions == 0


def test_with_auto_off_a_refusal_is_the_turns_error_and_nothing_is_folded(
    wide: Session, model: Any, home: Path
) -> None:
    (home / "extensions.json").write_text('{"compaction": {"auto": false}}')
    wide.host.reload()
    model.plays(lambda body: too_large(8_000, tokens_of(body)))
    with pytest.raises(Overflow, match="against a limit of 8,000"):
        wide.send("And now?")
    assert (len(model.asked), wide.record.compactions) == (1, 0)


VETO = """
@hookimpl
def pre_compact(context, event): return f"no {event.demand.kind} today"
"""


def test_a_veto_on_overflow_ends_the_turn_and_names_who_said_so(
    home: Path, model: Any, configure: Any, talk: Any, install: Any
) -> None:
    configure(window=200_000, maxOutput=500)
    install("guard", VETO)
    with Host(home) as host:
        session = host.new("s")
        talk(session, 20)
        model.plays(lambda body: too_large(8_000, tokens_of(body)))
        with pytest.raises(Overflow, match="guard refused the compaction: no overflow today") as caught:
            session.send("And now?")
    assert "against a limit of 8,000" in str(caught.value)
    assert len(model.asked) == 1


NOT_TOO_LARGE = {
    "rate": Refuse(
        429, {"error": {"message": "Rate limit reached: limit 30000, requested 40000 tokens per min (TPM)"}}
    ),
    "output": Refuse(400, {"error": {"message": "max_tokens is too large: 500. This model supports at most 100"}}),
    "quota": Refuse(429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}),
}


@pytest.mark.parametrize("refusal", NOT_TOO_LARGE.values(), ids=NOT_TOO_LARGE)
def test_other_refusals_are_not_taken_for_a_full_window(wide: Session, model: Any, refusal: Refuse) -> None:
    model.plays(refusal)
    with pytest.raises(Exception, match="provider local refused") as caught:
        wide.send("And now?")
    assert not isinstance(caught.value, Overflow)
    assert wide.record.compactions == 0


def test_each_step_may_recover_once(session: Session, model: Any, configure: Any, talk: Any, heard: list[Any]) -> None:
    configure(window=200_000, maxOutput=500)
    talk(session, 20)
    session.tools = (look(),)
    play = stepping(12)
    model.plays(lambda body: serves(8_000 if len(model.asked) < 8 else 4_000, play)(body))  # it serves less and less
    assert session.send("Look at all", on_event=heard.append).text == "That was all."
    assert noticed(heard).count("asked again") >= 2


def test_a_limit_learnt_in_a_turn_is_kept_before_sending_where_nothing_folds(
    session: Session, model: Any, configure: Any, talk: Any
) -> None:
    configure(window=200_000, maxOutput=500)
    talk(session, 20)
    session.tools = (look(),)
    model.plays(serves(8_000, stepping(20)))
    assert session.send("Look at all").text == "That was all."
    outcomes = [each.outcome for each in session.requests() if each.kind == "answer"]
    assert outcomes.count("too_large") == 1
    assert "[elided: this result" in json.dumps(model.asked[-1])


def test_an_empty_answer_at_the_limit_counts_as_a_refusal(
    session: Session, model: Any, configure: Any, talk: Any
) -> None:
    configure(window=8_000, maxOutput=500)
    talk(session, 8)
    model.plays(Say("", stop="length", usage=(7_999, 0)), Say("Fine."))
    assert session.send("And now?").text == "Fine."
    assert session.record.compactions == 1
