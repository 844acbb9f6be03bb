"""Rows become messages in an order that every provider accepts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refold import Call, Model, Replay, Row, SourceRef
from refold.prepare.messages import LATE, UNANSWERED, for_model, for_model_with_sources
from refold.values.messages import AssistantMessage, Message, ResultMessage, UserMessage

MODEL = Model(id="m", protocol="openai-chat", owner="acme:1:m")


def rows(*parts: Row) -> list[Row]:
    """The parts with seq, turn and step as the transcript would give them."""
    turn = step = 0
    numbered = []
    for seq, part in enumerate(parts, 1):
        if part.opens:
            turn, step = turn + 1, 0
        step += part.kind == "assistant"
        numbered.append(
            Row(SourceRef("s", seq), part.kind, turn, step, part.opens, part.event, part.text, part.calls,
                part.call_id, part.ok, part.images, part.replay)
        )  # fmt: skip
    return numbered


def user(text: str, opens: bool = True) -> Row:
    return Row(SourceRef("", 0), "user", 0, 0, opens=opens, text=text)


def answer(text: str, *calls: str) -> Row:
    made = tuple(Call(id=call, name="read", arguments={"path": call}) for call in calls)
    return Row(SourceRef("", 0), "assistant", 0, 0, text=text, calls=made)


def result(call: str, text: str = "done") -> Row:
    return Row(SourceRef("", 0), "result", 0, 0, call_id=call, text=text)


def event(kind: str = "notice") -> Row:
    return Row(SourceRef("", 0), "event", 0, 0, event=kind, text="an event")


def opaque(owner: str) -> Row:
    return Row(SourceRef("", 0), "replay", 0, 0, replay=Replay(owner, "{}"))


def said(*parts: Row) -> list[str]:
    return [describe(message) for message in for_model(rows(*parts), MODEL)]


def describe(message: Message) -> str:
    match message:
        case UserMessage(text=text):
            return f"user {text}"
        case AssistantMessage(text=text, calls=calls):
            return f"assistant {text}" + "".join(f" [{call.id}]" for call in calls)
        case ResultMessage(call_id=call, text=text):
            return f"result {call} {text}"
        case Replay(owner=owner):
            return f"replay {owner}"


CASES = {
    "results come in the order of the calls": (
        [user("hi"), answer("", "a", "b"), result("b", "B"), result("a", "A")],
        ["user hi", "assistant  [a] [b]", "result a A", "result b B"],
    ),
    "a call without a result gets a stub": (
        [user("hi"), answer("", "a"), user("again")],
        ["user hi", "assistant  [a]", f"result a {UNANSWERED}", "user again"],
    ),
    "a result behind the next turn's start becomes words": (
        [user("hi"), answer("", "a"), user("again"), result("a", "A")],
        ["user hi", "assistant  [a]", f"result a {UNANSWERED}", "user again", "user " + LATE.format(call="a") + "\nA"],
    ),
    "a second result of one call becomes words": (
        [user("hi"), answer("", "a"), result("a", "A"), result("a", "B")],
        ["user hi", "assistant  [a]", "result a A", "user " + LATE.format(call="a") + "\nB"],
    ),
    "a follow-up between call and result stands behind the result": (
        [user("hi"), answer("", "a"), user("and", opens=False), result("a", "A")],
        ["user hi", "assistant  [a]", "result a A", "user and"],
    ),
    "two calls with one id take one result each": (
        [user("hi"), answer("", "a", "a"), result("a", "A"), result("a", "B")],
        ["user hi", "assistant  [a] [a]", "result a A", "result a B"],
    ),
    "a repeated id in a later step pairs with its own step": (
        [user("hi"), answer("", "a"), result("a", "A"), answer("", "a"), result("a", "B")],
        ["user hi", "assistant  [a]", "result a A", "assistant  [a]", "result a B"],
    ),
    "blank rows and events are not sent": (
        [event(), user("hi"), answer("  "), event("command"), answer("yes")],
        ["user hi", "assistant yes"],
    ),
    "an opaque item goes to its owner with the answer it belongs to": (
        [user("hi"), opaque("acme:1:m"), answer("yes")],
        ["user hi", "replay acme:1:m", "assistant yes"],
    ),
    "another model's opaque item is not sent": (
        [user("hi"), opaque("other"), answer("yes")],
        ["user hi", "assistant yes"],
    ),
    "an opaque item without an answer is not sent": (
        [user("hi"), opaque("acme:1:m"), user("more")],
        ["user hi", "user more"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_become_legal_messages(name: str) -> None:
    history, expected = CASES[name]
    assert said(*history) == expected


def test_every_message_names_its_rows_and_a_stub_names_none() -> None:
    found = for_model_with_sources(rows(user("hi"), answer("", "a", "b"), result("a", "A")), MODEL)
    assert [[ref.seq for ref in refs] for _, refs in found] == [[1], [2], [3], []]


def test_results_in_any_order_stand_in_the_order_of_their_calls() -> None:
    ids = [f"c{n}" for n in range(5_000)]
    found = for_model(rows(user("hi"), answer("", *ids), *[result(id, id) for id in reversed(ids)]), MODEL)
    assert [message.text for message in found if isinstance(message, ResultMessage)] == ids
    assert len(found) == 2 + len(ids)


part = st.one_of(
    st.builds(user, st.sampled_from(["", "hi"]), st.booleans()),
    st.builds(lambda calls: answer("t", *calls), st.lists(st.sampled_from("abc"), max_size=3)),
    st.builds(result, st.sampled_from("abcd")),
    st.builds(opaque, st.sampled_from(["acme:1:m", "other"])),
    st.builds(event),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(part, max_size=20))
def test_every_result_directly_follows_its_call_whatever_the_history(parts: list[Row]) -> None:
    waiting: list[str] = []
    for message in for_model(rows(*parts), MODEL):
        if isinstance(message, ResultMessage):
            assert waiting
            assert message.call_id == waiting.pop(0)
        else:
            assert not waiting
            if isinstance(message, AssistantMessage):
                waiting = [call.id for call in message.calls]
            if isinstance(message, UserMessage):
                assert message.text.strip()
    assert not waiting


@settings(max_examples=200, deadline=None)
@given(st.lists(part, max_size=16), st.lists(part, max_size=6))
def test_a_longer_history_extends_the_messages_once_every_call_is_answered(first: list[Row], more: list[Row]) -> None:
    before, after = for_model(rows(*first), MODEL), for_model(rows(*first, *more), MODEL)
    if any(isinstance(message, ResultMessage) and message.text == UNANSWERED for message in before):
        return
    assert after[: len(before)] == before


@settings(max_examples=100, deadline=None)
@given(st.lists(part, max_size=20))
def test_no_word_of_a_user_or_result_row_is_lost(parts: list[Row]) -> None:
    history = rows(*parts)
    sources = {ref for _, refs in for_model_with_sources(history, MODEL) for ref in refs}
    for row in history:
        if row.kind in ("user", "result") and row.text.strip():
            assert row.ref in sources
