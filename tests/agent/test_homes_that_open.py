from __future__ import annotations

import pytest
from refold import Host, RefoldError, Refused


def test_a_deletion_that_cannot_end_is_shown_and_the_home_opens(tmp_path, monkeypatch):
    monkeypatch.delenv("REFOLD_DISABLE", raising=False)
    with Host(tmp_path) as host:
        host.new("s").user("one")
        host.new("t").user("two")
        with host.database.write() as writer:
            writer.execute("CREATE TABLE x(session TEXT NOT NULL REFERENCES sessions(id), id INTEGER PRIMARY KEY)")
            writer.execute("CREATE TABLE x_pin(x REFERENCES x)")
            writer.execute("INSERT INTO x VALUES('s', 1)")
            writer.execute("INSERT INTO x_pin VALUES(1)")
            writer.execute("UPDATE sessions SET hidden=1 WHERE id='s'")
    with Host(tmp_path) as host:
        assert [listed.session.id for listed in host.sessions()] == ["t"]
        for listed in (host.extensions(), host.extensions("t"), host.extensions_without_loading()):
            (shown,) = [each.text for each in listed.problems if each.id is None]
            assert "session s" in shown
            assert "\n" not in shown
        with host.database.write() as writer:
            writer.execute("DELETE FROM x_pin")
    with Host(tmp_path) as host:
        assert not [each for each in host.extensions().problems if each.id is None]
        with host.database.read() as reader:
            assert reader.one("SELECT count(*) FROM sessions") == (1,)


@pytest.mark.parametrize("limit", [0, -1, -(10**30)])
def test_a_page_that_would_lead_nowhere_is_refused(tmp_path, limit):
    with Host(tmp_path) as host:
        session = host.new()
        session.user("one")
        with pytest.raises(Refused, match="at least 1"):
            session.tail(0, limit)


def test_numbers_beyond_every_row_ask_for_what_is_there(tmp_path):
    huge = 10**30
    with Host(tmp_path) as host:
        session = host.new()
        session.user("one word")
        session.user("another word")
        assert [row.ref.seq for row in session.rows(-huge, huge)] == [1, 2]
        assert session.rows(huge) == session.rows(huge, -huge) == []
        assert [row.ref.seq for row, _ in session.sized_rows(-1, huge)] == [1, 2]
        assert session.sized_rows(huge, huge) == session.sized_rows(0, -huge) == []
        assert len(session.tail(-huge, 1).rows) == 1
        assert len(session.tail(-huge, huge).rows) == len(session.tail(0, huge).rows) == 2
        assert session.tail(huge).rows == []
        assert [hit.seq for hit in session.search("word", -huge, huge)] == [1, 2]
        assert session.search("word", huge) == session.search("word", 0, -huge) == []
        assert session.requests(huge) == []
        for ask in (lambda: session.source(huge), lambda: session.fork(huge), lambda: session.context_page("x", huge)):
            with pytest.raises(RefoldError):
                ask()
