"""Which thinking goes back to a model that binds it, against the rules of a server that checks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import define, evolve, field
from hypothesis import given, settings
from hypothesis import strategies as st
from refold.providers.anthropic_answers import AnthropicDecoder
from refold.providers.bound_thinking import binds_thinking, outdated, stamped
from refold.providers.openai_chat_answers import ChatDecoder
from refold.providers.protocols import codec
from refold.values.errors import ProjectionFailed
from refold.values.messages import AssistantMessage, Message, Request, ResultMessage, ToolSpec, UserMessage
from refold.values.rows import Call, Image, Replay
from refold.values.sizes import Model

from tests import pictures
from tests.claude_server import Claude, Reply, signatures

MODEL = Model("claude-opus-5-5", "anthropic", "me", max_images=2, bound_thinking=True)
LOOK = ToolSpec("look", "Looks.", {"type": "object"})
READ = ToolSpec("read", "Reads.", {"type": "object"})


@pytest.mark.parametrize(
    ("id", "binds"),
    [
        ("claude-opus-5-5", True),
        ("claude-opus-5-5-20260930", True),
        ("claude-sonnet-5-5", True),
        ("claude-haiku-5-5@20260930", True),
        ("claude-fable-5-1", True),
        ("claude-fable-5-2", True),
        ("claude-mythos-5-1", True),
        ("claude-opus-6", True),
        ("claude-fable-6-1", True),
        ("us.anthropic.claude-opus-5-5-v1:0", True),
        ("global.anthropic.claude-fable-5-1", True),
        ("publishers/anthropic/models/claude-sonnet-5-5", True),
        ("anthropic/claude-opus-5.5", True),
        ("Claude-Haiku-5-5", True),
        ("claude-opus-5", False),
        ("claude-opus-5-20260801", False),
        ("claude-opus-5-1", False),
        ("claude-fable-5", False),
        ("claude-mythos-5", False),
        ("anthropic/claude-opus-4.8", False),
        ("claude-sonnet-4-5-20250929", False),
        ("anthropic.claude-sonnet-4-6-v1:0", False),
        ("claude-3-5-sonnet-20241022", False),
        ("claude-latest", False),
        ("gpt-5.5", False),
        ("", False),
    ],
)
def test_models_that_bind_their_thinking_are_known_by_name(id: str, binds: bool) -> None:
    assert binds_thinking(id) is binds


@define
class Conversation:
    """One with a server that binds; every request is sent without what is outdated."""

    claude: Claude = field(factory=Claude)
    system: str = "Be brief."
    tools: tuple[ToolSpec, ...] = (LOOK,)
    messages: list[Message] = field(factory=list)
    sent: list[dict[str, Any]] = field(factory=list)

    def ask(self, reply: Reply) -> dict[str, Any]:
        """Asks, and appends what came as a session would. Raises Refused as the server does."""
        request = Request(MODEL, self.system, self.tools, tuple(self.messages), 500)
        gone = outdated(request)
        request = evolve(
            request, messages=tuple(each for place, each in enumerate(request.messages) if place not in gone)
        )
        assert outdated(request) == frozenset()
        wire = json.loads(json.dumps(codec("anthropic").encode(request, lambda image: pictures.png())))
        self.claude.plays(lambda body: reply)
        message = self.claude.take({**wire, "stream": True})
        answer = stamped(request, AnthropicDecoder("me").whole(message))
        self.messages += [*answer.replays, AssistantMessage(answer.text, answer.calls)]
        self.sent.append(wire)
        return wire

    def thinks(self, text: str = "") -> dict[str, Any]:
        return self.ask(Reply(text or f"Answer {len(self.sent)}."))


def talk(*users: str) -> Conversation:
    made = Conversation()
    for words in users:
        made.messages.append(UserMessage(words))
        made.thinks()
    return made


def test_a_conversation_that_only_grows_keeps_all_of_its_thinking() -> None:
    made = talk("a", "b", "c")
    assert [len(signatures(wire)) for wire in made.sent] == [0, 1, 2]


def test_thinking_behind_a_change_leaves_and_what_was_in_front_of_it_stays() -> None:
    made = talk("a", "b", "c")
    made.messages[3] = UserMessage("b, but shorter")  # u r a [u] r a u r a
    made.messages.append(UserMessage("d"))
    before = signatures(made.sent[-1])[:1]
    assert signatures(made.thinks()) == before
    made.messages.append(UserMessage("e"))
    assert signatures(made.thinks())[:1] == before
    assert len(signatures(made.sent[-1])) == 2


def test_thinking_that_nobody_noted_the_origin_of_stays_out() -> None:
    made = talk("a")
    made.messages[1] = evolve(made.messages[1], behind="")
    made.messages.append(UserMessage("b"))
    assert signatures(made.thinks()) == []


def test_two_answers_in_a_row_are_one_message_and_the_second_keeps_no_thinking() -> None:
    made = talk("a")
    made.thinks("and more")
    made.messages.append(UserMessage("b"))
    assert len(signatures(made.thinks())) == 1


def test_what_a_gateway_hands_on_of_such_a_model_is_bound_as_well() -> None:
    model = evolve(MODEL, id="anthropic/claude-opus-5.5", protocol="openai-chat")
    detail = {"type": "reasoning.text", "text": "hm", "signature": "s", "index": 0}
    whole = {"choices": [{"message": {"content": "A.", "reasoning_details": [detail]}, "finish_reason": "stop"}]}
    first = Request(model, "Be brief.", (LOOK,), (UserMessage("a"),))
    answer = stamped(first, ChatDecoder("me").whole(whole))
    later = evolve(first, messages=(UserMessage("a"), *answer.replays, AssistantMessage("A."), UserMessage("b")))
    assert outdated(later) == frozenset()
    assert codec("openai-chat").encode(later, bytes)["messages"][2]["reasoning_details"] == [detail]
    assert outdated(evolve(later, system="Be long.")) == {1}
    assert outdated(evolve(later, tools=())) == {1}
    assert outdated(evolve(later, messages=(UserMessage("A"), *later.messages[1:]))) == {1}


@pytest.mark.parametrize("protocol", ["openai-responses", "gemini"])
def test_opaque_items_of_other_protocols_are_bound_to_nothing(protocol: str) -> None:
    model = evolve(MODEL, protocol=protocol)
    item = Replay("me", '{"type": "reasoning", "encrypted_content": "x"}')
    request = Request(model, "", (), (UserMessage("a"), item, AssistantMessage("A."), UserMessage("b")))
    assert outdated(request) == frozenset()


def test_items_that_are_no_thinking_and_those_of_others_are_left_alone() -> None:
    others = (Replay("you", "not even JSON"), Replay("me", '{"type": "compaction", "content": "so far"}'))
    request = Request(MODEL, "", (), (*others, AssistantMessage("A."), UserMessage("b")))
    assert outdated(request) == frozenset()
    with pytest.raises(ProjectionFailed):
        outdated(evolve(request, messages=(Replay("me", "not even JSON"), AssistantMessage("A."))))


def test_pictures_count_by_their_keys_and_by_whether_newer_ones_crowd_them_out() -> None:
    made = Conversation()
    for n in range(3):
        made.messages.append(UserMessage(f"{n}", (Image(f"key {n}", "image/png", 1, 1),)))
        made.thinks()
    assert [len(signatures(wire)) for wire in made.sent] == [0, 1, 0]
    changed = [
        evolve(each, images=(Image("another", "image/png", 1, 1),)) if each == made.messages[6] else each
        for each in made.messages
    ]
    request = Request(MODEL, made.system, made.tools, (*made.messages, UserMessage("so?")))
    assert outdated(request) == {1, 4}
    assert outdated(evolve(request, messages=(*changed, UserMessage("so?")))) == {1, 4, 7}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("user"), st.sampled_from(["a", "b"])),
        st.tuples(st.just("ask"), st.sampled_from(["", "words"]), st.integers(0, 2), st.booleans()),
        st.tuples(st.just("edit"), st.integers(0, 40)),
        st.tuples(st.just("restore"), st.integers(0, 40)),
        st.tuples(st.just("cut"), st.integers(0, 6)),
        st.tuples(st.just("tools"), st.sampled_from([(), (LOOK,), (LOOK, READ)])),
        st.tuples(st.just("system"), st.sampled_from(["", "Be brief."])),
        st.tuples(st.just("picture"), st.integers(0, 3)),
    ),
    max_size=30,
)


@given(STEPS)
@settings(max_examples=150)
def test_whatever_is_done_to_a_conversation_no_request_is_refused(steps: list[Any]) -> None:
    made = Conversation()
    for step in steps:
        _step(made, *step)
    made.messages.append(UserMessage("and so?"))
    made.thinks()
    assert made.claude.refused == []


def _step(made: Conversation, kind: str, *values: Any) -> None:
    users = [place for place, each in enumerate(made.messages) if isinstance(each, UserMessage)]
    match kind:
        case "user":
            made.messages.append(UserMessage(values[0]))
        case "picture":
            made.messages.append(UserMessage("see", (Image(f"key {values[0]}", "image/png", 1, 1),)))
        case "ask":
            text, count, thinks = values
            calls = tuple((f"c{len(made.messages)}-{n}", "look", {}) for n in range(count)) if made.tools else ()
            made.ask(Reply(text or "" if calls else text or "yes", calls, thinking="hm" if thinks else ""))
            made.messages += [ResultMessage(id, name, "seen") for id, name, _ in calls]
        case "edit" if users:
            made.messages[users[values[0] % len(users)]] = UserMessage("shorter")
        case "restore" if users:
            made.messages[users[values[0] % len(users)]] = UserMessage("a")
        case "cut" if users:
            # A summary in place of everything up to some user message.
            made.messages[: users[min(values[0], len(users) - 1)]] = [UserMessage("summary")]
        case "tools":
            made.tools = values[0]
        case "system":
            made.system = values[0]


def test_a_call_in_the_history_without_tools_is_told_apart() -> None:
    """The codec makes a tool up where the history holds calls, and a request that had none did not have that one."""
    made = Conversation(tools=())
    made.messages.append(UserMessage("a"))
    made.thinks()
    call = Call("c1", "look", {})
    made.messages += [UserMessage("b"), AssistantMessage("", (call,)), ResultMessage("c1", "look", "seen")]
    assert signatures(made.thinks()) == []
