"""Whatever a provider does, in whatever order: nothing that was said is lost, and every request is legal."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from refold import Host, HostTool, RefoldError, Row, Session, events
from refold.agent.turn import BROKEN, CUT

from .wires import Refuse, Say, too_large

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
TEXTS = ["", "Fine.", "A longer answer, with\nlines in it.", "  "]


def call(n: int) -> tuple[str, str, Any]:
    """Of ten calls some repeat an id, some name a tool that raises or none, some have broken arguments."""
    return (f"call_{n % 3}", ["look", "fail", "nothing"][n % 3], {"n": n} if n % 4 else '{"n":')


answers = st.builds(
    Say,
    text=st.sampled_from(TEXTS),
    calls=st.lists(st.integers(0, 9).map(call), max_size=3).map(tuple),
    stop=st.sampled_from(["end", "end", "end", "length"]),
    usage=st.sampled_from([None, (900, 20), (5_500, 20)]),
)
faults = st.sampled_from(
    [
        too_large(3_000, 4_000),
        Refuse(400, {"error": {"message": "prompt is too long"}}),
        Refuse(401, {"error": {"message": "bad key"}}),
        Refuse(413, {"error": {"message": "request entity too large"}}),
        Refuse(200, "<html>not what you wanted</html>"),
        Say("Half an answ", end="cut"),
        Say("Half an answ", end="hang"),
    ]
)


def converse(session: Session, prompts: list[str]) -> list[str]:
    """Sends prompts until one came through each; an answer that hangs is cancelled, and a failure gone over."""

    def hear(event: Any) -> None:
        if isinstance(event, events.AnswerText) and "Half" in event.text:
            session.cancel()
        if isinstance(event, events.CallStarted):
            session.follow_up("by the way")

    for prompt in prompts:
        with contextlib.suppress(RefoldError):
            session.send(prompt, on_event=hear, max_steps=6)
    return prompts


def check(rows: list[Row]) -> None:
    waiting: list[str] = []
    for row in rows:
        if row.kind == "result":
            assert row.call_id in waiting
            waiting.remove(row.call_id)
        elif row.kind == "assistant":
            assert waiting == []
            waiting = [each.id for each in row.calls]
        elif row.opens:
            assert waiting == []
    assert waiting == []


@settings(
    max_examples=8, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(script=st.lists(st.one_of(answers, answers, faults), min_size=3, max_size=12))
def test_prompts_calls_and_answers_are_kept_in_order_whatever_the_provider_does(
    model: Any, configure: Any, home: Path, script: list[Any]
) -> None:
    configure(window=6_000, maxOutput=400)
    model.plays(*script, Say("The end."))
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "home"
        own.mkdir(mode=0o700)
        for name in ("models.json", "extensions.json"):
            (own / name).write_text((home / name).read_text())
        with Host(own) as host:
            session = host.new("s")
            session.tools = (
                HostTool("look", "Looks.", SCHEMA, lambda given: "a line\n" * 200),
                HostTool("fail", "Fails.", SCHEMA, lambda given: 1 // 0),
            )
            prompts = converse(session, [f"Question {n}" for n in range(4)])
            rows = session.rows()
        check(rows)
        assert [row.text for row in rows if row.opens] == prompts
        for row in rows:
            assert row.kind != "assistant" or row.text.endswith((CUT, BROKEN)) or "Half" not in row.text
    assert model.faults == []
    model.asked.clear()
