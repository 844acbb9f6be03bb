from __future__ import annotations

from refold import Host


def test_a_deletion_that_cannot_end_is_shown_and_the_home_opens(tmp_path):
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
