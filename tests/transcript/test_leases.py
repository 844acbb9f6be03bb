from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest
from refold import Busy, NotFound
from refold.transcript import leases, processes
from refold.transcript.deletion import delete
from refold.transcript.leases import break_lease, held, holders, lease

HOLD = """
import sys, time
from pathlib import Path
from refold.transcript.database import Database
from refold.transcript.leases import lease
with lease(Database(Path(sys.argv[1])), "s", "compact"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def session(database, fill):
    fill("s")
    return database


def take(database, what):
    with lease(database, "s", what):
        pass


def change(database, sql, *values):
    with database.write() as writer:
        writer.execute(f"UPDATE refold_lease SET {sql}", *values)


def test_a_session_has_one_holder_and_who_asks_is_told_who(session):
    with lease(session, "s", "send"):
        with pytest.raises(Busy, match=rf"process {os.getpid()} \(send, since \d") as caught:
            take(session, "compact")
        assert "\n" not in str(caught.value)
    with lease(session, "s", "compact"), session.read() as reader:
        assert held(reader, "s").what == "compact"
    with session.read() as reader:
        assert held(reader, "s") is None


def test_another_thread_of_the_same_process_is_busy_as_well(session):
    told = []

    def ask():
        try:
            with lease(session, "s", "send"):
                told.append("got it")
        except Busy:
            told.append("busy")

    with lease(session, "s", "send"):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert told == ["busy"]


def test_the_lease_ends_with_the_block_however_it_ends(session):
    def fail():
        with lease(session, "s", "send"):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with lease(session, "s", "send"):
        pass


def test_a_holder_that_was_killed_is_taken_over(session):
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(session.path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(Busy, match=rf"process {process.pid} \(compact"), lease(session, "s", "send"):
        pass
    with pytest.raises(Busy):
        delete(session, "s")
    os.kill(process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and not yet buried
    with lease(session, "s", "send"):
        pass
    process.communicate()


@pytest.mark.parametrize(
    ("sql", "value"),
    [("born=?", "another-boot:1"), ("expires=?", 0.0), ("pid=?", 2**22 + 1)],
    ids=["pid given again", "expired", "pid gone"],
)
def test_a_lease_of_nobody_is_taken_over_and_its_old_holder_hears_of_it(session, sql, value):
    with lease(session, "s", "send") as old:
        change(session, sql, value)
        with lease(session, "s", "compact"):
            with pytest.raises(Busy, match="taken over"):
                old.renew()
            old.release()
            with session.read() as reader:
                assert held(reader, "s").what == "compact"


def test_a_holder_on_another_machine_is_believed_until_its_lease_is_up(session):
    with lease(session, "s", "send"):
        change(session, "host='elsewhere', pid=1, born='x'")
        with pytest.raises(Busy, match="process 1 on elsewhere"), lease(session, "s", "send"):
            pass
        change(session, "expires=0")
        with lease(session, "s", "send"):
            pass


def test_renewing_starts_the_lifetime_anew(session, monkeypatch):
    with lease(session, "s", "send") as mine:
        change(session, "expires=0")
        mine.renew()
        with pytest.raises(Busy), lease(session, "s", "send"):
            pass
        monkeypatch.setattr(leases, "LIFETIME", -1.0)
        mine.renew()
        with lease(session, "s", "send"):
            pass


def test_a_process_is_told_from_the_next_one_with_its_pid():
    assert processes.birth(os.getpid()) == processes.birth(os.getpid()) != processes.birth(1)
    assert processes.birth(2**22 + 1) is None


def test_an_unknown_session_has_no_lease(session):
    with pytest.raises(NotFound), lease(session, "nobody", "send"):
        pass


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("host='elsewhere', pid=1, born='x'", True),
        ("expires=expires+1e9", True),
        ("pid=pid", False),
    ],
    ids=["on another machine", "of a clock that jumped", "of a process that is seen to live"],
)
def test_a_lease_can_be_broken_by_a_person_and_its_holder_stops_at_the_next_step(session, sql, hint):
    with lease(session, "s", "send") as old:
        change(session, sql)
        with pytest.raises(Busy) as caught:
            take(session, "compact")
        assert ("or take it over with 'refold unlock s'" in str(caught.value)) is hint
        broken = break_lease(session, "s")
        assert broken is not None
        assert (broken.what, broken.here) == ("send", "elsewhere" not in sql)
        take(session, "compact")
        with pytest.raises(Busy, match="taken over"):
            old.renew()
    assert break_lease(session, "s") is None


def test_the_holders_of_a_home_are_told_without_those_that_are_gone(session, fill):
    fill("t")
    with lease(session, "s", "send"), lease(session, "t", "compact"):
        with session.read() as reader:
            assert {name: each.what for name, each in holders(reader).items()} == {"s": "send", "t": "compact"}
        change(session, "pid=?", 2**22 + 1)
        with session.read() as reader:
            assert holders(reader) == {}


def test_a_lease_of_this_process_that_a_ctrl_c_left_behind_is_nobodys(session, monkeypatch):
    monkeypatch.setattr(leases.Lease, "release", lambda self: None)
    with lease(session, "s", "send"):
        pass
    with session.read() as reader:
        assert reader.one("SELECT count(*) FROM refold_lease") == (1,)
        assert held(reader, "s") is None
    take(session, "compact")
