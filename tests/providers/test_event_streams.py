"""Server-sent events from bytes, however they are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refold.providers.sse import Event, Events, TooLong


def _events(*chunks: bytes, longest: int = 1 << 20) -> list[Event]:
    events = Events(longest)
    return [*(event for chunk in chunks for event in events.feed(chunk)), *events.end()]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", [Event("", "a")]),
        (b"data:a\r\n\r\ndata: b\r\rdata: c\n\n", [Event("", "a"), Event("", "b"), Event("", "c")]),
        (b"event: x\ndata: a\ndata: b\nid: 1\nretry: 5\nother: y\n\n", [Event("x", "a\nb")]),
        (b": comment\n\n:\n\nevent: lonely\n\ndata: a\n\n", [Event("", "a")]),
        (b"data: no blank line", [Event("", "no blank line")]),
        (b"data: one\ndata", [Event("", "one\n")]),
        ("data: a\u2028b\u0085c\n\n".encode(), [Event("", "a\u2028b\u0085c")]),
        (b"data: \xff\n\n", [Event("", "\ufffd")]),
        (b"data: x\n\n\n\n", [Event("", "x")]),
        (b"", []),
    ],
)
def test_events_are_read_as_the_standard_says(stream: bytes, events: list[Event]) -> None:
    assert _events(stream) == events


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_the_cuts_of_the_network_do_not_matter(data: st.DataObject) -> None:
    line = st.sampled_from([b"data: \xe2\x82\xac", b"data:", b"event: e", b": c", b"", b"data: {}", b"x"])
    end = st.sampled_from([b"\n", b"\r\n", b"\r"])
    stream = b"".join(a + b for a, b in data.draw(st.lists(st.tuples(line, end), max_size=12)))
    cuts = sorted({0, len(stream), *data.draw(st.lists(st.integers(0, len(stream)), max_size=8))})
    assert _events(*(stream[a:b] for a, b in pairwise(cuts))) == _events(stream)


@pytest.mark.parametrize("stream", [b"data: " + b"x" * 200, b"data: x\n" * 120])
def test_an_event_without_an_end_is_not_kept_forever(stream: bytes) -> None:
    with pytest.raises(TooLong):
        _events(stream, longest=100)


def test_many_small_pieces_of_one_long_line_are_read_in_linear_time() -> None:
    events = Events()
    for _ in range(20_000):
        assert not list(events.feed(b"x" * 50))
    list(events.feed(b"\n\n"))
