from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refold import Call, Cut, Image, NotFound, Refused, Replay, Row, RowRange, SourceRef
from refold.sizing.estimate import row_tokens
from refold.transcript import rows as rows_module
from refold.transcript import sessions
from refold.transcript.append import append
from refold.transcript.database import Database
from refold.transcript.history import StoredHistory
from refold.transcript.rows import last_seq, load_sources, raw_rows, source

KINDS = ["user", "assistant", "result", "replay", "event"]
shapes = st.lists(
    st.tuples(st.sampled_from(KINDS), st.booleans(), st.integers(0, 60), st.integers(0, 2)), min_size=1, max_size=30
)


def built(shape) -> list[Row]:
    """Only user rows open turns; a picture is a link, one token large."""
    return [
        Row(
            SourceRef("ignored", 99),
            kind,
            77,
            77,
            opens=opens and kind == "user",
            event="notice" if kind == "event" else "",
            text="word " * words,
            replay=Replay("p/-/m", "{}") if kind == "replay" else None,
            images=tuple(Image(f"https://example.org/{n}.png", "image/png", 1, 1) for n in range(pictures)),
        )
        for kind, opens, words, pictures in shape
    ]


def cost(row: Row) -> int:
    return 0 if row.kind == "event" else row_tokens(row) + len(row.images)


@settings(max_examples=60, deadline=None)
@given(shapes, st.data())
def test_every_look_up_equals_a_walk_over_the_rows(shape, data):
    with tempfile.TemporaryDirectory() as folder, Database(Path(folder) / "refold.db") as database:
        with database.write() as writer:
            sessions.create(writer, "s")
            refs = append(writer, "s", built(shape))
        assert refs == [SourceRef("s", n) for n in range(1, len(shape) + 1)]
        with database.read() as reader:
            after = data.draw(st.integers(0, len(shape) - 1))
            upto = data.draw(st.integers(after, len(shape)))
            saved = dict.fromkeys(data.draw(st.sets(st.integers(1, len(shape)), max_size=5)), 1)
            history = StoredHistory(reader, "s", 0, upto, lambda n: n, lambda w, h: w * h, saved).since(after)
            all_rows = load_sources(reader, "s", 0, len(shape))
            held = all_rows[after:upto]
            assert list(history.rows()) == held
            check_turns_and_steps(all_rows)
            check_against(history, held, saved, data)


def check_turns_and_steps(rows: list[Row]) -> None:
    turn = step = 0
    for row in rows:
        if row.opens:
            turn, step = turn + 1, 0
        elif row.kind == "assistant":
            step += 1
        assert (row.turn, row.step) == (turn, step)


def check_against(history: StoredHistory, held: list[Row], saved: dict[int, int], data) -> None:
    span = history.range

    def size(rows: list[Row]) -> int:
        return max(0, sum(cost(row) for row in rows) - sum(saved.get(row.ref.seq, 0) for row in rows))

    a = data.draw(st.integers(0, 40))
    b = data.draw(st.integers(0, 40))
    part = [row for row in held if a < row.ref.seq <= b]
    within = RowRange("s", a, b)
    assert history.size() == size(held)
    assert history.size(within) == size(part)
    assert list(history.rows(within)) == part
    assert list(history.images(within)) == [image for row in part if row.kind != "event" for image in row.images]
    count = data.draw(st.integers(0, 4))
    users = [row for row in held if row.kind == "user" and row.ref.seq <= b]
    assert list(history.users(b, count)) == (users[-count:] if count else [])

    last_of_turn = {row.turn: row.ref.seq for row in held}
    ends = list(last_of_turn.values())
    found = history.ends("turn")
    assert (list(found), len(found), list(found[-2:])) == (ends, len(ends), ends[-2:])
    opened = [row for row in held if row.opens and row.turn == held[-1].turn]
    assert history.prompt() == (opened[-1].ref if opened else None)

    for seq in (a, span.upto, span.after + 1):
        if seq in span:
            assert history.holds(history.cut(seq))
            assert not history.holds(Cut(seq, history.cut(seq).tokens + 1))
        else:
            assert not history.holds(Cut(seq, 0))
            with pytest.raises(NotFound):
                history.cut(seq)

    budget = data.draw(st.integers(0, 400))
    protect = data.draw(st.none() | st.integers(1, 40))
    allowed = [end for end in ends[:-1] if protect is None or end < protect]
    fitting = [end for end in allowed if size([row for row in held if row.ref.seq > end]) <= budget]
    expected = fitting[0] if fitting else allowed[-1] if allowed else None
    assert history.tail(budget, None if protect is None else SourceRef("s", protect)) == expected


def test_rows_before_the_first_turn_are_a_turn_of_their_own(database, row, fill, history_of):
    fill("s", row("assistant"), row("result"), row("user", opens=True), row("user"), row("user", opens=True))
    with database.read() as reader:
        history = history_of(reader, "s")
        assert list(history.ends("turn")) == [2, 4, 5]
        assert [r.turn for r in history.rows()] == [0, 0, 1, 1, 2]
        with pytest.raises(IndexError):
            history.ends("turn")[3]


def test_a_step_ends_with_its_last_result_and_follow_ups_belong_to_none(database, row, fill, history_of):
    turn = [row("user", opens=True), row("replay"), row("assistant"), row("result"), row("result"), row("event")]
    fill("s", row("user", opens=True), row("assistant"), *turn, row("user"), row("replay"), row("assistant"))
    with database.read() as reader:
        assert history_of(reader, "s").ends("step") == [7, 11]
        assert history_of(reader, "s", upto=4).ends("step") == []


def test_a_child_is_open_until_it_joins(database, row, fill, history_of):
    fill("s", row("user", opens=True), row("event", "a", event="spawned"), row("event", "b", event="spawned"))
    fill("s", row("event", "a", event="joined"), row("event", "nobody", event="joined"))
    with database.read() as reader:
        assert history_of(reader, "s").open_join() == 2
        assert history_of(reader, "s", upto=3).open_join() == 1
        assert history_of(reader, "s", after=3).open_join() is None
    fill("s", row("event", "b", event="joined"))
    with database.read() as reader:
        assert history_of(reader, "s").open_join() is None


def test_look_ups_decode_nothing(database, row, fill, history_of):
    fill("s", *[row("user", "x" * 50, opens=True) for _ in range(1000)])
    with database.read() as reader:
        history = history_of(reader, "s")
        history.size(RowRange("s", 3, 700))
        history.tail(500)
        history.cut(500)
        history.ends("turn")[400]
        history.ends("step")
        history.prompt()
        history.open_join()
        assert reader.decoded == 0
        assert len(history.users(900, 3)) == 3
        assert reader.decoded == 3


def test_a_row_in_the_cache_is_not_decoded_again(database, row, fill, history_of):
    fill("s", *[row("user", str(n), opens=True) for n in range(600)])
    cache: dict[int, Row] = {}
    with database.read() as reader:
        history = history_of(reader, "s", cache=cache)
        first = list(history.rows(RowRange("s", 100, 400)))
        assert reader.decoded == 300
        assert list(history.rows())[100:400] == first
        assert [r.text for r in history.rows()] == [str(n) for n in range(600)]
        assert reader.decoded == 600
    fill("s", row("user", "new", opens=True))
    with database.read() as reader:
        assert len(list(history_of(reader, "s", cache=cache).rows())) == 601
        assert reader.decoded == 1


def test_rows_are_fetched_a_page_at_a_time(database, row, fill, history_of):
    fill("s", *[row("user", opens=True) for _ in range(rows_module.PAGE * 3)])
    with database.read() as reader:
        next(history_of(reader, "s").rows())
        assert reader.decoded == rows_module.PAGE


def test_the_totals_of_a_long_text_are_those_of_the_estimator(database, row, fill):
    given = row("assistant", "text", calls=(Call("c", "tool", {"n": 2**70, "s": "\ud800"}),))
    fill("s", given, row("event", "text " * 100, event="notice"))
    with database.read() as reader:
        stored = load_sources(reader, "s", 0, 2)
        assert [raw.tokens for raw in raw_rows(reader, "s")] == [row_tokens(stored[0]), 0]


def test_an_event_row_opens_nothing_and_counts_for_nothing(database, row, fill, history_of):
    picture = Image("https://example.org/a.png", "image/png", 9, 9)
    fill("s", row("user", opens=True), row("event", "x", event="command", opens=True, images=(picture,)))
    with database.read() as reader:
        event = source(reader, SourceRef("s", 2))
        assert (event.opens, event.turn, event.images) == (False, 1, (picture,))
        assert history_of(reader, "s", after=1).size() == 0
        assert history_of(reader, "s").images() == []


def test_raw_rows_are_what_was_stored_and_decode_nothing(database, row, fill):
    fill("s", row("user", "a", opens=True), row("result", "b", call_id="c", ok=False), row("user", "c"))
    with database.read() as reader:
        raw = list(raw_rows(reader, "s", 1))
        assert [(r.seq, r.kind, r.opens, r.turn, r.text) for r in raw] == [
            (2, "result", False, 1, "b"),
            (3, "user", False, 1, "c"),
        ]
        assert raw[0].rest == '{"step":0,"call_id":"c","ok":false}'
        assert raw[0].tokens == row_tokens(source(reader, SourceRef("s", 2)))
        assert [r.seq for r in raw_rows(reader, "s", upto=2)] == [1, 2]
        assert reader.decoded == 1


def test_unknown_rows_sessions_and_kinds_are_refused(database, row, fill, history_of):
    fill("s", row("user"))
    with database.read() as reader:
        assert last_seq(reader, "s") == 1
        for seq in (0, 2, -1, 2**70):
            with pytest.raises(NotFound, match="has no row"):
                source(reader, SourceRef("s", seq))
        for call in (lambda: load_sources(reader, "t", 0, 1), lambda: history_of(reader, "t", upto=1)):
            with pytest.raises(NotFound, match="no session 't'"):
                call()
        with pytest.raises(NotFound):
            history_of(reader, "s").size(RowRange("t", 0, 1))
    with pytest.raises(NotFound), database.write() as writer:
        append(writer, "t", [row("user")])
    with pytest.raises(Refused, match="unknown kind"):
        fill("s", row("user"), row("system"))
    with database.read() as reader:
        assert last_seq(reader, "s") == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kind": "event", "event": "custom"}, "of kind event has the event 'custom'; events are command, excursion"),
        ({"kind": "event", "event": ""}, "has the event ''"),
        ({"kind": "user", "event": "notice"}, "of kind user has the event 'notice'"),
        ({"kind": "replay", "replay": None}, "of kind replay has no opaque item"),
        ({"kind": "assistant", "replay": Replay("p/-/m", "{}")}, "of kind assistant has an opaque item"),
    ],
)
def test_a_row_that_no_export_could_give_back_is_refused(database, fill, row, given, words):
    fill("s")
    with pytest.raises(Refused, match=words), database.write() as writer:
        append(writer, "s", [row(**given)])
