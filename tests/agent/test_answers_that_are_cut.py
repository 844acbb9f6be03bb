"""An answer that the output limit cuts is gone on with, and its parts are one."""

from __future__ import annotations

from typing import Any

import pytest
from refold import Host, Session
from refold.agent import events
from refold.agent.tools import HostTool
from refold.providers.failures import ProviderError

from .wires import Refuse, Say, too_large

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}
LESS = "max_tokens is too large: 9000. This model supports at most 700 completion tokens, whereas you provided 9000."


def reader() -> HostTool:
    return HostTool("read", "Reads a file.", SCHEMA, lambda arguments: "text")


def kinds(session: Session) -> list[str]:
    return [row.kind for row in session.rows()]


def noticed(heard: list[Any]) -> list[str]:
    return [event.text for event in heard if isinstance(event, events.Noticed)]


def test_an_answer_that_the_output_limit_cuts_is_continued_and_is_one_row(session: Session, model: Any) -> None:
    model.plays(
        Say("One, two, ", stop="length", usage=(9, 3)), Say("three, ", stop="length"), Say("four.", usage=(20, 2))
    )
    finished = session.send("Count")
    assert (finished.stop, finished.text) == ("end", "One, two, three, four.")
    assert [row.text for row in session.rows()] == ["Count", "One, two, three, four."]
    assert model.texts(1)[-2][1] == "One, two, "
    assert model.texts(2)[-2][1] == "One, two, three, "
    assert [each.replaced for each in session.requests()] == [False, True, True]
    assert session.requests()[0].tokens == 9


def test_continuing_is_bounded_and_what_came_stays(session: Session, model: Any) -> None:
    model.plays(Say("on and ", stop="length"))
    finished = session.send("Talk")
    assert finished.stop == "length"
    assert finished.text == "on and " * len(model.asked)
    assert len(model.asked) == 4
    assert session.rows()[-1].text == finished.text


def test_when_the_rest_of_a_cut_answer_fails_its_beginning_is_kept(
    session: Session, model: Any, heard: list[Any]
) -> None:
    model.plays(Say("The beginning.", stop="length"), Refuse(400, {"error": {"message": "no"}}))
    finished = session.send("Talk", on_event=heard.append)
    assert (finished.stop, finished.text) == ("length", "The beginning.")
    assert session.rows()[-1].text == "The beginning."
    assert any("its rest did not come" in event.text for event in heard if isinstance(event, events.Noticed))


def test_calls_of_an_answer_that_was_cut_off_do_not_run(session: Session, model: Any) -> None:
    session.tools = (reader(),)
    model.plays(Say("", (("c", "read", '{"path": "a'),), stop="length"))
    assert session.send("Read a").stop == "length"
    assert kinds(session) == ["user", "assistant"]
    assert session.rows()[-1].calls == ()


def test_going_on_repeats_the_request_and_adds_to_its_end(session: Session, model: Any) -> None:
    model.plays(Say("One, ", stop="length"), Say("two.", usage=(20, 2)))
    session.send("Count")
    assert model.asked[1]["messages"][:-2] == model.asked[0]["messages"]


def test_the_usage_of_an_answer_in_parts_is_that_of_its_last_request(
    session: Session, model: Any, heard: list[Any]
) -> None:
    model.plays(Say("One, ", stop="length", usage=(9, 3)), Say("two.", usage=(20, 2)))
    session.send("Count", on_event=heard.append)
    assert [event.used for event in heard if isinstance(event, events.UsageChanged)] == [22]
    assert session.context()["compaction"]["provider_input_tokens"] == 20


def test_context_shows_the_answer_so_far_that_a_request_went_on_with(session: Session, model: Any) -> None:
    model.plays(Say("One, ", stop="length"), Say("two."))
    session.send("Count")
    sections = {section["id"]: section for section in session.context()["sections"]}
    assert [id for id in sections if not id.startswith("extension-")] == ["tail", "answer-so-far", "tools"]
    assert sections["answer-so-far"]["item_count"] == 2
    assert "One, " in session.context_page("answer-so-far")["content"]
    model.plays(Say("Fine."))
    session.send("Thanks")
    shown = session.context()
    assert "answer-so-far" not in {section["id"] for section in shown["sections"]}


def test_the_trigger_is_checked_before_an_answer_is_gone_on_with(
    session: Session, configure: Any, talk: Any, model: Any, heard: list[Any]
) -> None:
    configure(window=12_000, maxOutput=2_000)
    talk(session, 15)
    size = session.check().size
    assert not session.check().due
    model.plays(Say("word " * (10_500 - size), stop="length"), Say("the end."))
    finished = session.send("Tell me", on_event=heard.append)
    assert finished.text.endswith("the end.")
    assert [event.demand for event in heard if isinstance(event, events.CompactionStarted)] == ["automatic"]
    assert len(model.asked[1]["messages"]) < len(model.asked[0]["messages"])
    assert model.texts(1)[-2][1].startswith("word word")
    assert kinds(session)[-2:] == ["user", "assistant"]


def test_a_rest_that_is_refused_as_too_large_is_asked_for_again_after_a_compaction(
    session: Session, talk: Any, model: Any, heard: list[Any]
) -> None:
    talk(session, 15)
    model.plays(Say("One, ", stop="length"), too_large(6_000, 8_500), Say("two."))
    assert session.send("Count", on_event=heard.append).text == "One, two."
    assert [event.demand for event in heard if isinstance(event, events.CompactionStarted)] == ["overflow"]
    assert [text for _, text in model.texts(2)[-2:]] == ["One, ", model.texts(1)[-1][1]]


def test_when_the_rest_fails_after_a_compaction_context_shows_the_folded_request(
    session: Session, configure: Any, talk: Any, model: Any, heard: list[Any]
) -> None:
    configure(window=12_000, maxOutput=2_000)
    talk(session, 15)
    text = "word " * (10_500 - session.check().size)
    model.plays(Say(text, stop="length", usage=(9_900, 2_000)), Refuse(400, {"error": {"message": "no"}}))
    assert session.send("Tell me", on_event=heard.append).stop == "length"
    shown = session.context()["compaction"]
    assert shown["compacted"]
    assert "provider_input_tokens" not in shown
    used = [event.used for event in heard if isinstance(event, events.UsageChanged)][-1]
    assert abs(used - session.check().size) < 250


def test_one_step_recovers_once_in_all_its_parts(session: Session, talk: Any, model: Any, heard: list[Any]) -> None:
    talk(session, 15)
    model.plays(too_large(6_000, 8_500), Say("One, ", stop="length"), too_large(2_000, 3_000), Say("two."))
    finished = session.send("Count", on_event=heard.append)
    assert (finished.stop, finished.text) == ("length", "One, ")
    assert len(model.asked) == 3
    assert any("its rest did not come" in text for text in noticed(heard))


def test_a_provider_that_gives_less_output_is_asked_for_less_and_remembered(
    host: Host, configure: Any, model: Any, heard: list[Any]
) -> None:
    configure(window=32_000, maxOutput=9_000)
    session = host.new()
    model.plays(Refuse(400, {"error": {"message": LESS, "type": "invalid_request_error"}}), Say("Fine."))
    assert session.send("Hi", on_event=heard.append).text == "Fine."
    session.send("Again")
    assert [body["max_tokens"] for body in model.asked] == [9_000, 700, 700]
    assert any("gives at most 700 tokens of output" in text for text in noticed(heard))
    assert session.record.compactions == 0


def test_a_limit_that_is_exclusive_is_one_less(host: Host, configure: Any, model: Any) -> None:
    configure(window=32_000, maxOutput=9_000)
    session = host.new()
    words = "it has a maxOutputTokens value of 9000 but the supported range is from 1 (inclusive) to 8193 (exclusive)."
    model.plays(Refuse(400, {"error": {"message": f"Unable to submit request because {words}"}}), Say("Fine."))
    assert session.send("Hi").text == "Fine."
    assert [body["max_tokens"] for body in model.asked] == [9_000, 8_192]


def test_a_lower_limit_of_the_file_counts_beside_a_learnt_one(host: Host, configure: Any, model: Any) -> None:
    configure(window=10_000, maxOutput=8_000)
    session = host.new()
    model.plays(Refuse(400, {"error": {"message": LESS, "type": "invalid_request_error"}}), Say("Fine."))
    session.send("Hi")
    assert not session.check().due
    configure(window=10_000, maxOutput=300)
    session.send("Again")
    assert [body["max_tokens"] for body in model.asked][1:] == [700, 300]


def test_a_rest_that_breaks_off_is_marked(session: Session, model: Any) -> None:
    model.plays(Say("One, ", stop="length"), Say("two, three, four", end="cut"))
    assert session.send("Count").stop == "length"
    text = session.rows()[-1].text
    assert text.startswith("One, two")
    assert text.endswith("\n[the answer broke off here]")


def test_an_answer_without_usage_counts_as_it_is_estimated(session: Session, model: Any, heard: list[Any]) -> None:
    model.plays(Say("word " * 3_000))
    session.send("Hi", on_event=heard.append)
    used = [event.used for event in heard if isinstance(event, events.UsageChanged)][-1]
    assert abs(used - session.check().size) < 250  # the tool of compaction


def test_an_answer_so_far_that_fills_the_window_is_not_blamed_on_fixed_parts(
    session: Session, configure: Any, talk: Any, model: Any, heard: list[Any]
) -> None:
    configure(window=4_000, maxOutput=1_000)
    talk(session, 2)
    model.plays(Say("word " * 4_500, stop="length"), Say("the end."))
    session.send("Tell me", on_event=heard.append)
    assert not any("system prompt, context and tools" in text for text in noticed(heard))
    assert any("does not fit the window of 4,000" in text for text in noticed(heard))


def test_a_provider_that_refuses_what_it_allowed_is_not_asked_for_ever(host: Host, configure: Any, model: Any) -> None:
    configure(window=32_000, maxOutput=9_000)
    model.plays(Refuse(400, {"error": {"message": LESS, "type": "invalid_request_error"}}))
    with pytest.raises(ProviderError, match="refused the length of the answer"):
        host.new().send("Hi")
    assert len(model.asked) == 2
