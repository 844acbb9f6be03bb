"""What a request measures, who counted it, and compaction inside a turn with summaries by a model."""

from __future__ import annotations

import json
from typing import Any

import pytest
from refold import Host, Refused, Session
from refold.agent import events
from refold.agent.tools import HostTool
from refold.values.errors import CompactionFailed

from .wires import Refuse, Say, too_large

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
PROSE = "They went through part0, part1, part2, part3 and so on, one by one, and noted what each returns. "


def compaction(session: Session) -> dict[str, Any]:
    shown: dict[str, Any] = session.context()["compaction"]
    return shown


def summaries(session: Session) -> list[tuple[str, str]]:
    return [(each.model, each.outcome) for each in session.requests() if each.kind == "summary"]


# Who counted


def test_without_usage_the_size_is_an_estimate_and_context_says_so(session: Session, model: Any) -> None:
    model.plays(Say("Hi."))
    session.send("Hello")
    shown = compaction(session)
    assert (shown["size_source"], "counted_tokens" in shown, "provider_input_tokens" in shown) == (
        "estimate",
        False,
        False,
    )
    assert "not counted by the provider" in shown["estimate_method"]


def test_reported_usage_is_the_base_of_the_next_request_and_only_what_is_new_is_estimated(
    session: Session, model: Any
) -> None:
    model.plays(Say("Hi.", usage=(5_000, 2), cached=4_000))
    session.send("Hello")
    shown = compaction(session)
    assert (shown["size_source"], shown["provider_input_tokens"], shown["provider_cached_input_tokens"]) == (
        "estimate",
        5_000,
        4_000,
    )
    session.send("word " * 100)
    shown = compaction(session)
    assert (shown["size_source"], shown["counted_tokens"]) == ("reported_usage", 5_000)
    assert 5_080 < shown["estimated_input_tokens"] < 5_500


def test_what_reports_teach_does_not_count_twice(session: Session, model: Any) -> None:
    """A provider that counts twice the estimate: the next request is its count and little more."""
    model.plays(lambda body: Say("Hi.", usage=(len(json.dumps(body["messages"])) // 2, 2)))
    session.user("word " * 1_500)
    session.assistant("I see.")
    session.send("Well?")
    for _ in range(4):
        session.send("And?")
        reported = session.requests()[-1].tokens or 0
        assert abs(compaction(session)["estimated_input_tokens"] - reported) < 100


def test_usage_of_another_model_or_from_before_a_compaction_is_ignored(
    session: Session, model: Any, configure: Any, talk: Any
) -> None:
    configure(window=32_000, models={"local/other": {"window": 32_000}})
    talk(session, 10)
    model.plays(Say("Hi.", usage=(9_000, 2)))
    session.send("Hello")
    session.use_model("other")
    session.prepare()
    assert compaction(session)["size_source"] == "estimate"
    session.use_model("local/m")
    session.prepare()
    assert compaction(session)["size_source"] == "reported_usage"
    session.compact(4_000)
    assert compaction(session)["size_source"] == "estimate"
    assert "provider_input_tokens" not in compaction(session)


def test_the_count_endpoint_is_asked_where_it_is_on(host: Host, model: Any, configure: Any) -> None:
    configure("anthropic", count=True, window=32_000, maxOutput=1_000)
    session = host.new("s")
    model.count = lambda body: {"input_tokens": 321}
    model.plays(Say("Hi.", usage=(321, 2)))
    session.send("Hello")
    shown = compaction(session)
    assert (shown["size_source"], shown["estimated_input_tokens"], shown["counted_tokens"]) == (
        "count_endpoint",
        321,
        321,
    )
    assert model.counted[0]["messages"] == model.asked[0]["messages"] or len(model.counted) == 1


def test_a_count_endpoint_that_fails_is_no_fault_of_the_turn(host: Host, model: Any, configure: Any) -> None:
    configure("anthropic", count=True, window=32_000, maxOutput=1_000)
    session = host.new("s")
    model.plays(Say("Hi.", usage=(12, 2)))
    assert session.send("Hello").text == "Hi."
    assert compaction(session)["size_source"] == "estimate"


# The room for a reply

ROOMS = {
    "as much output as the window holds": (8_192, 8_192, 6_144),
    "more output than the window holds": (4_096, 100_000, 3_072),
    "a window so small that a reply has little room": (400, 8_192, 300),
    "little output": (8_192, 1_000, 7_192),
    "a large window": (200_000, 64_000, 180_000),
}


@pytest.mark.parametrize(("window", "most", "full"), ROOMS.values(), ids=ROOMS)
def test_a_reply_is_kept_room_for_but_never_more_than_a_quarter_of_the_window(
    window: int, most: int, full: int, session: Session, configure: Any
) -> None:
    """`full` is the largest request that leaves the room, or the trigger (90 %) where that is less."""
    configure(window=window, maxOutput=most)
    full = min(full, window * 90 // 100 - 1)
    assert not session.check().due
    fixed = session.check().size
    session.user("word " * 3)
    row = session.check().size - fixed
    while (size := session.check().size) + row <= full:
        session.user("word " * max(3, (full - size - 2 * row) * 3 // 4))
    assert not session.check().due
    session.user("word " * 3)
    session.user("word " * 3)
    assert session.check().size > full
    assert session.check().due


def test_a_model_whose_output_fills_its_window_answers_without_a_compaction(
    session: Session, model: Any, configure: Any
) -> None:
    configure(window=8_192, maxOutput=8_192)
    model.plays(Say("Hi."))
    for _ in range(3):
        session.send("Hello")
    assert session.record.compactions == 0
    assert not session.context()["notices"]


# Compaction inside a turn


@pytest.fixture
def full(session: Session, configure: Any, talk: Any) -> Session:
    """A history that is due for compaction; summaries are written by `local/sum`, else by `local/spare`."""
    configure(
        window=8_000,
        maxOutput=500,
        models={"local/sum": {"window": 4_000, "maxOutput": 800}, "local/spare": {"window": 16_000}},
        summarizer={"model": "local/sum", "fallbacks": ["local/spare"]},
    )
    talk(session, 20)
    return session


def test_a_due_request_is_compacted_by_the_summarizing_model_before_it_is_sent(
    full: Session, model: Any, heard: list[Any]
) -> None:
    model.summaries[:] = [Say(PROSE * 4, usage=(1_000, 80))]
    model.plays(Say("Part 3 returns 3."))
    assert full.send("What does part 3 return?", on_event=heard.append).text == "Part 3 returns 3."
    assert full.record.compactions == 1
    assert PROSE.strip() in json.dumps(model.asked[0])
    assert len(model.asked) == 1
    names = [event.name for event in heard if event.name.startswith("compaction") or event.name == "usage"]
    assert names[0] == "compaction_started"
    assert names[1:-3] == ["compaction_pass"] * len(names[1:-3])
    assert names[-3:] == ["compaction_finished", "usage", "usage"]
    passes = [(event.done, event.total) for event in heard if isinstance(event, events.CompactionPass)]
    assert passes[0][0] == 0
    assert passes[-1][0] == passes[-1][1] > 1


def test_calls_of_summarizers_are_booked_apart_with_their_usage(full: Session, model: Any) -> None:
    model.summaries[:] = [Say(PROSE * 4, usage=(1_000, 80), cached=10)]
    model.plays(Say("Three.", usage=(700, 2)))
    full.send("What does part 3 return?")
    booked = full.requests()
    assert [each.kind for each in booked] == ["summary"] * (len(booked) - 1) + ["answer"]
    assert {(each.model, each.tokens, each.usage["output_tokens"]) for each in booked[:-1]} == {
        ("local/sum", 1_000, 80)
    }
    assert all(body["model"] == "sum" and "tools" not in body for body in model.summarized)
    assert all(body["max_tokens"] <= 800 for body in model.summarized)


def test_a_summarizer_that_fails_is_followed_by_its_fallbacks_and_then_the_sessions_model(
    full: Session, model: Any
) -> None:
    model.summaries[:] = [
        lambda body: Say(PROSE * 3) if body["model"] == "m" else Refuse(401, {"error": {"message": "no"}}),
    ]
    model.plays(Say("Three."))
    full.send("What does part 3 return?")
    asked = [name for name, _ in summaries(full)]
    assert asked[:3] == ["local/sum", "local/spare", "local/m"]
    assert full.record.compactions == 1


def test_when_every_summarizer_fails_the_turn_goes_on_with_the_old_view_and_says_so(
    full: Session, model: Any, heard: list[Any]
) -> None:
    model.summaries[:] = [Refuse(401, {"error": {"message": "no"}})]
    model.plays(Say("Three."))
    assert full.send("What does part 3 return?", on_event=heard.append).text == "Three."
    assert full.record.compactions == 0
    [ended] = [event for event in heard if isinstance(event, events.CompactionFinished)]
    assert ended.outcome is None
    assert "no summarizer gave a summary" in ended.failure
    assert any("automatic compaction" in event.text for event in heard if isinstance(event, events.Noticed))
    assert not any("offline" in name for name, _ in summaries(full))


def test_a_pass_that_is_refused_as_too_large_is_halved(full: Session, model: Any) -> None:
    def summarize(body: dict[str, Any]) -> Any:
        size = len(body["messages"][-1]["content"]) // 3
        return too_large(1_200, size) if size > 1_200 else Say(PROSE * 3)

    model.summaries[:] = [summarize]
    model.plays(Say("Three."))
    full.send("What does part 3 return?")
    assert full.record.compactions == 1
    outcomes = [outcome for name, outcome in summaries(full) if name == "local/sum"]
    assert outcomes[0] == "too_large"
    assert outcomes[-1] == "ok"


def test_automatic_compaction_rests_for_the_turn_once_it_did_not_help(
    session: Session, model: Any, configure: Any, heard: list[Any]
) -> None:
    configure(window=4_000, maxOutput=500)
    session.tools = (HostTool("read", "Reads.", SCHEMA, lambda arguments: "a line\n" * 900),)
    call = Say("", (("c", "read", {}),))
    model.plays(call, call, call, Say("Done."))
    session.send("Read it", on_event=heard.append)
    due = [event for event in heard if isinstance(event, events.Noticed) and "stays due" in event.text]
    assert len(due) == 1
    assert "Fixed parts take" in due[0].text
    assert "automatic compaction rests until the next turn" in due[0].text


# Asked for


def test_the_model_may_ask_for_compaction_and_its_own_call_stays(full: Session, model: Any, configure: Any) -> None:
    configure(window=64_000, maxOutput=500, models={"local/sum": {"window": 16_000}})
    model.summaries[:] = [Say(PROSE * 4)]
    ask = (("c", "compact_context", {"instructions": "keep the figures", "model": "sum"}),)
    model.plays(Say("Too much.", ask), Say("Lighter now."))
    assert full.send("Tidy up").text == "Lighter now."
    offered = {tool["function"]["name"]: tool["function"] for tool in model.asked[0]["tools"]}
    assert "local/sum" in offered["compact_context"]["parameters"]["properties"]["model"]["description"]
    result = full.rows()[-2]
    assert (result.kind, result.ok) == ("result", True)
    assert result.text.startswith("context compacted: rows 1-")
    assert all("keep the figures" in body["messages"][0]["content"] for body in model.summarized)
    sent = json.dumps(model.asked[-1]["messages"])
    assert "compact_context" in sent
    assert "Tidy up" in sent
    assert len(sent) < len(json.dumps(model.asked[0]["messages"])) // 2


@pytest.mark.parametrize("arguments", [{"model": "nope"}, {"model": 7}])
def test_a_wrong_wish_of_the_model_is_an_error_result(full: Session, model: Any, arguments: Any) -> None:
    model.summaries[:] = [Say(PROSE * 4)]
    model.plays(Say("", (("c", "compact_context", arguments),)), Say("Well."))
    full.send("Tidy up")
    result = full.rows()[-2]
    assert not result.ok
    assert "unknown model" in result.text


def test_with_compaction_off_the_tool_is_not_offered_and_does_not_run(full: Session, model: Any, home: Any) -> None:
    (home / "extensions.json").write_text('{"compaction": {"enable": false}}')
    full.host.reload()
    model.plays(Say("", (("c", "compact_context", {}),)), Say("Well."))
    full.send("Tidy up")
    assert "no tool is named 'compact_context'" in full.rows()[-2].text
    assert full.record.compactions == 0
    with pytest.raises(Refused, match=r"compaction\.enable is false"):
        full.compact()


def test_a_level_of_reasoning_reaches_the_summarizer_and_one_that_takes_none_is_asked_without(
    full: Session, model: Any
) -> None:
    def summarize(body: dict[str, Any]) -> Any:
        return Refuse(400, {"error": {"message": "unknown field"}}) if "reasoning_effort" in body else Say(PROSE * 4)

    model.summaries[:] = [summarize]
    full.compact(reasoning="HIGH")
    assert model.summarized[0]["reasoning_effort"] == "high"
    assert summaries(full)[:2] == [("local/sum", "malformed"), ("local/sum", "ok")]
    with pytest.raises(Refused, match="reasoning 'ultra' is not offered"):
        full.compact(reasoning="ultra")


def test_a_failed_manual_compaction_is_the_callers_error_and_changes_nothing(
    full: Session, model: Any, heard: list[Any]
) -> None:
    model.summaries[:] = [Refuse(401, {"error": {"message": "no"}})]
    with pytest.raises(CompactionFailed):
        full.compact(on_event=heard.append)
    assert (heard[0].name, heard[-1].name) == ("compaction_started", "compaction_finished")
    assert full.record.compactions == 0
