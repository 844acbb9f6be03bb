"""Only `True` approves a call. Anything else is a refusal, of which model and person are told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from refold import Call, HostTool, Session, events
from refold.agent.calls import NO_APPROVAL

from .wires import Say

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
DEPLOY = Say("", (("c1", "deploy", {"to": "production"}),))


class Truthy:
    """Equal to everything, and true: as an array or a mock may be."""

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return True


async def asynchronous_yes(call: Call) -> bool:
    return True


async def asynchronous_no(call: Call) -> str:
    return "no"


async def generator(call: Call) -> AsyncIterator[bool]:
    yield True


ANSWERS: dict[str, tuple[Any, bool, str]] = {
    "True": (lambda call: True, True, ""),
    "async True": (asynchronous_yes, True, ""),
    "False": (lambda call: False, False, ""),
    "nothing": (lambda call: None, False, "approve gave back NoneType, and only True approves"),
    "no": (lambda call: "no", False, "approve gave back str, and only True approves"),
    "yes": (lambda call: "yes", False, "approve gave back str, and only True approves"),
    "1": (lambda call: 1, False, "approve gave back int, and only True approves"),
    "a truthy object": (lambda call: Truthy(), False, "approve gave back Truthy, and only True approves"),
    "async no": (asynchronous_no, False, "approve gave back str, and only True approves"),
    "an async generator": (generator, False, "approve gave back async_generator, and only True approves"),
    "a function": (lambda call: lambda: True, False, "approve gave back function, and only True approves"),
    "a type": (lambda call: bool, False, "approve gave back type, and only True approves"),
}


@pytest.mark.parametrize(("approve", "runs", "says"), ANSWERS.values(), ids=list(ANSWERS))
def test_only_true_approves(
    session: Session, model: Any, heard: list[Any], approve: Any, runs: bool, says: str
) -> None:
    ran: list[Any] = []
    session.tools = (HostTool("deploy", "Deploys.", SCHEMA, lambda given: ran.append(given) or "done", approval=True),)
    session.approve = approve
    model.plays(DEPLOY, Say("I see."))
    assert session.send("Deploy", on_event=heard.append).text == "I see."
    assert len(ran) == runs
    (result,) = [row for row in session.rows() if row.kind == "result"]
    notices = [event.text for event in heard if isinstance(event, events.Noticed)]
    if runs:
        assert (result.text, result.ok, notices) == ("done", True, [])
    elif says:
        assert (result.text, result.ok) == (f"[not executed: {says}]", False)
        assert notices == [f"deploy was not run: {says}"]
    else:
        assert (result.text, result.ok, notices) == (NO_APPROVAL, False, [])


def test_without_anybody_to_ask_nothing_that_needs_approval_runs(session: Session, model: Any) -> None:
    ran: list[Any] = []
    session.tools = (HostTool("deploy", "Deploys.", SCHEMA, ran.append, approval=True),)
    model.plays(DEPLOY, Say("I see."))
    session.send("Deploy")
    assert ran == []
    assert session.rows()[2].text == NO_APPROVAL


async def asynchronous_failure(call: Call) -> bool:
    raise OSError("nobody is there")


def plain_failure(call: Call) -> bool:
    raise OSError("nobody is there")


def leaving(call: Call) -> bool:
    raise SystemExit(1)


@pytest.mark.parametrize("approve", [asynchronous_failure, plain_failure, leaving])
def test_an_approval_that_fails_approves_nothing(session: Session, model: Any, approve: Any) -> None:
    ran: list[Any] = []
    session.tools = (HostTool("deploy", "Deploys.", SCHEMA, ran.append, approval=True),)
    session.approve = approve
    model.plays(DEPLOY, Say("I see."))
    assert session.send("Deploy").text == "I see."
    assert ran == []
    assert session.rows()[2].text.startswith("[not executed: whether it is approved could not be asked: ")


def test_an_approval_is_asked_for_each_call_with_its_arguments(session: Session, model: Any) -> None:
    asked: list[Call] = []

    async def approve(call: Call) -> bool:
        asked.append(call)
        return call.arguments["to"] == "staging"

    session.tools = (HostTool("deploy", "Deploys.", SCHEMA, lambda given: given["to"], approval=True),)
    session.approve = approve
    model.plays(Say("", (("1", "deploy", {"to": "staging"}), ("2", "deploy", {"to": "production"}))), Say("Half."))
    session.send("Deploy")
    assert [call.id for call in asked] == ["1", "2"]
    assert [(row.text, row.ok) for row in session.rows()[2:4]] == [("staging", True), (NO_APPROVAL, False)]
