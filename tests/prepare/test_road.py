"""The road of one request, end to end over a real database and real extensions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from refold import (
    Applied,
    Call,
    Host,
    NotFound,
    Nothing,
    Refused,
    Session,
)
from refold.prepare.request import Prepared
from refold.providers.protocols import PROTOCOLS
from refold.transcript.leases import lease

WINDOW = 6_000
Talk = Callable[..., None]
Install = Callable[..., str]
Configure = Callable[..., None]


def encoded(prepared: Prepared, protocol: str = "openai-chat") -> list[object]:
    wire = PROTOCOLS[protocol].encode(prepared.request, lambda image: b"")
    messages: list[object] = wire["messages"]
    return messages


def kinds(prepared: Prepared) -> list[str]:
    return [section.kind for section in prepared.projection.sections]


def test_below_the_trigger_the_whole_transcript_goes_out_and_nothing_is_compacted(host: Host, talk: Talk) -> None:
    session = host.new()
    talk(session, 2)
    prepared = session.prepare(WINDOW)
    assert kinds(prepared) == ["tail"]
    assert prepared.attempted is None
    assert len(prepared.request.messages) == 8


def test_at_the_trigger_older_turns_fold_and_the_second_projection_is_sent(host: Host, talk: Talk) -> None:
    session = host.new()
    talk(session, 20)
    prepared = session.prepare(WINDOW)
    assert prepared.attempted is not None
    assert isinstance(prepared.attempted.outcome, Applied)
    assert kinds(prepared) == ["summary", "recap", "tail"]
    assert prepared.size.tokens < prepared.attempted.before.tokens
    assert session.record.compactions == 1


def test_the_transcript_is_what_it_was_after_a_compaction(host: Host, talk: Talk) -> None:
    session = host.new()
    talk(session, 20)
    before = session.rows()
    session.prepare(WINDOW)
    session.compact(WINDOW)
    assert session.rows() == before


def test_preparing_twice_gives_equal_requests(host: Host, talk: Talk) -> None:
    session = host.new()
    talk(session, 20)
    first, second = session.prepare(WINDOW), session.prepare(WINDOW)
    assert second.request == first.request
    assert second.snapshot.changed == ()


def test_appended_rows_extend_the_request_byte_for_byte(host: Host, talk: Talk) -> None:
    session = host.new()
    talk(session, 20)
    session.user("and now?")
    before = encoded(session.prepare(WINDOW))
    session.assistant("now this")
    session.user("well")
    after = encoded(session.prepare(WINDOW))
    assert after[: len(before)] == before
    assert len(after) == len(before) + 2


def test_a_reopened_home_gives_the_same_request(home: Path, talk: Talk) -> None:
    with Host(home) as host:
        session = host.new("s")
        talk(session, 20)
        before = session.prepare(WINDOW).request
    with Host(home) as host:
        assert host.session("s").prepare(WINDOW).request == before


def test_an_unknown_window_never_compacts_by_itself_and_context_says_so(host: Host, talk: Talk) -> None:
    session = host.new()
    talk(session, 20)
    assert session.prepare().attempted is None
    compaction = session.context()["compaction"]
    assert compaction["automatic"] == "auto off: the window is unknown"
    assert "input_limit_tokens" not in compaction


def test_a_manual_compaction_works_without_a_window_and_stays_in_force(host: Host, talk: Talk) -> None:
    session = host.new()
    talk(session, 20)
    compacted = session.compact()
    assert kinds(compacted) == ["summary", "recap", "tail"]
    assert session.prepare().request == compacted.request


def test_a_window_from_the_settings_serves_when_none_is_given(home: Path, configure: Configure, talk: Talk) -> None:
    configure(rolling={"contextWindowTokens": 6000})
    with Host(home) as host:
        session = host.new()
        talk(session, 20)
        prepared = session.prepare()
        assert (prepared.window.tokens, prepared.window.source) == (6000, "configured contextWindowTokens")
        assert prepared.attempted is not None
        assert session.prepare(100_000).window.source == "--window"


@pytest.mark.parametrize(("size", "due"), [(89, False), (90, True)])
def test_the_trigger_is_inclusive_and_exact(size: int, due: bool, host: Host, talk: Talk) -> None:
    session = host.new()
    talk(session, 2)
    held = session.check(100_000).size
    window = held * 100 // size if due else held * 100 // size + 1
    checked = session.check(window)
    assert checked.due is (held * 100 >= window * 90)
    assert checked.due is due


def test_auto_false_leaves_manual_compaction(home: Path, configure: Configure, talk: Talk) -> None:
    configure(compaction={"auto": False})
    with Host(home) as host:
        session = host.new()
        talk(session, 20)
        assert session.prepare(WINDOW).attempted is None
        assert session.context()["compaction"]["automatic"] == "auto off: compaction.auto is false"
        assert isinstance(session.compact(WINDOW).attempted.outcome, Applied)


def test_enable_false_refuses_manual_compaction_too(home: Path, configure: Configure, talk: Talk) -> None:
    configure(compaction={"enable": False})
    with Host(home) as host:
        session = host.new()
        talk(session, 20)
        with pytest.raises(Refused, match=r"compaction\.enable is false"):
            session.compact(WINDOW)


def test_a_dry_run_names_the_rows_and_changes_nothing(host: Host, talk: Talk) -> None:
    session = host.new()
    talk(session, 20)
    planned = session.plan(WINDOW).planned
    assert planned is not None
    assert planned.after == 0
    assert session.record.compactions == 0
    compacted = session.compact(WINDOW).attempted
    assert compacted is not None
    assert compacted.outcome.covers == planned


def test_a_held_session_is_not_compacted_and_the_request_goes_out_as_it_was(host: Host, talk: Talk) -> None:
    session = host.new()
    talk(session, 20)
    with lease(host.database, session.id, "send"):
        prepared = session.prepare(WINDOW)
    assert kinds(prepared) == ["tail"]
    assert any("send" in notice for notice in prepared.notices)


def test_automatic_compaction_rests_until_the_next_turn_when_it_did_not_help(host: Host, talk: Talk) -> None:
    session = host.new()
    talk(session, 1)
    session.user("one huge prompt " * 4_000)
    first = session.prepare(WINDOW)
    assert first.rests
    assert "rests until the next turn" in first.notices[-1]
    assert "Fixed parts take" in first.notices[-1]
    assert session.prepare(WINDOW).attempted is None, "it rests"
    session.assistant("well")
    session.user("next")
    assert session.prepare(WINDOW).attempted is not None


def test_with_nothing_older_than_the_newest_turn_a_manual_compaction_does_nothing(host: Host, talk: Talk) -> None:
    session = host.new()
    talk(session, 1)
    attempted = session.compact(WINDOW).attempted
    assert attempted is not None
    assert isinstance(attempted.outcome, Nothing)
    assert session.record.compactions == 0


def test_an_empty_session_is_prepared_as_an_empty_request(host: Host) -> None:
    prepared = host.new().prepare(WINDOW)
    assert prepared.request.messages == ()


def test_context_is_pending_before_the_first_request_and_ready_after(host: Host, talk: Talk) -> None:
    session = host.new()
    assert session.context() == {"state": "pending", "reason": "no request was prepared in this session"}
    talk(session, 20)
    session.prepare(WINDOW)
    context = session.context()
    assert context["state"] == "ready"
    assert context["compaction"]["automatic"] == "auto at 90 % - 5.4k"
    assert [section["id"] for section in context["sections"][:3]] == ["summary", "recap", "tail"]
    assert all(len(section["preview"]) <= 180 for section in context["sections"])
    summary, _, tail = context["sections"][:3]
    assert summary["first_seq"] == 1
    assert tail["first_seq"] == summary["last_seq"] + 1
    assert tail["last_seq"] == 80


def test_context_pages_hold_8000_characters_and_errors_name_what_there_is(host: Host, talk: Talk) -> None:
    session = host.new()
    session.user("x" * 16_900)
    session.prepare(100_000)
    page = session.context_page("tail", 2)
    assert page["pages"] == 3
    assert len(session.context_page("tail", 0)["content"]) == 8_000
    with pytest.raises(NotFound, match="context page not found"):
        session.context_page("tail", 3)
    with pytest.raises(NotFound, match="context section not found: 'nope'; this request has tail"):
        session.context_page("nope")


def test_context_shows_the_stored_request_though_the_session_went_on(host: Host, talk: Talk) -> None:
    session = host.new()
    talk(session, 20)
    session.prepare(WINDOW)
    before = (session.context(), session.context_page("tail"), session.context_page("summary"))
    talk(session, 2, first=20)
    assert (session.context(), session.context_page("tail"), session.context_page("summary")) == before


def test_the_check_that_does_nothing_decodes_no_row(host: Host, talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    session = host.new()
    talk(session, 30)
    decoded = counted(monkeypatch)
    assert session.check(1_000_000).due is False
    assert decoded() == 0


def test_a_prepare_below_the_trigger_decodes_the_rows_shown_and_the_quoted_ones_alone(
    home: Path, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Host(home) as host:
        session = host.new("s")
        talk(session, 40)
        shown = session.compact(WINDOW).projection.sections[-1].inputs[0].range
    with Host(home) as host:
        decoded = counted(monkeypatch)
        host.session("s").prepare(WINDOW)
        assert decoded() == len(shown) + 3


def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Counts rows that are decoded from now on."""
    from refold.transcript import rows

    seen: list[int] = []
    original = rows._decoded

    def counting(reader: object, session: str, found: list[tuple[object, ...]]) -> object:
        seen.append(len(found))
        return original(reader, session, found)

    monkeypatch.setattr(rows, "_decoded", counting)
    return lambda: sum(seen)


def test_a_tool_call_without_a_result_gets_a_stub_in_the_request(host: Host) -> None:
    session: Session = host.new()
    session.user("go")
    session.assistant("", [Call("a", "read", {})])
    session.user("never mind")
    messages = session.prepare(WINDOW).request.messages
    assert [type(message).__name__ for message in messages] == [
        "UserMessage",
        "AssistantMessage",
        "ResultMessage",
        "UserMessage",
    ]


def test_an_integer_over_64_bits_in_a_call_is_prepared_and_shown_in_full(host: Host) -> None:
    session = host.new()
    session.user("go")
    session.assistant("", [Call("a", "read", {"offset": 2**70})])
    prepared = session.prepare(WINDOW)
    assert prepared.request.messages[1].calls[0].arguments == {"offset": 2**70}
    assert str(2**70) in session.context_page("tail")["content"]


def test_instructions_that_nobody_follows_are_told(host: Host, talk: Talk) -> None:
    session = host.new()
    talk(session, 20)
    notices = session.compact(WINDOW, "keep every colour").notices
    assert "the offline summarizer follows no instructions and no level; a model of models.json would" in notices


def test_rows_that_cannot_be_stored_are_refused_in_one_line(host: Host) -> None:
    session = host.new()
    with pytest.raises(Refused, match="has a NoneType for its text, not a str; nothing was appended"):
        session.user(None)
    with pytest.raises(Refused, match="whose arguments are no mapping"):
        session.assistant("", [Call("a", "read", "path")])
    assert session.rows() == []
